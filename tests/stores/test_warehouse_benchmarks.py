"""The leaderboard by benchmark: pages of benchmarks, each with its best configurations and how many it has."""

from dataclasses import replace
from datetime import timedelta

import pytest

from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.runs import BoardQuery
from tests import records as a

BOARD = BoardQuery("cn-north-9")
BERT = replace(a.FACTS, model="bert_large", dataset="enwiki")


def test_benchmarks_come_by_name_and_their_best_configurations_first(warehouse: Warehouse) -> None:
    warehouse.rebuild(
        [
            *a.records([8000], "slow", flavor="f1"),
            *a.records([9000], "fast", flavor="f2"),
            *a.records([500], "bert", facts=BERT),
        ]
    )

    page = warehouse.board.list_benchmarks(BOARD, 1)

    assert [(block.rows[0].model, block.rows[0].throughput, block.total) for block in page.rows] == [
        ("bert_large", 500, 1),
        ("resnet50_v1.5", 9000, 2),
    ]
    assert [len(block.rows) for block in page.rows] == [1, 1]


def test_a_page_has_so_many_benchmarks_and_ranks_among_all_configurations(warehouse: Warehouse) -> None:
    resnet = [*a.records([8000], "slow", flavor="f1"), *a.records([9000], "fast", flavor="f2")]
    warehouse.rebuild([*resnet, *a.records([500], "bert", facts=BERT)])

    second = warehouse.board.list_benchmarks(replace(BOARD, limit=1, offset=1), 10)
    behind = warehouse.board.list_benchmarks(replace(BOARD, limit=1, offset=9), 10)

    assert [row.rank for row in second.rows[0].rows] == ["1", "2"]
    assert (second.total, behind.rows, behind.total) == (2, (), 2)


def test_rows_without_a_valid_run_are_the_last_of_their_benchmark(warehouse: Warehouse) -> None:
    bad = a.record("bad", accuracy=7, flavor="f2", throughputs=[9_000.0] * 8)
    warehouse.rebuild([*a.records([8000], "slow", flavor="f1"), bad])

    [block] = warehouse.board.list_benchmarks(replace(BOARD, include_invalid=True), 10).rows

    assert [(row.latest_run_id, row.rank) for row in block.rows] == [("slow-0", "1"), ("bad", "")]


@pytest.mark.every_store
def test_the_newest_runs_of_a_row_are_in_time_order(warehouse: Warehouse) -> None:
    warehouse.rebuild(a.records([8000, 8100, 8200, 8300], "one"))
    [block] = warehouse.board.list_benchmarks(BOARD, 10).rows

    newest = warehouse.board.list_newest_dots(BOARD, block.rows, 3)

    assert [dot.throughput for dot in newest[block.rows[0].latest_run_id]] == [8100, 8200, 8300]


def test_rows_of_different_sizes_are_ranked_by_the_throughput_of_a_card(warehouse: Warehouse) -> None:
    warehouse.rebuild(
        [
            *a.records([8000, 8010, 8020], "one"),
            *a.records([15_000, 15_010, 15_020], "two", node_count=2),
            *a.records([16_010, 16_020, 16_030], "tie", node_count=2, flavor="f2"),
        ]
    )

    [block] = warehouse.board.list_benchmarks(BOARD, 10, per_card=True).rows
    [usual] = warehouse.board.list_benchmarks(BOARD, 10).rows

    assert [(row.latest_run_id[:3], row.rank) for row in block.rows] == [("tie", "1–2"), ("one", "1–2"), ("two", "3")]
    assert [row.latest_run_id[:3] for row in usual.rows] == ["tie", "two", "one"]


@pytest.mark.every_store
def test_sizes_come_with_the_newest_result_first_and_follow_the_filters(warehouse: Warehouse) -> None:
    warehouse.rebuild(
        [
            *a.records([8000], "old"),
            a.record("new", node_count=2, created_at=a.T0 + timedelta(days=2)),
            a.record("bert", node_count=4, facts=BERT, created_at=a.T0 + timedelta(days=1)),
            a.record("bad", accuracy=7, node_count=8),
        ]
    )

    assert warehouse.facets.list_sizes(BOARD) == (2, 4, 1)
    assert warehouse.facets.list_sizes(replace(BOARD, include_invalid=True, models=("resnet50_v1.5",))) == (2, 8, 1)
    assert warehouse.facets.list_sizes(replace(BOARD, text="old")) == (1,)
