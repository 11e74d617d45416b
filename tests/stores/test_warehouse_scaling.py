"""Scaling: each version and hardware is a curve of its own, with runs, intervals, law, and what is left out."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from aisbench_core.base.errors import SpecError
from aisbench_core.domain.statistics.amdahl import FitProblem
from aisbench_core.model import Better, Combined, RunMetric, RunRecord
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.configurations import BenchmarkConfiguration
from aisbench_core.warehouse.values.runs import BoardQuery
from aisbench_core.warehouse.values.scalings import ScalingQuery, newest_curves
from tests import records as a


def lawful(serial: float, nodes: int, noise: float = 0.0) -> list[float]:
    """Three runs on so many nodes, close to the law."""
    return [8000 * (1 + beside) / (serial + (1 - serial) / nodes) for beside in (-noise, 0.0, noise)]


def only_question(warehouse: Warehouse) -> BenchmarkConfiguration:
    (row,) = warehouse.scaling.list_configurations(BoardQuery("cn-north-9")).rows
    return row.configuration


def test_curves_of_one_question_stand_side_by_side_those_on_most_node_counts_first(warehouse: Warehouse) -> None:
    warehouse.rebuild(
        [
            *a.records([7_000, 15_000], "new", framework_version="r2.0"),
            *(each for n in (1, 2, 4) for each in a.records(lawful(0.02, n, 0.002), f"old{n}", node_count=n)),
            *a.records([100], "other", workload="another", node_count=2),
            a.record("alone", mode="single_server"),
        ]
    )

    page = warehouse.scaling.list_configurations(BoardQuery("cn-north-9"))
    old, new = warehouse.scaling.list_curves(page.rows[0].configuration)

    assert [(row.workload, row.node_counts, row.runs) for row in page.rows] == [
        ("mindspore_resnet", 3, 11),
        ("another", 1, 1),
    ]
    assert (page.total, page.rehearsal) == (2, False)
    assert (old.query.framework_version, new.query.framework_version) == ("r1.10", "r2.0")
    assert (old.base_nodes, old.largest, len(new.points)) == (1, 4, 1)
    assert old.fit.serial
    assert old.fit.serial.low < 0.02 < (old.fit.serial.high or 0)
    assert new.fit.problem is FitProblem.TOO_FEW


@pytest.mark.every_store
def test_four_sizes_of_different_hardware_are_no_curve(warehouse: Warehouse) -> None:
    scattered = [
        run
        for n in (1, 2, 4, 8)
        for run in a.records([8_000], f"scattered-{n}", workload="another", node_count=n, cards_per_node=8 // n)
    ]
    curve = [run for n in (1, 2) for run in a.records([8_000.0 * n], f"curve-{n}", node_count=n)]
    warehouse.record_many([*scattered, *curve, *a.records([9_000], "newer", flavor="f2", framework_version="r9")])

    page = warehouse.scaling.list_configurations(BoardQuery("cn-north-9"))

    assert [(row.workload, row.node_counts) for row in page.rows] == [("mindspore_resnet", 2), ("another", 1)]
    shown = newest_curves(warehouse.scaling.list_curves(page.rows[0].configuration))
    assert [curve.query.framework_version for curve in shown] == ["r1.10"]
    assert len(newest_curves(warehouse.scaling.list_curves(page.rows[1].configuration))) == 4


def test_what_was_measured_here_stands_before_what_imported_results_claim(warehouse: Warehouse) -> None:
    claimed = [a.imported(f"imported-{nodes}", node_count=nodes, cards_heard=True) for nodes in (1, 2, 4)]
    region = claimed[0].region
    launched = a.records([8_000], "launched", region=region, workload="another")
    warehouse.record_many([*launched, *claimed])

    page = warehouse.scaling.list_configurations(BoardQuery(region))

    assert [(row.configuration.origin, row.node_counts) for row in page.rows] == [("launched", 1), ("imported", 3)]


def test_a_point_has_its_runs_behind_it_and_the_interval_of_their_mean(warehouse: Warehouse) -> None:
    warehouse.rebuild([*a.records([7_900, 8_000, 8_100], "one"), *a.records([15_000], "two", node_count=2)])

    first, second = warehouse.scaling.list_curves(only_question(warehouse))[0].points

    assert {dot.run_id: dot.throughput for dot in first.dots} == {"one-0": 7_900, "one-1": 8_000, "one-2": 8_100}
    assert (first.mean, first.ci_low, first.ci_high) == pytest.approx((8_000, 7_755.403, 8_252.311))
    assert (second.runs, second.mean, second.ci_low) == (1, 15_000, None)


def test_of_many_runs_a_part_is_shown_and_all_of_them_count(warehouse: Warehouse) -> None:
    warehouse.rebuild(a.records([8_000 + index for index in range(75)], "many"))

    (point,) = warehouse.scaling.list_curves(only_question(warehouse))[0].points

    assert (point.runs, len(point.dots), point.throughput) == (75, 60, 8_037)


def test_what_does_not_count_is_named_with_the_reason(warehouse: Warehouse) -> None:
    warehouse.rebuild(
        [
            a.record("good"),
            a.record("bad", accuracy=7.0, node_count=2),
            a.record("none", with_result=False, node_count=2),
        ]
    )

    (curve,) = warehouse.scaling.list_curves(only_question(warehouse))

    assert [(each.why, each.node_count, each.runs) for each in curve.left_out] == [
        ("incomplete", 2, 1),
        ("invalid", 2, 1),
    ]


def test_imported_results_that_do_not_tell_their_nodes_are_left_out(warehouse: Warehouse) -> None:
    warehouse.rebuild([a.imported("told"), a.imported("silent", stated=("framework_version", "mode"))])

    curves = warehouse.scaling.list_curves(
        warehouse.scaling.list_configurations(BoardQuery("imported")).rows[0].configuration
    )

    assert [len(curve.points) for curve in curves] == [1, 0]
    assert [(each.why, each.runs) for curve in curves for each in curve.left_out] == [("nodes not known", 1)]


def test_a_run_lies_on_the_same_curve_that_its_question_shows(warehouse: Warehouse) -> None:
    warehouse.rebuild(
        [
            *(each for n in (1, 2, 4) for each in a.records(lawful(0.02, n, 0.002), f"old{n}", node_count=n)),
            *a.records([7_000, 15_000], "new", framework_version="r2.0"),
            a.record("pool", flavor="", pool_id="pool-1"),
            a.record("bad", accuracy=7.0, node_count=8),
            a.record("alone", mode="single_server"),
            a.imported("silent", stated=("framework_version", "mode")),
        ]
    )

    rows = [row for run_id in ("old2-0", "new-1", "pool", "bad", "silent") if (row := warehouse.runs.find_row(run_id))]

    for row in rows:
        every = warehouse.scaling.list_curves(BenchmarkConfiguration.of(row))
        assert [warehouse.scaling.fetch_curve(row)] == [each for each in every if each.query == ScalingQuery.of(row)]
    assert len(rows) == 5
    assert [len(warehouse.scaling.fetch_curve(row).points) for row in rows] == [3, 1, 1, 3, 0]
    assert warehouse.scaling.find_curve("alone").points == ()


def measured(value: float, nodes: int, run_id: str, **metric: Any) -> RunRecord:
    stated = {"unit": "tokens/s", "better": Better.HIGHER, "combined": Combined.SUM, "name": "tokens_per_s"} | metric
    return replace(a.record(run_id, node_count=nodes), metrics=(RunMetric(value=value, **stated),))


def test_a_rate_of_all_ranks_scales_in_place_of_the_throughput(warehouse: Warehouse) -> None:
    rates = {1: 1000.0, 2: 1900.0, 4: 3400.0}
    warehouse.rebuild([*(measured(rate, n, f"n{n}") for n, rate in rates.items()), a.record("without", node_count=8)])

    [curve] = warehouse.scaling.list_curves(only_question(warehouse), "tokens_per_s")

    assert [(point.node_count, point.throughput, point.efficiency) for point in curve.points] == [
        (1, 1000.0, 1.0),
        (2, 1900.0, 0.95),
        (4, 3400.0, 0.85),
    ]
    assert (curve.throughput_unit, curve.fit.problem) == ("tokens/s", None)
    assert warehouse.scaling.find_curve("n2", "tokens_per_s") == curve
    assert [point.throughput for point in warehouse.scaling.find_curve("n2").points] != [1000.0, 1900.0, 3400.0]


@pytest.mark.parametrize(
    "metric",
    [
        pytest.param({"unit": "%", "combined": Combined.MEAN}, id="no sum"),
        pytest.param({"unit": "J", "better": Better.LOWER}, id="lower is better"),
    ],
)
def test_what_is_no_rate_of_all_ranks_has_neither_ideal_nor_law(
    warehouse: Warehouse, metric: Mapping[str, Any]
) -> None:
    warehouse.rebuild([measured(40.0 - n, n, f"n{n}", **metric) for n in (1, 2, 4)])

    curve = warehouse.scaling.find_curve("n1", "tokens_per_s")

    assert [(point.throughput, point.speed_up, point.efficiency, point.ideal) for point in curve.points] == [
        (value, None, None, None) for value in (39.0, 38.0, 36.0)
    ]
    assert not curve.scales


def test_values_of_zero_and_less_are_shown_without_a_law(warehouse: Warehouse) -> None:
    warehouse.rebuild([measured(value, n, f"n{n}") for n, value in ((1, 0.0), (2, -3.0), (4, 5.0))])

    curve = warehouse.scaling.find_curve("n1", "tokens_per_s")

    assert [point.throughput for point in curve.points] == [0.0, -3.0, 5.0]
    assert (curve.scales, curve.fit.problem) == (False, FitProblem.TOO_FEW)


def test_two_definitions_of_a_metric_are_two_curves(warehouse: Warehouse) -> None:
    warehouse.rebuild(
        [
            measured(1000.0 * n, n, f"{way}{n}", definition=f"tokens/{way}")
            for way in ("counted", "nominal")
            for n in (1, 2)
        ]
    )

    curves = warehouse.scaling.list_curves(only_question(warehouse), "tokens_per_s")

    assert sorted(curve.query.definition for curve in curves) == ["tokens/counted", "tokens/nominal"]
    assert len({curve.query.id for curve in curves}) == 2


def test_a_metric_that_no_run_has_is_refused_with_those_that_are_known(warehouse: Warehouse) -> None:
    warehouse.rebuild([measured(1.0, 1, "n1")])

    with pytest.raises(SpecError, match="no run of cn-north-9 has it; known: throughput, tokens_per_s"):
        warehouse.scaling.find_curve("n1", "tokens")
