"""What is not known to repeat one measurement has no verdict, and what missed its target has not improved."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from aisbench_core.model import RunRecord
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.histories import TARGET_MISSED, MetricVerdict, Outcome, VersionField
from aisbench_core.warehouse.values.runs import TargetOutcome
from tests import records as a
from tests.actors import TESTER
from tests.stores.test_warehouse_history import BAD, BOARD, GOOD, later, only_history

TAGGED = "org/image:latest"
DIGEST = "org/image@sha256:" + "1" * 64
FASTER = [value * 1.2 for value in GOOD]


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return Warehouse(tmp_path / "warehouse.duckdb")


def of_image(totals: Sequence[float], image_url: str, version: str, minutes: float) -> list[RunRecord]:
    name = f"{version}-{minutes}"
    return later(a.records(totals, name, framework_version=version, image_url=image_url), minutes)


def throughput_of(metrics: Sequence[MetricVerdict]) -> MetricVerdict:
    return next(metric for metric in metrics if metric.name == "throughput")


def test_runs_of_which_something_decisive_is_not_known_are_drawn_and_have_no_verdict(warehouse: Warehouse) -> None:
    warehouse.record_many([*of_image(GOOD, TAGGED, "r1", 0), *of_image(BAD, TAGGED, "r2", 100)])

    history = only_history(warehouse)
    found = warehouse.trends.list_verdicts(BOARD)

    [group] = found.groups
    assert (found.outcome, found.tests, group.unknown) == (Outcome.NOT_ENOUGH, 0, len(GOOD + BAD))
    assert group.verdict.withheld == "No verdict: the runs may differ in image"
    assert group.verdict.metrics == group.verdict.within == ()
    [throughput] = [metric for metric in history.metrics if metric.name == "throughput"]
    assert (throughput.levels, throughput.versions, throughput.changes) == ((), (), ())
    assert [run.drawn["throughput"] for run in history.runs] == [*GOOD, *BAD]
    assert {run.left_out["throughput"] for run in history.runs} == {"mixed or unknown: image"}


def test_a_group_has_a_verdict_again_once_all_is_known_of_its_newest_runs(warehouse: Warehouse) -> None:
    unknown = of_image(FASTER, TAGGED, "r2", 0)
    warehouse.record_many([*unknown, *of_image(GOOD, DIGEST, "r2", 100), *of_image(BAD, DIGEST, "r3", 200)])

    [group] = warehouse.trends.list_verdicts(BOARD).groups

    assert (group.verdict.outcome, group.verdict.withheld, group.unknown) == (Outcome.REGRESSION, "", len(unknown))
    assert (group.verdict.baseline, group.verdict.candidate) == ("r2", "r3")
    assert len(group.verdict.baseline_run_ids) == len(GOOD)


def test_a_marked_baseline_of_which_something_decisive_is_not_known_is_no_base(warehouse: Warehouse) -> None:
    warehouse.record_many([*of_image(GOOD, TAGGED, "r1", 0), *of_image(BAD, DIGEST, "r2", 100)])
    warehouse.mark_baseline(["r1-0-0"], VersionField.FRAMEWORK, TESTER, a.T0)

    verdict = only_history(warehouse).verdict

    assert (verdict.outcome, verdict.withheld) == (Outcome.NOT_ENOUGH, "No verdict: the runs may differ in image")
    [asked] = warehouse.trends.list_verdicts(BOARD, names=["r1"]).groups
    assert (asked.verdict.withheld, len(asked.verdict.baseline_run_ids)) == (
        "No verdict: the runs may differ in image",
        len(GOOD),
    )


def test_a_version_that_missed_its_target_regressed_however_fast_it_is(warehouse: Warehouse) -> None:
    useless = later(a.records(FASTER, "new", framework_version="r1.11", accuracy=0.1), 100)
    warehouse.record_many([*a.records(GOOD, "old"), *useless])

    history = only_history(warehouse)
    [group] = warehouse.trends.list_verdicts(BOARD).groups

    outcomes = {metric.name: metric.outcome for metric in group.verdict.metrics}
    assert outcomes["accuracy"] is group.verdict.outcome is Outcome.REGRESSION
    assert outcomes["throughput"] is Outcome.NOT_ENOUGH
    assert (group.missed, sum(run.has_missed for run in history.runs)) == (len(FASTER), len(FASTER))
    assert history.runs[-1].left_out["throughput"] == TARGET_MISSED
    assert history.runs[-1].drawn["throughput"] == FASTER[-1]


@pytest.mark.parametrize("before", [0.05, 0.76])
def test_a_version_with_a_run_below_its_target_has_not_improved(warehouse: Warehouse, before: float) -> None:
    """Neither by the speed of its other runs, nor by an accuracy that is still too low."""
    good = [] if before < 0.5 else later(a.records(FASTER, "new", framework_version="r1.11", accuracy=0.76), 100)
    useless = later(a.records(FASTER, "bad", framework_version="r1.11", accuracy=0.1), 200)
    warehouse.record_many([*a.records(GOOD, "old", accuracy=before), *good, *useless[: 1 if good else None]])

    [group] = warehouse.trends.list_verdicts(BOARD).groups

    metrics = [*group.verdict.metrics, *group.verdict.within]
    assert Outcome.IMPROVEMENT not in {group.verdict.outcome, *(metric.outcome for metric in metrics)}
    assert max(metric.missed for metric in metrics) == (1 if good else len(FASTER))


def test_a_run_that_missed_its_target_changes_no_level_of_throughput(warehouse: Warehouse) -> None:
    slow = later(a.records([value / 2 for value in GOOD], "slow", accuracy=0.1), 100)
    warehouse.record_many([*a.records(GOOD, "old"), *slow])

    history = only_history(warehouse)

    assert {metric.name: len(metric.changes) for metric in history.metrics}["throughput"] == 0


def test_a_record_is_broken_only_by_runs_known_to_repeat_one_measurement(warehouse: Warehouse) -> None:
    warehouse.record_many(a.records([8000, 9000], image_url=TAGGED))

    assert warehouse.board.summarize_activity(BOARD, a.T0 + timedelta(seconds=650)).records == ()


def test_a_target_that_only_the_ruleset_states_is_missed_as_one_of_the_workload(warehouse: Warehouse) -> None:
    """V06 of the stored checks says so: the ruleset may not be there any more."""
    stateless = replace(a.FACTS, accuracy_target=None)
    warehouse.record_many(a.records(GOOD, "useless", facts=stateless, accuracy=0.1))
    with warehouse.cursor() as cur:
        cur.execute("update results set warned_checks = 'V06', checks = replace(checks::VARCHAR, ?, ?)", OK_AND_WARN)
        cur.execute("insert into group_statistics_due select distinct group_id from runs")

    [row] = warehouse.board.list_rows(BOARD).rows
    run = warehouse.runs.find_row("useless-0")

    assert (row.missed, row.reached, row.target_outcome) == (len(GOOD), 0, TargetOutcome.MISSED)
    assert run
    assert run.target_outcome is TargetOutcome.MISSED
    assert all(each.has_missed for each in only_history(warehouse).runs)


OK_AND_WARN = ['"id":"V06","level":"ok"', '"id":"V06","level":"warn"']


def test_a_run_that_missed_its_target_is_no_base_of_scaling(warehouse: Warehouse) -> None:
    warehouse.record_many(
        [
            a.record("useless", accuracy=0.1),
            *(a.record(f"nodes-{count}", node_count=count, framework_version="r1.10") for count in (2, 4)),
        ]
    )

    curve = warehouse.scaling.find_curve("nodes-2")

    assert curve.base_nodes == 2
    assert [point.node_count for point in curve.points] == [2, 4]
    assert [(excluded.why, excluded.runs) for excluded in curve.left_out] == [("target missed", 1)]
