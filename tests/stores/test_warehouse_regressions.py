"""Regressions over a whole region: no group is left out, and a version is looked into."""

from datetime import timedelta
from pathlib import Path

import pytest

from aisbench_core.model import Origin
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.histories import Outcome, VersionField
from aisbench_core.warehouse.values.runs import BoardQuery
from tests import records as a
from tests.actors import TESTER
from tests.stores.test_warehouse_history import BAD, BOARD, GOOD, later, only_history, two_versions


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return Warehouse(tmp_path / "warehouse.duckdb")


def test_every_group_is_judged_however_many_there_are(warehouse: Warehouse) -> None:
    slower = two_versions(GOOD[:3], BAD)
    newer = [each for n in range(1, 205) for each in later(a.records([1.0], f"n{n}", workload=f"other-{n}"), 1000 + n)]
    warehouse.record_many([*slower, *newer])

    found = warehouse.trends.list_verdicts(BOARD)

    assert (len(found.groups), found.total, found.outcome) == (205, 205, Outcome.REGRESSION)


def test_a_drop_within_the_newest_version_is_a_regression(warehouse: Warehouse) -> None:
    faster = [8400.0, 8440.0, 8360.0, 8420.0, 8380.0, 8410.0, 8390.0, 8405.0]
    slower = [7800.0, 7840.0, 7760.0, 7820.0, 7780.0, 7810.0, 7790.0, 7805.0]
    warehouse.rebuild(two_versions(GOOD, [*faster, *slower]))

    judged = only_history(warehouse).verdict

    across = {metric.name: metric.outcome for metric in judged.metrics}
    within = {metric.name: metric for metric in judged.within}
    assert across["throughput"] is not Outcome.REGRESSION, "the mean of the version hides it"
    assert within["throughput"].outcome is Outcome.REGRESSION
    assert within["throughput"].since == "new-8"
    assert judged.outcome is Outcome.REGRESSION


def test_what_imports_claim_does_not_decide_over_launched_runs(warehouse: Warehouse) -> None:
    slow = [
        *(
            a.imported(f"old-{n}", reported=value, created_at=a.T0 + timedelta(minutes=n))
            for n, value in enumerate(GOOD)
        ),
        *(
            a.imported(f"new-{n}", reported=value, created_at=a.T0 + timedelta(hours=n + 1), framework_version="r1.11")
            for n, value in enumerate(BAD)
        ),
    ]
    warehouse.record_many([*map(a.all_known, slow), *a.records(GOOD, "here", region="imported")])

    both, claims = (
        warehouse.trends.list_verdicts(BoardQuery("imported")),
        BoardQuery("imported", origin=Origin.IMPORTED),
    )

    assert both.outcome is Outcome.NO_CHANGE
    assert warehouse.trends.list_verdicts(claims).outcome is Outcome.REGRESSION


def test_a_verdict_that_was_given_before_changes_with_the_runs(warehouse: Warehouse) -> None:
    warehouse.rebuild(two_versions(GOOD, GOOD))
    before = warehouse.trends.list_verdicts(BOARD)

    warehouse.record_many(later(a.records(BAD, "newest", framework_version="r1.12"), 300))

    assert (before.outcome, warehouse.trends.list_verdicts(BOARD).outcome) == (Outcome.NO_CHANGE, Outcome.REGRESSION)
    assert warehouse.trends.list_verdicts(BOARD) == Warehouse(warehouse.location).trends.list_verdicts(BOARD)


def test_a_verdict_that_was_given_before_changes_with_the_baseline(warehouse: Warehouse) -> None:
    newest = later(a.records(BAD, "newest", framework_version="r1.12"), 300)
    warehouse.rebuild([*two_versions(GOOD, BAD), *newest])
    before = warehouse.trends.list_verdicts(BOARD)
    first = next(run.run_id for run in only_history(warehouse).runs if run.framework_version == "r1.10")

    warehouse.mark_baseline([first], VersionField.FRAMEWORK, TESTER, a.T0)

    assert (before.outcome, warehouse.trends.list_verdicts(BOARD).outcome) == (Outcome.NO_CHANGE, Outcome.REGRESSION)


def test_regressions_are_found_among_the_runs_that_the_ruleset_of_the_query_counts(warehouse: Warehouse) -> None:
    warehouse.rebuild(two_versions())
    strict = BoardQuery("cn-north-9", ruleset_id="ieee-2937-2022")

    stored, by_ieee, again = (warehouse.trends.list_verdicts(query) for query in (BOARD, strict, BOARD))

    assert stored.outcome is again.outcome is Outcome.REGRESSION
    assert by_ieee.outcome is not Outcome.REGRESSION, "by this ruleset none of the runs is valid"
