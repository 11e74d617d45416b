"""Large exports, part by part: an answer is sorted before its first row comes, in memory that grows with its rows."""

from collections.abc import Mapping
from datetime import datetime
from itertools import pairwise

from duckdb import DuckDBPyConnection

MOST = 200_000
"""Runs of a part. Fewer of them would cost time: each part is planned and joined by itself."""

WITHIN = "created_at >= $since::TIMESTAMP and created_at < $until::TIMESTAMP"
"""What the runs of a part fulfil."""

Parameters = dict[str, object]


def parts(cur: DuckDBPyConnection, condition: str, named: Mapping[str, object], most: int = MOST) -> list[Parameters]:
    """The values that WITHIN names, for each part of the runs that fulfil the condition, in the order of their launch.

    Runs of one moment stay together, so that a part may be larger."""
    cuts = _cuts(cur, condition, named, most) if _recorded(cur) > most else []
    return [{"since": since, "until": until} for since, until in pairwise(["-infinity", *cuts, "infinity"])]


def _recorded(cur: DuckDBPyConnection) -> int:
    [(count,)] = cur.execute("select count(*) from runs").fetchall()
    return int(count)


def _cuts(cur: DuckDBPyConnection, condition: str, named: Mapping[str, object], most: int) -> list[datetime]:
    cur.execute(
        f"""select distinct created_at from (
            select created_at, row_number() over (order by created_at) as place
            from runs join results using (run_id) where {condition})
        where place % $most = 0 order by created_at""",
        {**named, "most": most},
    )
    return [at for (at,) in cur.fetchall()]
