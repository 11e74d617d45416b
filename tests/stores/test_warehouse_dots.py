"""The single runs behind rows of the leaderboard: valid ones only, bounded, and always the same."""

import pytest

from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.runs import BoardQuery
from tests import records as a

BOARD = BoardQuery("cn-north-9")


@pytest.mark.every_store
def test_single_runs_stand_behind_each_row_and_invalid_ones_do_not(warehouse: Warehouse) -> None:
    warehouse.rebuild(
        [
            *a.records([7_900, 8_000, 8_100], "one"),
            *a.records([15_600], "two", node_count=2),
            a.record("bad", accuracy=7),
        ]
    )
    rows = warehouse.board.list_rows(BOARD).rows

    found = warehouse.board.list_dots(BOARD, rows, 60)
    few = warehouse.board.list_dots(BOARD, rows, 2)

    assert {row.node_count: sorted(dot.run_id for dot in found[row.latest_run_id]) for row in rows} == {
        1: ["one-0", "one-1", "one-2"],
        2: ["two-0"],
    }
    assert sorted(map(len, few.values())) == [1, 2]
    assert few == warehouse.board.list_dots(BOARD, rows, 2)
