"""Section `llm` of a manifest: what it adds to what decides a run's speed, and what stays unknown."""

from pathlib import Path
from typing import Any

import pytest

from aisbench_core.base.documents import parse_document
from aisbench_core.base.errors import SpecError
from aisbench_core.base.messages import make_verbatim
from aisbench_core.domain.authoring.manifest import Manifest
from aisbench_core.domain.authoring.workloads import Workload
from aisbench_core.domain.llm.flops import Recomputation
from aisbench_core.domain.llm.llm_settings import LlmRun, LlmSettings, list_unknown, read_llm
from aisbench_core.domain.llm.tokens import Window
from aisbench_core.model import RunSpec, Scalar
from aisbench_core.warehouse.measures.fingerprint import compute_fingerprint, not_known
from tests.unit.good_manifest import MANIFEST

SHAPE = {"layers": 2, "hidden": 64, "heads": 4, "ffn": 128, "vocab": 100}
STATED: dict[str, Any] = {
    "lowest_numerical_precision_in_linear": "bf16", "lowest_numerical_precision_in_attn": "bf16",
    "lowest_numerical_precision_in_comm": "fp32", "tensor_parallelism": 1, "pipeline_parallelism": 1,
    "context_parallelism": 1, "expert_parallelism": 1, "micro_batch_size": 2, "config_filename": "conf/nano.yaml",
    "sequence_length": 128, "global_batch_size": {"parameter": "epochs"}, "packing": True, "recomputation": "full",
}  # fmt: skip


def make_workload(**llm: Any) -> Workload:
    place = {"name": "w", "folder": Path("w"), "shipped_dir": Path()}
    return Workload.model_validate({**MANIFEST, "llm": llm, **place})


def get_speed(workload: Workload, **parameters: Scalar) -> dict[str, Scalar]:
    spec = RunSpec(workload="w", framework_version="v2", parameters=parameters)
    return dict(workload.facts(spec).speed_parameters or {})


def read(workload: Workload, **parameters: Scalar) -> LlmRun:
    found = read_llm(get_speed(workload, **parameters))
    assert found
    return found


def test_settings_are_values_of_the_manifest_or_of_the_run_s_parameters() -> None:
    run = read(make_workload(**STATED, shape=SHAPE, first_step=11, last_step=50), epochs=8)

    assert run.settings == STATED | {"global_batch_size": 8}
    assert run.nominal_tokens == 8 * 128
    assert run.precision == "bf16"
    assert run.recomputation is Recomputation.FULL
    assert run.window == Window(11, 50)
    assert run.shape
    assert run.shape.head_dim == 16


def test_what_is_not_stated_is_unknown_and_never_a_number() -> None:
    workload = make_workload()

    run = read(workload)

    assert list_unknown(get_speed(workload)) == [f"llm.{name}" for name in (*LlmSettings.model_fields, "shape")]
    assert (run.shape, run.precision, run.recomputation, run.nominal_tokens) == (None, None, None, None)
    assert run.window == Window(1, None)


def test_a_parameter_chooses_the_shape() -> None:
    workload = make_workload(shape_parameter="mode", shapes={"a": SHAPE, "b": SHAPE | {"layers": 4}})

    shapes = [read(workload, mode=mode).shape for mode in ("a", "b")]

    assert [shape.layers for shape in shapes if shape] == [2, 4]


def test_a_shape_may_be_a_config_json_with_values_of_parameters() -> None:
    config = {
        "num_hidden_layers": {"parameter": "epochs"}, "hidden_size": 64, "num_attention_heads": 4,
        "intermediate_size": 128, "vocab_size": 100, "model_type": "qwen3", "rope_theta": 1e6,
    }  # fmt: skip

    shape = read(make_workload(shape=config), epochs=5).shape

    assert shape
    assert (shape.layers, shape.kv_heads, shape.qk_norm) == (5, 4, True)


def test_values_of_a_parameter_may_mean_something_else_for_a_setting() -> None:
    batch = {"parameter": "mode", "values": {"a": 16}}

    batches = [read(make_workload(global_batch_size=batch), mode=mode).settings for mode in ("a", "b")]

    assert batches == [{"global_batch_size": 16}, {}], "what has no meaning is unknown"


def test_a_shape_that_a_run_s_parameters_make_impossible_is_unknown() -> None:
    assert read(make_workload(shape=SHAPE | {"hidden": {"parameter": "rate"}}), rate=0.5).shape is None


def test_runs_that_differ_in_a_setting_are_not_one_benchmark() -> None:
    spec = RunSpec(workload="w", framework_version="v2")

    prints = [
        compute_fingerprint(spec, make_workload(**STATED | change, shape=SHAPE).facts(spec))
        for change in ({}, {"tensor_parallelism": 2}, {"packing": False}, {"recomputation": None})
    ]

    assert len(set(prints)) == 4


def test_a_run_with_an_unknown_setting_is_compared_as_not_known() -> None:
    spec = RunSpec(workload="w", framework_version="v2")
    speeds = [get_speed(make_workload(**STATED | change, shape=SHAPE)) for change in ({}, {"packing": None})]
    cells = {"origin": "launched", "resolved": None, "dataset_sha256": "a", "synthetic_data": False}

    assert [not_known(cells, spec.stored, speed) for speed in speeds] == ["", "llm.packing"]


def test_a_recipe_file_is_stated_by_its_name_and_not_looked_for() -> None:
    """The parameter that passes it, if there is one, is what is looked for."""
    spec = RunSpec(workload="w", framework_version="v2")
    cells = {"origin": "launched", "resolved": None, "dataset_sha256": "a", "synthetic_data": False}

    assert not_known(cells, spec.stored, {"llm.config_filename": "elsewhere/recipe.yaml"}) == ""


@pytest.mark.parametrize(
    ("llm", "problem"),
    [
        ({"packing": {"parameter": "pack"}}, "parameter: 'pack' is not among parameters: epochs, rate, mode, cache"),
        ({"shape_parameter": "size"}, "parameter: 'size' is not among parameters"),
        ({"tensor_paralelism": 2}, "llm.tensor_paralelism: is not a known key"),
        ({"shapes": {"a": {**SHAPE, "layers": 0}}}, "llm.shapes.a.layers"),
        ({"first_step": 0}, "llm.first_step"),
    ],
)
def test_a_wrong_section_is_refused_by_field(llm: dict[str, Any], problem: str) -> None:
    with pytest.raises(SpecError) as refusal:
        parse_document(Manifest, MANIFEST | {"llm": llm}, make_verbatim("it"))

    assert any(problem in str(one) for one in refusal.value.problems), [str(one) for one in refusal.value.problems]


def test_another_workload_has_none_of_it() -> None:
    assert read_llm({"epochs": 3}) is None
    assert read_llm(None) is None
