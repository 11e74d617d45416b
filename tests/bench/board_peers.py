"""The whole leaderboard as pandas and sqlite3 answer it: the same groups, numbers and order from the same rows."""

import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path

import duckdb
import pandas as pd

KEYS = ("fingerprint", "framework_version", "flavor", "pool_id", "node_count", "cards_per_node", "origin")
"""What tells the groups of one region and kind apart; the runs of many_runs.py differ in nothing else."""

ROWS = f"""
    select {", ".join(KEYS)}, throughput_cluster as throughput from runs join results using (run_id)
    where validity = 'valid'
"""

Board = list[tuple[float, float, float, float, float]]
"""Of each group, the fastest first: median, best, olympic mean, and the half of its 95 % interval; then the runs."""

T95 = 1.96
"""What Student's t comes to for some hundred runs: looking it up by their number costs nothing beside the rest."""


def frame_of(cur: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """The rows in memory, texts as categories, which is the quickest that pandas knows."""
    frame = cur.execute(ROWS).df()
    texts = [name for name in KEYS if frame[name].dtype not in ("int32", "int64")]
    return frame.astype(dict.fromkeys(texts, "category"))


def with_pandas(frame: pd.DataFrame) -> Board:
    groups = frame.groupby(list(KEYS), observed=True, sort=False)["throughput"]
    board = groups.agg(["median", "max", "min", "sum", "count", "std"])
    board["olympic"] = (board["sum"] - board["max"] - board["min"]) / (board["count"] - 2)
    board["margin"] = T95 * board["std"] / board["count"] ** 0.5
    board = board.sort_values("median", ascending=False)
    return list(board[["median", "max", "olympic", "margin", "count"]].itertuples(index=False, name=None))


def filled(file: Path, rows: Iterable[Sequence[object]]) -> sqlite3.Connection:
    """A table with an index that holds everything the question needs, in its order."""
    con = sqlite3.connect(file)
    con.execute(f"create table runs ({', '.join(KEYS)}, throughput real)")
    con.executemany(f"insert into runs values ({', '.join('?' for _ in (*KEYS, 'throughput'))})", rows)
    con.execute(f"create index board on runs ({', '.join(KEYS)}, throughput)")
    con.execute("analyze")
    con.commit()
    return con


_KEYS = ", ".join(KEYS)
SQLITE = f"""
    with numbered as (
        select *, row_number() over (partition by {_KEYS} order by throughput) as place,
            count(*) over (partition by {_KEYS}) as runs
        from runs)
    select avg(case when place in ((runs + 1) / 2, (runs + 2) / 2) then throughput end) as median,
        max(throughput) as best,
        (sum(throughput) - max(throughput) - min(throughput)) / (count(*) - 2) as olympic,
        {T95} * sqrt(max(0, sum(throughput * throughput) - count(*) * avg(throughput) * avg(throughput))
            / (count(*) - 1)) / sqrt(count(*)) as margin,
        count(*)
    from numbered group by {_KEYS} order by median desc
"""


def with_sqlite(con: sqlite3.Connection) -> Board:
    return con.execute(SQLITE).fetchall()
