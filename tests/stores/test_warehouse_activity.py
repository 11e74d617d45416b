"""What a period brought: records that were broken, and node hours by profile and flavor."""

from dataclasses import replace
from datetime import timedelta, timezone

import pytest

from aisbench_core.model import RunRecord, RunState
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.runs import BoardQuery
from tests import records as a

REGION = BoardQuery("cn-north-9")
WEEK = a.T0 + timedelta(days=5)
LATER = a.T0 + timedelta(days=6)


def later(run_id: str, card: float, **changes: object) -> RunRecord:
    """A run within the week on 8 cards, each of them as fast as `card`."""
    return a.record(run_id, throughputs=[card] * 8, created_at=LATER, **changes)  # type: ignore[arg-type]  # as record's


@pytest.mark.every_store
def test_a_run_that_is_faster_than_all_before_it_breaks_the_record(warehouse: Warehouse) -> None:
    warehouse.rebuild([*a.records([8000.0, 8200.0, 8100.0], "old"), later("fast", 1100.0, framework_version="r1.11")])

    [record] = warehouse.board.summarize_activity(REGION, WEEK).records

    assert (record.run_id, record.throughput, record.previous) == ("fast", 8800.0, 8200.0)
    assert record.change == pytest.approx(8800 / 8200 - 1)
    assert (record.trend.node_count, record.trend.throughput_unit) == (1, "samples/s")
    assert record.at == LATER + timedelta(seconds=640)


def test_nothing_else_breaks_a_record(warehouse: Warehouse) -> None:
    warehouse.rebuild(
        [
            *a.records([8000.0, 8200.0], "old"),
            later("slower", 1000.0),
            later("invalid", 5000.0, accuracy=7),
            later("first-on-two-nodes", 900.0, node_count=2),
            replace(a.imported("foreign", reported=99_000.0), workload=a.FACTS),
        ]
    )

    assert warehouse.board.summarize_activity(REGION, WEEK).records == ()


def test_node_hours_are_of_all_runs_that_ended_in_the_period(warehouse: Warehouse) -> None:
    failed = later("failed", 1.0, with_result=False, state=RunState.FAILED, node_count=4, accuracy=None)
    warehouse.rebuild([*a.records([8000.0], "old"), later("done", 1000.0), failed, later("far", 1.0, region="other")])

    [used] = warehouse.board.summarize_activity(REGION, WEEK).usage

    assert (used.profile, used.flavor, used.runs, used.failed) == ("beijing", "modelarts.kat1.8xlarge", 2, 1)
    assert used.node_hours == pytest.approx(600 * (1 + 4) / 3600)


def test_the_moment_is_the_same_in_any_time_zone(warehouse: Warehouse) -> None:
    warehouse.rebuild([later("done", 1000.0)])
    ended = LATER + timedelta(seconds=640)
    east = timezone(timedelta(hours=8))

    assert warehouse.board.summarize_activity(REGION, ended.astimezone(east)).usage
    assert not warehouse.board.summarize_activity(REGION, (ended + timedelta(seconds=1)).astimezone(east)).usage
