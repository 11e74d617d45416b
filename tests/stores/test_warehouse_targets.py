"""Runs below the target accuracy of their workload rank after those that reached it, and rows count them."""

from dataclasses import replace
from datetime import timedelta

import pytest

from aisbench_core.model import RunState, TrainResultInfo
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.boards import BoardRow
from aisbench_core.warehouse.values.compared import ComparedBy
from aisbench_core.warehouse.values.runs import BoardQuery, TargetOutcome
from tests import records as a

pytestmark = pytest.mark.parametrize("warehouse", ["file"], indirect=True)  # the same SQL, wherever rows lie

BOARD = BoardQuery("cn-north-9")


def row_of(warehouse: Warehouse) -> BoardRow:
    [row] = warehouse.board.list_rows(BOARD).rows
    return row


@pytest.fixture
def fast_and_useless(warehouse: Warehouse) -> Warehouse:
    """The fastest row learned nothing; the others reached the target of 75.9 %."""
    warehouse.rebuild(
        [
            *a.records([20_000, 20_100], "useless", flavor="useless", accuracy=0.1),
            *a.records([9_000, 9_010], "good", flavor="good"),
            *a.records([8_000, 8_010], "slow", flavor="slow"),
        ]
    )
    return warehouse


def test_a_row_that_missed_its_target_ranks_after_all_that_reached_it(fast_and_useless: Warehouse) -> None:
    rows = fast_and_useless.board.list_rows(BOARD).rows

    assert [(row.flavor, row.rank, row.target_outcome) for row in rows] == [
        ("good", "1", TargetOutcome.REACHED),
        ("slow", "2", TargetOutcome.REACHED),
        ("useless", "3", TargetOutcome.MISSED),
    ]


def test_a_row_without_a_valid_run_takes_no_rank(fast_and_useless: Warehouse) -> None:
    fast_and_useless.record(a.record("failed", state=RunState.FAILED, with_result=False, flavor="other"))

    rows = fast_and_useless.board.list_rows(replace(BOARD, include_invalid=True)).rows

    assert {row.flavor: row.rank for row in rows} == {"good": "1", "slow": "2", "useless": "3", "other": ""}


@pytest.mark.parametrize("sort", ["throughput", "best", "per_node", "per_card"])
@pytest.mark.parametrize("descending", [True, False])
def test_every_order_by_throughput_has_it_last(fast_and_useless: Warehouse, sort: str, descending: bool) -> None:
    rows = fast_and_useless.board.list_rows(replace(BOARD, sort=sort, descending=descending)).rows

    assert rows[-1].flavor == "useless"


def test_it_is_neither_the_best_of_its_benchmark_nor_tied_with_it(fast_and_useless: Warehouse) -> None:
    [block] = fast_and_useless.board.list_benchmarks(BOARD, 10).rows
    details = fast_and_useless.board.find_row("useless-0")

    assert [row.flavor for row in block.rows] == ["good", "slow", "useless"]
    assert details
    assert details.best.flavor == "good"
    assert [row.rank for row in block.rows] == ["1", "2", "3"]


def test_intervals_that_overlap_do_not_lift_it(warehouse: Warehouse) -> None:
    warehouse.rebuild(
        [
            *a.records([8_900, 9_100], "useless", flavor="useless", accuracy=0.1),
            *a.records([8_800, 9_000], "good", flavor="good"),
        ]
    )

    rows = warehouse.board.list_rows(BOARD).rows

    assert [(row.flavor, row.rank) for row in rows] == [("good", "1"), ("useless", "2")]


def test_one_useless_run_among_good_ones_is_counted_and_costs_the_row_its_place(warehouse: Warehouse) -> None:
    warehouse.rebuild(
        [
            *a.records([9_000], "good"),
            *a.records([9_100], "useless", accuracy=0.1),
            *a.records([5_000, 5_010], "slow", flavor="slow"),
        ]
    )

    slow, mixed = warehouse.board.list_rows(BOARD).rows

    assert (slow.flavor, slow.rank) == ("slow", "1")
    assert (mixed.runs, mixed.missed, mixed.reached, mixed.rank) == (2, 1, 1, "2")
    assert mixed.target_outcome is TargetOutcome.PARTLY_MISSED


def test_a_workload_without_a_target_says_so(warehouse: Warehouse) -> None:
    warehouse.rebuild([a.record(facts=replace(a.FACTS, accuracy_target=None), accuracy=0.1)])

    row = row_of(warehouse)

    assert (row.accuracy_target, row.missed, row.target_outcome) == (None, 0, TargetOutcome.NOT_STATED)


def test_accuracy_on_synthetic_data_neither_reaches_nor_misses_a_target(warehouse: Warehouse) -> None:
    warehouse.rebuild([a.record(synthetic_data=True, accuracy=0.1)])

    assert row_of(warehouse).target_outcome is TargetOutcome.NOT_MEASURED


def test_a_result_recorded_later_counts_at_once(warehouse: Warehouse) -> None:
    warehouse.rebuild(a.records([9_000], "good"))

    warehouse.record(a.record("useless", accuracy=0.1))

    assert row_of(warehouse).missed == 1


def test_compared_rows_say_how_many_of_their_runs_missed(warehouse: Warehouse) -> None:
    warehouse.rebuild(
        [
            *a.records([9_000], "good", flavor="f1"),
            *a.records([9_100], "useless", flavor="f1", accuracy=0.1),
            *a.records([8_000, 8_100], "other", flavor="f2"),
        ]
    )

    comparison = warehouse.runs.compare(["good-0", "other-0"], ComparedBy.ROWS)

    assert [peers.missed for peers in comparison.peers] == [1, 0]


def test_a_run_that_missed_its_target_breaks_no_record(warehouse: Warehouse) -> None:
    learned = a.records([9_000, 9_100], "good", created_by="ann")
    last_minute = a.T0 + timedelta(seconds=650)
    warehouse.rebuild(learned)
    [record] = warehouse.board.summarize_activity(BOARD, last_minute).records

    warehouse.record(replace(learned[1], result=a.result(a.spec(), [9_100 / 8] * 8, info=TrainResultInfo(0.1))))

    assert record.run_id == "good-1"
    assert warehouse.board.summarize_activity(BOARD, last_minute).records == ()
