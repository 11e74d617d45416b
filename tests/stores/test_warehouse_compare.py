"""Comparison and scaling: differences first, and no ratio where the question was another one."""

from dataclasses import replace
from typing import Any

import pytest

from aisbench_core.base.errors import RunNotFound, SpecError
from aisbench_core.model import Mode, RunRecord, RunState
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.measures.side_verdicts import decide_sides
from aisbench_core.warehouse.values.compared import Comparability, Comparison, MetricComparison, SideOutcome
from aisbench_core.warehouse.values.configurations import BenchmarkConfiguration
from tests import records as a


def compared(warehouse: Warehouse, *records: RunRecord) -> Comparison:
    warehouse.rebuild(records)
    return warehouse.runs.compare([record.run.run_id for record in records])


def metric(comparison: Comparison, name: str) -> MetricComparison:
    (found,) = [one for one in comparison.metrics if one.name == name]
    return found


def ratios(comparison: Comparison, name: str) -> list[float | None]:
    return [value.ratio for value in metric(comparison, name).values]


def test_equal_runs_differ_in_nothing_but_their_numbers(warehouse: Warehouse) -> None:
    comparison = compared(warehouse, a.record("a"), a.record("b", throughputs=[1100.0] * 8))

    assert comparison.verdict is Comparability.COMPARABLE
    assert comparison.differences == ()
    assert comparison.reasons == ()
    assert ratios(comparison, "throughput") == [1.0, 1.1]
    assert metric(comparison, "throughput").values[1].difference == pytest.approx(800)
    assert metric(comparison, "throughput").decides
    assert metric(comparison, "throughput").unit == "samples/s"


@pytest.mark.every_store
def test_differences_come_with_every_value_and_the_rest_is_told_apart(warehouse: Warehouse) -> None:
    comparison = compared(
        warehouse,
        a.record("a", environments={"GLOG_v": "3"}),
        a.record("b", framework_version="r2.0", parameters={"epoch_size": 90, "batch_size": 256, "extra": True}),
        a.record("c", inputs=[{"name": "data_url", "path": "/bucket/imagenet/"}]),
    )

    differing = {field.field: field.values for field in comparison.differences}
    assert differing == {
        "framework_version": ("r1.10", "r2.0", "r1.10"),
        "parameters.extra": (None, True, None),
        "environments.GLOG_v": ("3", None, None),
        "inputs.data_url": (None, None, "/bucket/imagenet/"),
    }
    assert "parameters.batch_size" in {field.field for field in comparison.same}
    assert comparison.reasons == ("environments.GLOG_v", "inputs.data_url"), "what is set in either may decide speed"


HANDLED_OTHERWISE: list[tuple[dict[str, Any], str, object]] = [
    ({"inputs": [{"name": "data_url", "access_method": "env"}]}, "inputs.data_url.access_method", "env"),
    ({"outputs": [{"name": "train_url", "path": "/b/o/", "prefetch": True}]}, "outputs.train_url.prefetch", True),
    ({"outputs": [{"name": "train_url", "local_dir": "/home/x"}]}, "outputs.train_url.local_dir", "/home/x"),
    ({"algorithm": "a1"}, "algorithm", "a1"),
    ({"local_code_dir": "/home/x"}, "local_code_dir", "/home/x"),
    ({"retry_on_hang": True}, "retry_on_hang", True),
    ({"environment_check": False}, "environment_check", False),
]
DESCRIBE_ONLY = ("retry_on_hang", "environment_check")


def test_how_a_job_gets_its_files_is_a_difference_by_itself(warehouse: Warehouse) -> None:
    warehouse.rebuild([a.record("a"), *(a.record(field, **changes) for changes, field, _ in HANDLED_OTHERWISE)])

    for _, field, value in HANDLED_OTHERWISE:
        comparison = warehouse.runs.compare(["a", field])

        assert [(one.field, one.values[1]) for one in comparison.differences] == [(field, value)]
        assert comparison.reasons == (() if field in DESCRIBE_ONLY else (field,))


def test_changed_code_is_a_difference_that_may_be_compared(warehouse: Warehouse) -> None:
    changed = a.record("b")
    changed = replace(changed, run=replace(changed.run, code_sha256="beef" * 16))

    comparison = compared(warehouse, a.record("a"), changed)

    assert [field.field for field in comparison.differences] == ["code_sha256"]
    assert comparison.verdict is Comparability.COMPARABLE


def test_one_and_two_nodes_are_compared_per_node(warehouse: Warehouse) -> None:
    comparison = compared(warehouse, a.record("one"), a.record("two", node_count=2, throughputs=[900.0] * 16))

    assert comparison.verdict is Comparability.NORMALISED
    assert (comparison.normalise_by, comparison.reasons) == ("node", ("node_count",))
    assert ratios(comparison, "throughput") == [1.0, 1.8]
    assert ratios(comparison, "per_node") == [1.0, 0.9]
    assert metric(comparison, "per_node").decides
    assert not metric(comparison, "throughput").decides


def test_other_numbers_of_cards_are_compared_per_card(warehouse: Warehouse) -> None:
    comparison = compared(
        warehouse, a.record("eight"), a.record("four", cards_per_node=4, flavor="f4"), a.record("two", node_count=2)
    )

    assert (comparison.verdict, comparison.normalise_by) == (Comparability.NORMALISED, "card")
    assert ratios(comparison, "per_card") == [1.0, 1.0, 1.0]
    assert metric(comparison, "per_card").decides


def test_single_servers_are_comparable_whatever_their_number(warehouse: Warehouse) -> None:
    single = Mode.SINGLE_SERVER

    comparison = compared(warehouse, a.record("a", mode=single), a.record("b", mode=single, node_count=2))

    assert comparison.verdict is Comparability.COMPARABLE


OTHER_QUESTIONS: list[tuple[dict[str, Any], str]] = [
    ({"facts": replace(a.FACTS, throughput_definition="r13_warmup_excluded")}, "throughput_definition"),
    ({"facts": replace(a.FACTS, dataset="cifar10")}, "dataset"),
    ({"facts": replace(a.FACTS, model="resnet101")}, "model"),
    ({"facts": replace(a.FACTS, throughput_unit="tokens/s")}, "throughput_unit"),
    ({"mode": "single_server"}, "mode"),
    ({"region": "cn-east-3"}, "region"),
    ({"rehearsal": True}, "rehearsal"),
    ({"synthetic_data": True}, "synthetic_data"),
    ({"workload": "another"}, "workload"),
    ({"speed_parameters": {"epoch_size": 90, "batch_size": 512}}, "parameters.batch_size"),
    ({"speed_parameters": {"epoch_size": 90, "batch_size": "256"}}, "parameters.batch_size"),
]


def test_there_is_no_ratio_between_answers_to_different_questions(warehouse: Warehouse) -> None:
    others = [(a.record(f"other-{number}", **told), reason) for number, (told, reason) in enumerate(OTHER_QUESTIONS)]
    warehouse.rebuild([a.record("a"), *(other for other, _ in others)])

    for other, reason in others:
        comparison = warehouse.runs.compare(["a", other.run.run_id])

        assert comparison.verdict is Comparability.NOT_COMPARABLE, reason
        assert reason in comparison.reasons
        for one in comparison.metrics:
            assert (one.values[1].difference, one.values[1].ratio, one.decides) == (None, None, False), reason
        assert metric(comparison, "duration_s").values[1].value == 600


def test_each_run_has_a_verdict_of_its_own_and_the_worst_one_counts(warehouse: Warehouse) -> None:
    comparison = compared(
        warehouse, a.record("a"), a.record("b"), a.record("c", node_count=2), a.record("d", synthetic_data=True)
    )

    assert [one.verdict for one in comparison.verdicts] == [
        Comparability.COMPARABLE,
        Comparability.COMPARABLE,
        Comparability.NORMALISED,
        Comparability.NOT_COMPARABLE,
    ]
    assert comparison.verdict is Comparability.NOT_COMPARABLE
    assert ratios(comparison, "throughput") == [1.0, 1.0, 2.0, None]


def test_other_data_is_another_question_only_when_both_are_known(warehouse: Warehouse) -> None:
    def with_data(run_id: str, sha256: str) -> RunRecord:
        record = a.record(run_id)
        assert record.result is not None
        return replace(record, result=replace(record.result, dataset_sha256=sha256))

    unknown = compared(warehouse, with_data("a", "1" * 64), with_data("b", ""))
    known = compared(warehouse, with_data("a", "1" * 64), with_data("b", "2" * 64))

    assert unknown.verdict is Comparability.COMPARABLE
    assert (known.verdict, known.reasons) == (Comparability.NOT_COMPARABLE, ("dataset_sha256",))


def test_what_was_not_measured_has_neither_value_nor_ratio(warehouse: Warehouse) -> None:
    comparison = compared(warehouse, a.record("a"), a.record("b", state=RunState.FAILED, with_result=False))

    missing = metric(comparison, "throughput").values[1]
    assert (missing.value, missing.difference, missing.ratio) == (None, None, None)
    assert ratios(comparison, "duration_s") == [1.0, 1.0]
    assert comparison.rank_results["a"][0].throughput == 1000
    assert "b" not in comparison.rank_results


def test_a_ratio_to_zero_is_none(warehouse: Warehouse) -> None:
    comparison = compared(warehouse, a.record("a"), a.record("b", throughputs=[1000.0] * 7 + [900.0]))

    spread = metric(comparison, "rank_cv").values
    assert spread[0].value == 0
    assert spread[1].difference == spread[1].value
    assert spread[1].ratio is None


@pytest.mark.parametrize("run_ids", [[], ["run-0"], ["run-0", "run-0"], [f"run-{number}" for number in range(33)]])
def test_a_comparison_takes_2_to_32_different_runs(warehouse: Warehouse, run_ids: list[str]) -> None:
    warehouse.rebuild(a.records([8000.0] * 33))

    with pytest.raises(SpecError, match="2 to 32"):
        warehouse.runs.compare(run_ids)


def test_32_runs_are_compared_in_the_order_given(warehouse: Warehouse) -> None:
    warehouse.rebuild(a.records([8000.0 + number for number in range(32)]))
    order = [f"run-{7 * number % 32}" for number in range(32)]

    assert [run.run_id for run in warehouse.runs.compare(order).runs] == order


def test_a_run_that_cannot_be_compared_leaves_the_verdict_on_the_others_as_it_is(warehouse: Warehouse) -> None:
    pair = (a.record("one"), a.record("two", node_count=2, throughputs=[1000.0] * 16))
    unlike = a.record("other", speed_parameters={"batch_size": 7})

    alone, with_other = compared(warehouse, *pair), compared(warehouse, *pair, unlike)

    assert with_other.verdict is Comparability.NOT_COMPARABLE
    assert with_other.verdicts[:2] == alone.verdicts
    assert with_other.normalise_by == alone.normalise_by == "node"
    assert metric(with_other, "per_node").decides
    assert ratios(with_other, "per_node") == [1.0, 1.0, None]
    assert decide_sides(with_other)[0].outcome is not SideOutcome.NOT_COMPARABLE


def test_a_run_that_is_not_there_is_named(warehouse: Warehouse) -> None:
    warehouse.record(a.record("a"))

    with pytest.raises(RunNotFound, match="nobody"):
        warehouse.runs.compare(["a", "nobody"])
    with pytest.raises(RunNotFound, match="nobody"):
        warehouse.scaling.find_curve("nobody")


def test_speed_up_and_efficiency_are_against_the_smallest_node_count(warehouse: Warehouse) -> None:
    warehouse.rebuild(
        [
            *a.records([7000, 8000, 9000], prefix="one"),
            *a.records([15_200], prefix="two", node_count=2),
            *a.records([28_800], prefix="four", node_count=4),
        ]
    )

    scaling = warehouse.scaling.find_curve("one-0")

    assert scaling.base_nodes == 1
    assert scaling.throughput_unit == "samples/s"
    assert [(point.node_count, point.runs, point.throughput) for point in scaling.points] == [
        (1, 3, 8000),
        (2, 1, 15_200),
        (4, 1, 28_800),
    ]
    assert [point.speed_up for point in scaling.points] == pytest.approx([1, 1.9, 3.6])
    assert [point.efficiency for point in scaling.points] == pytest.approx([1, 0.95, 0.9])
    assert [point.ideal for point in scaling.points] == [1, 2, 4]


def test_without_a_single_node_the_smallest_count_is_the_base(warehouse: Warehouse) -> None:
    warehouse.rebuild(
        [*a.records([16_000], prefix="two", node_count=2), *a.records([24_000], prefix="four", node_count=4)]
    )

    scaling = warehouse.scaling.find_curve("four-0")

    assert scaling.base_nodes == 2
    assert [(point.speed_up, point.efficiency, point.ideal) for point in scaling.points] == [(1, 1, 1), (1.5, 0.75, 2)]


def test_only_valid_runs_of_the_same_kind_lie_on_a_curve(warehouse: Warehouse) -> None:
    warehouse.rebuild(
        [
            a.record("base"),
            a.record("invalid", node_count=2, accuracy=7.0),
            a.record("practice", node_count=2, rehearsal=True),
            a.record("elsewhere", node_count=2, region="cn-east-3"),
            a.record("version", node_count=2, framework_version="r2.0"),
            a.record("synthetic", node_count=2, synthetic_data=True),
        ]
    )

    assert [point.node_count for point in warehouse.scaling.find_curve("base").points] == [1]


def test_single_servers_do_not_scale(warehouse: Warehouse) -> None:
    warehouse.rebuild([a.record("one", mode="single_server"), a.record("two", mode="single_server", node_count=2)])

    scaling = warehouse.scaling.find_curve("one")

    assert (scaling.points, scaling.base_nodes) == ((), None)


def test_a_curve_that_nobody_measured_is_empty(warehouse: Warehouse) -> None:
    question = BenchmarkConfiguration("cn-north-9", False, False, "0" * 64, "samples/s")

    assert warehouse.scaling.list_curves(question) == ()
