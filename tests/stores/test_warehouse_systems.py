"""Runs of different accelerators, images, code or data are never one number: rows, curves, histories, comparisons."""

import csv
import io
from collections.abc import Mapping
from dataclasses import replace

import pytest

from aisbench_core.model import RunRecord
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.compared import ComparedBy
from aisbench_core.warehouse.values.configurations import BenchmarkConfiguration
from aisbench_core.warehouse.values.exports import Export
from aisbench_core.warehouse.values.runs import BoardQuery
from tests import records as a

BOARD = BoardQuery("cn-north-9")
OTHERS: Mapping[str, Mapping[str, str]] = {
    "accelerator": {"accelerator": "Ascend 910B"},
    "image": {"engine_version": "mindspore_2.2-cann_8.0"},
    "code": {"code_sha256": "beef" * 16},
    "data": {"dataset_sha256": "da7a" * 16},
}

TOLD = {
    "accelerator": "Ascend 910B",
    "image": "mindspore_2.2-cann_8.0",
    "code": "beefbeef",
    "data": "da7ada7a",
}
"""What tells the rows of these from others."""


def on_another(aspect: str, record: RunRecord) -> RunRecord:
    """The same run, but for one aspect of the system."""
    (name, value) = next(iter(OTHERS[aspect].items()))
    assert record.result
    if name == "accelerator":
        return replace(record, accelerator=value)
    if name == "dataset_sha256":
        return replace(record, result=replace(record.result, dataset_sha256=value))
    if name == "code_sha256":
        return replace(record, run=replace(record.run, code_sha256=value))
    spec = record.run.spec.model_copy(update={name: value})
    return replace(record, run=replace(record.run, spec=spec))


@pytest.mark.parametrize("aspect", OTHERS)
def test_another_system_is_a_row_of_its_own_that_says_what_differs(warehouse: Warehouse, aspect: str) -> None:
    warehouse.rebuild(
        [
            *a.records([8000, 8100, 8200], "usual"),
            *(on_another(aspect, each) for each in a.records([4000, 4100, 4200], "other")),
        ]
    )

    fast, slow = warehouse.board.list_rows(BOARD).rows

    assert (fast.runs, fast.throughput, slow.runs, slow.throughput) == (3, 8100, 3, 4100)
    assert fast.ci_low
    assert fast.ci_low > 7800
    assert fast.differs_in == slow.differs_in == aspect
    assert slow.system == f"{aspect}={TOLD[aspect]}"
    assert fast.system != slow.system


def test_rows_that_nothing_looks_like_say_nothing_of_their_system(warehouse: Warehouse) -> None:
    warehouse.rebuild([*a.records([8000], "one"), *a.records([9000], "two", node_count=2)])

    assert [row.system for row in warehouse.board.list_rows(BOARD).rows] == ["", ""]


@pytest.mark.parametrize("aspect", OTHERS)
def test_efficiency_is_never_formed_over_two_systems(warehouse: Warehouse, aspect: str) -> None:
    one, two = a.records([8000], "one"), a.records([15_000], "two", node_count=2)
    warehouse.rebuild([*one, *two, on_another(aspect, a.record("other", throughputs=[500.0] * 8))])
    run = warehouse.runs.find_row("one-0")
    assert run

    curves = warehouse.scaling.list_curves(BenchmarkConfiguration.of(run))

    assert [[point.throughput for point in curve.points] for curve in curves] == [[8000, 15_000], [4000]]
    assert len({curve.query.id for curve in curves}) == 2
    assert len({curve.query.id_of_any_system for curve in curves}) == 1
    assert efficiencies(warehouse) == {"one-0": "100", "two-0": "93.75", "other": "100"}


def efficiencies(warehouse: Warehouse) -> Mapping[str, str]:
    """What the CSV says, by run."""
    target = io.BytesIO()
    warehouse.export(Export(BOARD, a.T0), target)
    rows = csv.DictReader(io.StringIO(target.getvalue().decode("utf-8-sig"), newline=""))
    return {row["run_id"]: f"{float(row['efficiency_pct']):g}" for row in rows}


@pytest.mark.every_store
@pytest.mark.parametrize("aspect", ["accelerator", "data"])
def test_a_history_counts_runs_of_the_newest_system_only(warehouse: Warehouse, aspect: str) -> None:
    others = [on_another(aspect, each) for each in a.records([4000] * 4, "other")]
    mine = a.records([8000] * 4, "mine", framework_version="r2.0")
    mine = [replace(each, run=replace(each.run, started_at=a.T0.replace(year=2027))) for each in mine]
    if aspect == "data":
        mine = [replace(each, result=replace(each.result, dataset_sha256="feed" * 16)) for each in mine if each.result]
    warehouse.rebuild([*others, *mine])

    (row,) = warehouse.trends.list_rows(BOARD).rows
    told = warehouse.trends.fetch_history(row)

    assert [run.run_id for run in told.runs if run.values] == [f"mine-{number}" for number in range(4)]
    assert sum(run.is_of_another_system for run in told.runs) == 4
    assert told.verdict.outcome != "improvement"


@pytest.mark.every_store
def test_rows_are_compared_by_the_medians_of_all_their_runs(warehouse: Warehouse) -> None:
    base = [
        a.record(f"base-{number}", throughputs=[each] * 8, accuracy=0.70 + number / 100)
        for number, each in enumerate([1000.0, 1010, 990, 1500])
    ]
    other = [
        a.record(f"other-{number}", throughputs=[each] * 8, framework_version="r2.0")
        for number, each in enumerate([960.0, 950, 970])
    ]
    warehouse.rebuild([*base, *other])

    lucky = warehouse.runs.compare(["base-3", "other-2"]).metrics[0]
    rows = warehouse.runs.compare(["base-3", "other-2"], ComparedBy.ROWS)

    assert [value.value for value in lucky.values] == [12_000, 7760]
    named = {metric.name: [value.value for value in metric.values] for metric in rows.metrics}
    assert named["throughput"] == [8040, 7680]
    assert rows.metrics[0].values[1].ratio == pytest.approx(7680 / 8040)
    assert named["accuracy"] == [0.70, 0.76], "those of base-0 and other-0, the runs in the middle"


def test_a_rows_accuracy_is_that_of_its_median_run(warehouse: Warehouse) -> None:
    accuracies = {8000.0: 0.75, 8100.0: 0.71, 8200.0: 0.78}
    warehouse.rebuild(
        [a.record(f"run-{total:.0f}", throughputs=[total / 8] * 8, accuracy=each) for total, each in accuracies.items()]
    )

    (row,) = warehouse.board.list_rows(BOARD).rows

    assert (row.median_run_id, row.accuracy, row.best_accuracy) == ("run-8100", 0.71, 0.78)
