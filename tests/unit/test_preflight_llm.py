"""Preflight of LLM training: what must divide what, what does not fit into a card, and a recovery that nobody makes."""

from dataclasses import replace
from typing import Any

import pytest

from aisbench_core.config.settings import HOME
from aisbench_core.domain.authoring.workloads import Workload
from aisbench_core.domain.llm.flops import Recomputation
from aisbench_core.domain.llm.memory import estimate_memory
from aisbench_core.domain.preflight.offline import check_subject
from aisbench_core.domain.preflight.rule import subject_of
from aisbench_core.model import Finding, Flavor, RunSpec
from tests.unit.good_manifest import MANIFEST
from tests.unit.good_specs import WORKLOADS, profile

NODE = Flavor("eight", "", "Ascend", 8, 16)
STATED = replace(NODE, card_gb=64.0)


def find(llm: dict[str, Any] | None = None, flavor: Flavor = NODE, **spec: Any) -> list[Finding]:
    """What the rules about language models say of the shipped workload on a node, or of one with another section."""
    place = {"name": "w", "folder": HOME / "workloads" / "w", "shipped_dir": HOME / "workloads"}
    given = {"workload": "pytorch_llm_pretrain", "flavor": flavor.flavor_id, "cards_per_node": 8} | spec
    subject = subject_of(RunSpec.model_validate(given), profile(), WORKLOADS, [flavor])
    if llm is not None:
        subject = replace(subject, workload=Workload.model_validate({**MANIFEST, "llm": llm, **place}))
        subject = replace(subject, spec=subject.spec.model_copy(update={"framework_version": "v2", "parameters": {}}))
    return [finding for finding in check_subject(subject) if finding.rule.startswith("llm.")]


def test_the_shipped_workload_passes_as_it_is() -> None:
    assert find() == []
    assert find(flavor=STATED, parameters={"size": "8B", "parallel": "fsdp2", "recomputation": "full"}) == []


def test_a_micro_batch_that_leaves_a_rest_is_named_with_the_largest_one_that_leaves_none() -> None:
    (found,) = find(parameters={"size": "0.6B", "micro_batch": 12})

    assert (found.rule, found.field) == ("llm.batch", "parameters.micro_batch")
    assert "global_batch_size = 128 is no multiple of micro_batch_size 12 × data parallelism 8 = 96" in str(found)
    assert found.fix == (("parameters.micro_batch", 4),)


def test_too_many_cards_for_a_global_batch_cannot_be_mended_by_the_micro_batch() -> None:
    (found,) = find(node_count=3)

    assert "global_batch_size = 16 is no multiple of micro_batch_size 1 × data parallelism 24 = 24" in str(found)
    assert found.fix == ()


def test_servers_that_train_each_for_itself_divide_the_batch_among_their_own_cards() -> None:
    assert find(node_count=3, mode="single_server") == []


@pytest.mark.parametrize(
    ("llm", "says"),
    [
        (
            {"tensor_parallelism": 3, "shape": {"heads": 9}},
            "node_count × cards_per_node = 8 is no multiple of tensor_parallelism",
        ),
        ({"tensor_parallelism": 4, "pipeline_parallelism": 4}, "context_parallelism = 16"),
        ({"tensor_parallelism": 8, "shape": {"heads": 12}}, "heads = 12 is no multiple of tensor_parallelism = 8"),
        ({"pipeline_parallelism": 4, "shape": {"layers": 6}}, "layers = 6 is no multiple of pipeline_parallelism = 4"),
        ({"context_parallelism": 8, "sequence_length": 1004}, "sequence_length = 1004 is no multiple of"),
        ({"tensor_parallelism": 2, "global_batch_size": 6}, "micro_batch_size 1 × data parallelism 4 = 4"),
    ],
)
def test_what_is_divided_among_devices_must_leave_no_rest(llm: dict[str, Any], says: str) -> None:
    shape = {"layers": 8, "hidden": 64, "heads": 8, "ffn": 128, "vocab": 100} | llm.get("shape", {})
    if shape["hidden"] % shape["heads"]:
        shape["head_dim"] = 8

    (found,) = find(llm | {"shape": shape})

    assert says in str(found)


def test_what_nobody_states_is_not_judged() -> None:
    assert find({}) == []
    assert find({"micro_batch_size": 3}) == []


@pytest.mark.parametrize(
    ("parameters", "numbers"),
    [
        ({"parallel": "ddp"}, "about 176.0 GB are needed on each card (weights and optimizer 131.1, activations 44.9)"),
        ({"parallel": "fsdp2", "micro_batch": 2}, "about 106.2 GB are needed on each card (weights and optimizer 16.4"),
    ],
)
def test_a_model_that_does_not_fit_into_a_card_is_told_with_the_numbers(
    parameters: dict[str, Any], numbers: str
) -> None:
    (found,) = find(flavor=STATED, parameters={"size": "8B", **parameters})

    assert (found.rule, found.field) == ("llm.memory", "flavor")
    assert numbers in str(found)
    assert "and eight has 64 GB" in str(found)


def test_memory_is_not_judged_where_the_region_does_not_state_it() -> None:
    assert find(parameters={"size": "8B"}) == []


def test_more_cards_need_less_memory_only_if_they_share_the_weights() -> None:
    shape = WORKLOADS.get("pytorch_llm_pretrain").llm.shapes["8B"]  # type: ignore[union-attr]  # it has the section

    alone, shared = (estimate_memory(shape, 4096, None, shards) for shards in (1, 8))

    assert (alone.weights, shared.weights) == (16 * 8_190_735_360, 2 * 8_190_735_360)
    assert alone.activations == shared.activations


def test_recomputation_keeps_the_input_of_each_layer_and_one_layer_whole() -> None:
    shape = WORKLOADS.get("pytorch_llm_pretrain").llm.shapes["8B"]  # type: ignore[union-attr]  # it has the section

    kept, again = (estimate_memory(shape, 1, each, 1).activations for each in (None, Recomputation.FULL))

    logits, layer = 12 * 151_936, 20 * 4096 + 16 * 32 * 128 + 8 * 8 * 128 + 8 * 12288
    assert (kept, again) == (logits + 36 * layer, logits + layer + 36 * 2 * 4096)


@pytest.mark.parametrize(
    ("spec", "count"),
    [
        ({}, 1),
        ({"retries": 1, "retry_always": True}, 1),
        ({"retries": 1, "retry_always": True, "outputs": [{"name": "train_url", "prefetch": True}]}, 0),
        ({"resume_from": "r20261121-013455-9f3ab7"}, 0),
    ],
)
def test_a_recovery_is_only_rehearsed_if_an_attempt_follows(spec: dict[str, Any], count: int) -> None:
    found = find(parameters={"resume": True}, **spec)

    assert [finding.rule for finding in found] == ["llm.resume"] * count
