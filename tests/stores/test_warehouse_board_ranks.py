"""Ranks of the leaderboard: within one benchmark and unit, as sure as the intervals are, whatever the page."""

from dataclasses import replace

import pytest

from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.runs import BoardQuery
from tests import records as a

BOARD = BoardQuery("cn-north-9")


def test_ranks_never_cross_units_and_units_follow_each_other(warehouse: Warehouse) -> None:
    tokens = replace(a.FACTS, throughput_unit="tokens/s")
    warehouse.rebuild(
        [
            *a.records([8000], "slow", flavor="f1"),
            *a.records([9000], "fast", flavor="f2"),
            *a.records([500_000], "tokens", flavor="f1", facts=tokens),
        ]
    )

    rows = warehouse.board.list_rows(BOARD).rows

    assert [(row.throughput_unit, row.throughput, row.rank) for row in rows] == [
        ("samples/s", 9000, "1"),
        ("samples/s", 8000, "2"),
        ("tokens/s", 500_000, "1"),
    ]


def test_places_are_shared_where_the_data_cannot_tell(warehouse: Warehouse) -> None:
    warehouse.rebuild(
        [
            *a.records([9000, 9001, 9002], prefix="fast", flavor="f1"),
            *a.records([8000, 8200, 8100], prefix="mid", flavor="f2"),
            *a.records([8050, 8150, 8250], prefix="mid2", flavor="f3"),
            *a.records([100], prefix="slow", flavor="f4"),
        ]
    )

    rows = warehouse.board.list_rows(BOARD).rows

    assert [(row.flavor, row.rank) for row in rows] == [("f1", "1"), ("f3", "2–3"), ("f2", "2–3"), ("f4", "4")]


def test_places_are_only_given_among_rows_that_answer_the_same_question(warehouse: Warehouse) -> None:
    other = replace(a.FACTS, model="bert_large", dataset="enwiki")
    warehouse.rebuild([a.record("resnet"), a.record("bert", facts=other, throughputs=[1.0] * 8)])

    assert [row.rank for row in warehouse.board.list_rows(BOARD).rows] == ["1", "1"]


@pytest.mark.every_store
def test_places_do_not_depend_on_the_page(warehouse: Warehouse) -> None:
    warehouse.rebuild([a.record(f"run-{nodes}", node_count=nodes) for nodes in range(1, 8)])

    pages = [warehouse.board.list_rows(replace(BOARD, limit=3, offset=offset)) for offset in (0, 3, 6, 9)]

    assert [row.rank for page in pages for row in page.rows] == ["1", "2", "3", "4", "5", "6", "7"]
    assert [page.total for page in pages] == [7, 7, 7, 7]
