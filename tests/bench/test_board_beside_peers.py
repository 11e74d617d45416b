"""The whole leaderboard of a million runs beside pandas and sqlite3, on the same rows in the same run."""

from pathlib import Path

import pytest

from aisbench_core.warehouse.facade import Warehouse
from tests.bench.board_peers import ROWS, filled, frame_of, with_pandas, with_sqlite
from tests.bench.figures import put
from tests.bench.warehouses import BOARD, folder_of, median_ms

RUNS = 1_000_000
FIGURE = "Whole leaderboard, 1,000,000 runs"


def test_the_whole_leaderboard_takes_a_fraction_of_what_pandas_and_sqlite_take(tmp_path: Path) -> None:
    warehouse = Warehouse(folder_of(RUNS) / "warehouse.duckdb")
    with warehouse.cursor() as cur:
        frame = frame_of(cur)
        con = filled(tmp_path / "runs.sqlite3", cur.execute(ROWS).fetchall())

    whole = median_ms(lambda: warehouse.board.list_rows(BOARD))
    pandas = median_ms(lambda: with_pandas(frame), 3)
    sqlite = median_ms(lambda: with_sqlite(con), 1)

    board = [(row.throughput, row.best, row.olympic_mean) for row in warehouse.board.list_rows(BOARD).rows]
    for peer in (with_pandas(frame), with_sqlite(con)):
        assert [row[:3] for row in peer[: len(board)]] == [pytest.approx(row, rel=1e-9) for row in board]
    asked = "pandas, the rows in memory"
    put(f"{FIGURE}, beside pandas", f"{whole:.0f} ms", "150 ms", f"{asked}: {pandas:.0f} ms", pandas / whole)
    put(f"{FIGURE}, beside sqlite3", f"{whole:.0f} ms", "150 ms", f"sqlite3: {sqlite:.0f} ms", sqlite / whole)
    assert pandas / whole >= 3
    assert sqlite / whole >= 50
