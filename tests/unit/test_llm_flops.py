"""FLOPs per token, MFU and HFU: against sums over a model's matrices, and against the figures of other tools."""

import itertools
from typing import Any

import pytest
from pydantic import ValidationError

from aisbench_core.domain.llm.chips import Precision, read_chips
from aisbench_core.domain.llm.flops import FORMULAS, Recomputation
from aisbench_core.domain.llm.mfu import Trained, list_readings, select_ranked
from aisbench_core.domain.llm.model_shape import ModelShape

SEQUENCE = 4096

# The models' config.json, as published on Hugging Face.
CONFIGS: dict[str, dict[str, Any]] = {
    "Qwen3-0.6B": {
        "model_type": "qwen3", "hidden_size": 1024, "num_hidden_layers": 28, "num_attention_heads": 16,
        "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 3072, "vocab_size": 151936,
        "tie_word_embeddings": True, "rope_theta": 1000000,
    },
    "Qwen3-1.7B": {
        "model_type": "qwen3", "hidden_size": 2048, "num_hidden_layers": 28, "num_attention_heads": 16,
        "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 6144, "vocab_size": 151936,
        "tie_word_embeddings": True,
    },
    "Qwen3-8B": {
        "model_type": "qwen3", "hidden_size": 4096, "num_hidden_layers": 36, "num_attention_heads": 32,
        "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 12288, "vocab_size": 151936,
        "tie_word_embeddings": False,
    },
    "Llama-3.1-8B": {
        "model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
        "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256, "tie_word_embeddings": False,
    },
}  # fmt: skip
SHAPES = {name: ModelShape.model_validate(config) for name, config in CONFIGS.items()}

# GFLOP per token of sequences of 4,096.
GFLOP = {
    ("mindspeed_fsdp2", "Qwen3-0.6B"): 5.390, ("palm", "Qwen3-0.6B"): 6.394, ("causal", "Qwen3-0.6B"): 4.985,
    ("mindspeed_fsdp2", "Qwen3-1.7B"): 15.008, ("palm", "Qwen3-1.7B"): 13.141, ("causal", "Qwen3-1.7B"): 11.732,
    ("mindspeed_fsdp2", "Qwen3-8B"): 56.390, ("palm", "Qwen3-8B"): 52.656, ("causal", "Qwen3-8B"): 49.032,
    ("mindspeed_fsdp2", "Llama-3.1-8B"): 54.622, ("palm", "Llama-3.1-8B"): 51.470, ("causal", "Llama-3.1-8B"): 48.249,
}  # fmt: skip


@pytest.mark.parametrize(("formula", "model"), GFLOP)
def test_a_formula_gives_the_figure_that_its_users_print(formula: str, model: str) -> None:
    flops = FORMULAS[formula].count(SHAPES[model], SEQUENCE).of_model

    assert flops / 1e9 == pytest.approx(GFLOP[formula, model], abs=0.0006)


def matrix_sizes(config: dict[str, Any], head_dim: int) -> list[tuple[int, int]]:
    """Every matrix of one layer as its rows and columns."""
    hidden, ffn = config["hidden_size"], config["intermediate_size"]
    queries, keys = config["num_attention_heads"] * head_dim, config["num_key_value_heads"] * head_dim
    attention = [(hidden, queries), (hidden, keys), (hidden, keys), (queries, hidden)]
    return [*attention, (hidden, ffn), (hidden, ffn), (ffn, hidden)]


def sum_products(formula: str, config: dict[str, Any]) -> float:
    """FLOPs of a whole sequence, product by product: 2 · m · n · k forwards, twice that backwards; per token."""
    hidden, heads, layers = config["hidden_size"], config["num_attention_heads"], config["num_hidden_layers"]
    head_dim = hidden // heads if formula == "mindspeed_fsdp2" else config.get("head_dim", hidden // heads)
    forward: float = 0
    for _ in range(layers):
        forward += sum(2 * SEQUENCE * rows * columns for rows, columns in matrix_sizes(config, head_dim))
        for _head in range(heads):
            scores = 2 * SEQUENCE * SEQUENCE * head_dim  # queries × keys; then weights × values, as large
            forward += 2 * scores / (2 if formula == "causal" else 1)
    vocabularies = 2 if formula == "mindspeed_fsdp2" else 1
    forward += float(vocabularies * 2 * SEQUENCE * hidden * config["vocab_size"])
    return 3 * float(forward) / SEQUENCE


@pytest.mark.parametrize(("formula", "model"), list(itertools.product(FORMULAS, CONFIGS)))
def test_a_formula_is_the_sum_over_all_matrix_products(formula: str, model: str) -> None:
    flops = FORMULAS[formula].count(SHAPES[model], SEQUENCE).of_model

    assert flops == pytest.approx(sum_products(formula, CONFIGS[model]), rel=1e-12)


@pytest.mark.parametrize(
    ("model", "parameters"),
    [("Qwen3-0.6B", 596_049_920), ("Qwen3-1.7B", 1_720_574_976), ("Qwen3-8B", 8_190_735_360),
     ("Llama-3.1-8B", 8_030_261_248)],
)  # fmt: skip
def test_a_shape_has_as_many_parameters_as_the_published_model(model: str, parameters: int) -> None:
    assert SHAPES[model].parameter_count == parameters


def test_a_shape_needs_neither_key_heads_nor_a_head_width() -> None:
    shape = ModelShape.model_validate({"layers": 2, "hidden": 64, "heads": 4, "ffn": 128, "vocab": 100})

    assert (shape.kv_heads, shape.head_dim) == (4, 16)


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"num_hidden_layers": 2, "num_experts": 64}, "has num_experts, but FLOPs are counted of dense decoders only"),
        ({"layers": 2, "hidden": 65, "heads": 4, "ffn": 128, "vocab": 100}, "head_dim"),
        ({"layers": 0, "hidden": 64, "heads": 4, "ffn": 128, "vocab": 100}, "layers"),
    ],
)
def test_a_shape_that_the_formulas_do_not_cover_is_refused(values: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        ModelShape.model_validate(values)


def test_recomputation_counts_for_hfu_only() -> None:
    flops = FORMULAS["palm"].count(SHAPES["Qwen3-8B"], SEQUENCE)
    layers = flops.matrices + flops.attention

    assert flops.of_hardware(Recomputation.NONE) == flops.of_model
    # The forward pass of every layer again: a quarter of 8 instead of 6 FLOPs per weight. The output layer is kept.
    assert flops.of_hardware(Recomputation.FULL) == pytest.approx(layers / 6 * 8 + flops.vocabulary)
    assert flops.of_hardware(Recomputation.SELECTIVE) == pytest.approx(flops.of_model + flops.attention / 3)


def trained_on(chip: str, model: str = "Qwen3-8B") -> Trained:
    found = read_chips().find(chip)
    assert found
    return Trained(SHAPES[model], SEQUENCE, Precision.BF16, found)


@pytest.mark.parametrize(("model", "share"), [("Qwen3-8B", 0.89), ("Qwen3-0.6B", 0.70)])
def test_one_run_has_a_lower_mfu_in_mindspeed_llm_than_in_torchtitan(model: str, share: float) -> None:
    readings = list_readings(trained_on("910B3", model), 2000)

    by_id = {(reading.formula, reading.peak.tflops): reading.mfu for reading in readings}
    assert by_id["mindspeed_fsdp2", 354] / by_id["palm", 294.912] == pytest.approx(share, abs=0.005)


def test_readings_of_two_formulas_or_peaks_share_no_definition() -> None:
    readings = list_readings(trained_on("910B3"), 2000, Recomputation.FULL)

    assert len({reading.definition for reading in readings}) == len(readings) == 9
    assert [one.definition for one in select_ranked(readings)] == [
        f"{formula}/bf16/294.912/vendor" for formula in FORMULAS
    ]
    assert all(one.hfu and one.mfu < one.hfu for one in readings)


def test_the_mfu_of_an_h100_is_its_tokens_times_their_flops_over_its_dense_peak() -> None:
    reading = list_readings(trained_on("NVIDIA H100 80GB HBM3", "Llama-3.1-8B"), 10_000)[0]

    assert reading.mfu == pytest.approx(10_000 * 51.470e9 / 989.4e12, rel=1e-4)
    assert reading.hfu is None
