"""The history of a configuration by a named metric: its numbers, its direction, and one unit at a time."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from aisbench_core.model import Better, Combined, RunMetric, RunRecord
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.histories import BaselineReason, History, Outcome
from aisbench_core.warehouse.values.runs import BoardQuery
from tests import records as a
from tests.actors import TESTER
from tests.stores.test_warehouse_history import later

QUERY = BoardQuery("cn-north-9")
BEFORE, AFTER = (8.0, 8.01, 8.02, 7.99), (4.0, 4.01, 4.02, 3.99)


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return Warehouse(tmp_path / "warehouse.duckdb")


def with_energies(
    values: Sequence[float], prefix: str, unit: str = "J/token", better: Better = Better.LOWER, **facts: str
) -> list[RunRecord]:
    """Runs of equal throughput, each with its energy."""
    runs = a.records([9000.0 + n for n in range(len(values))], prefix, **facts)
    return [
        replace(run, metrics=(RunMetric("energy", value, unit, better, Combined.MEAN),))
        for run, value in zip(runs, values, strict=True)
    ]


def fetch_history(warehouse: Warehouse, metric: str) -> History:
    [row] = warehouse.trends.list_rows(QUERY).rows
    return warehouse.trends.fetch_history(row, metric=metric)


def record_two_versions(warehouse: Warehouse, better: Better, values: Sequence[Sequence[float]]) -> None:
    old, new = values
    warehouse.record_many(
        [
            *with_energies(old, "old", better=better, framework_version="r1.9"),
            *later(with_energies(new, "new", better=better, framework_version="r1.10"), 100),
        ]
    )


@pytest.mark.parametrize(
    ("better", "values", "outcome"),
    [
        (Better.LOWER, (BEFORE, AFTER), Outcome.IMPROVEMENT),
        (Better.LOWER, (AFTER, BEFORE), Outcome.REGRESSION),
        (Better.HIGHER, (BEFORE, AFTER), Outcome.REGRESSION),
        (Better.HIGHER, ([-value for value in BEFORE], [-value for value in AFTER]), Outcome.IMPROVEMENT),
        (Better.NEITHER, (BEFORE, AFTER), Outcome.NOT_ENOUGH),
    ],
)
def test_the_verdict_follows_the_direction_of_the_metric(
    better: Better, values: Sequence[Sequence[float]], outcome: Outcome, warehouse: Warehouse
) -> None:
    record_two_versions(warehouse, better, values)

    history = fetch_history(warehouse, "energy:J/token")

    [tested] = history.verdict.metrics
    assert (tested.name, tested.unit, history.verdict.outcome) == ("energy:J/token", "J/token", outcome)
    assert tested.higher_is_better is {Better.HIGHER: True, Better.LOWER: False}.get(better)
    [drawn] = history.metrics
    assert [level.summary.count for level in drawn.versions] == [4, 4]
    assert {change.worse for change in drawn.changes} <= {
        None if better is Better.NEITHER else outcome is Outcome.REGRESSION
    }


def test_a_metric_in_two_units_has_a_history_in_each(warehouse: Warehouse) -> None:
    warehouse.record_many([*with_energies(BEFORE, "joule"), *with_energies([0.004, 0.0041], "kilo", "kJ/token")])
    [row] = warehouse.trends.list_rows(QUERY).rows

    assert warehouse.trends.list_named(row.group) == ("energy:J/token", "energy:kJ/token")
    for metric, values in (("energy:J/token", BEFORE), ("energy:kJ/token", (0.004, 0.0041))):
        history = fetch_history(warehouse, metric)
        assert sorted(run.values[metric] for run in history.runs) == sorted(values)
        assert history.row.valid == len(values)
        page = warehouse.trends.list_runs(replace(QUERY, metric="energy", sort="moment", limit=10), history.row.group)
        assert sorted(run.values["throughput"] for run in page.rows) == sorted(values)


def test_runs_without_the_metric_are_in_no_history_of_it(warehouse: Warehouse) -> None:
    warehouse.record_many([*with_energies(BEFORE, "run"), a.record("without")])

    assert "without" not in {run.run_id for run in fetch_history(warehouse, "energy:J/token").runs}
    assert "without" in {run.run_id for run in fetch_history(warehouse, "").runs}


def test_the_marked_baseline_holds_for_every_metric(warehouse: Warehouse) -> None:
    record_two_versions(warehouse, Better.LOWER, (BEFORE, AFTER))
    warehouse.mark_baseline(["old-0", "old-1"], None, TESTER, a.T0)

    history = fetch_history(warehouse, "energy:J/token")

    assert history.verdict.rule is BaselineReason.MARKED
    assert history.verdict.baseline_run_ids == ("old-0", "old-1")


def test_runs_of_another_definition_than_the_newest_do_not_count(warehouse: Warehouse) -> None:
    def defined(runs: list[RunRecord], definition: str) -> list[RunRecord]:
        return [replace(run, metrics=(replace(run.metrics[0], definition=definition),)) for run in runs]

    before = defined(with_energies(BEFORE, "old", framework_version="r1.9"), "nominal")
    warehouse.record_many([*before, *later(defined(with_energies(AFTER, "new"), "counted"), 100)])

    history = fetch_history(warehouse, "energy:J/token")

    assert {run.run_id for run in history.runs if run.is_of_another_system} == {run.run.run_id for run in before}
    assert history.verdict.outcome is Outcome.NOT_ENOUGH


@pytest.mark.parametrize(
    ("values", "outcome"), [((BEFORE, AFTER), Outcome.IMPROVEMENT), ((AFTER, BEFORE), Outcome.REGRESSION)]
)
def test_all_trends_are_tested_by_a_metric_as_by_their_throughput(
    warehouse: Warehouse, values: Sequence[Sequence[float]], outcome: Outcome
) -> None:
    record_two_versions(warehouse, Better.LOWER, values)
    by_energy, by_throughput = replace(QUERY, metric="energy"), warehouse.trends.list_verdicts(QUERY)

    for _ in range(2):  # the second answer is a stored one
        found = warehouse.trends.list_verdicts(by_energy)
        [trend] = found.groups
        [tested] = trend.verdict.metrics
        assert (found.outcome, tested.name, tested.unit, tested.higher_is_better) == (
            outcome,
            "energy",
            "J/token",
            False,
        )
    assert warehouse.trends.list_verdicts(QUERY) == by_throughput


def test_verdicts_by_a_metric_are_against_the_marked_baseline(warehouse: Warehouse) -> None:
    record_two_versions(warehouse, Better.LOWER, (BEFORE, AFTER))
    warehouse.mark_baseline(["old-0", "old-1"], None, TESTER, a.T0)

    [trend] = warehouse.trends.list_verdicts(replace(QUERY, metric="energy")).groups

    assert (trend.verdict.rule, trend.verdict.baseline_run_ids) == (BaselineReason.MARKED, ("old-0", "old-1"))
