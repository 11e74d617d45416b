"""Large exports, part by part: DuckDB sorts an answer before its first row, in memory that grows with its rows."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import pairwise

from duckdb import DuckDBPyConnection

# Runs of a part. Smaller parts take longer in all, because each is planned and joined by itself.
MAX_RUNS = 200_000

# Rows per batch of text, as many as the engine makes at a time: more leave the processor's cache before they are
# written.
BATCH = 2048

# The condition of the runs of a part.
WITHIN = "created_at >= $since::TIMESTAMP and created_at < $until::TIMESTAMP"

Parameters = dict[str, object]


def list_parts(
    cur: DuckDBPyConnection, condition: str, filters: Mapping[str, object], max_runs: int = MAX_RUNS
) -> list[Parameters]:
    """The parameters of WITHIN for each part of the runs that fulfil the condition, in the order of their launch.

    Runs launched at the same time stay together, so that a part may be larger."""
    [(recorded,)] = cur.execute("select count(*) from runs").fetchall()
    bounds = _find_bounds(cur, condition, filters, max_runs) if recorded > max_runs else []
    return [{"since": since, "until": until} for since, until in pairwise(["-infinity", *bounds, "infinity"])]


def _find_bounds(
    cur: DuckDBPyConnection, condition: str, filters: Mapping[str, object], max_runs: int
) -> list[datetime]:
    cur.execute(
        f"""select distinct created_at from (
            select created_at, row_number() over (order by created_at) as position
            from runs join results using (run_id) where {condition})
        where position % $max_runs = 0 order by created_at""",
        {**filters, "max_runs": max_runs},
    )
    return [at for (at,) in cur.fetchall()]


def text_batches(cur: DuckDBPyConnection, query: str, parts: Sequence[Parameters]) -> Iterator[tuple[memoryview, int]]:
    """The bytes of answers that have one column of text without NULL, batch by batch, with their number of rows.

    Arrow keeps the texts of a column one behind the other, so a batch is one slice, and Python touches no row."""
    for part in parts:
        for batch in cur.execute(query, part).to_arrow_reader(BATCH):
            column = batch.column(0)
            _, ends, texts = column.buffers()
            offsets = memoryview(ends).cast("i")
            yield memoryview(texts)[offsets[column.offset] : offsets[column.offset + len(column)]], len(column)
