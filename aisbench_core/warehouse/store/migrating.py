"""Copies everything from one warehouse into another, and believes it only after comparing both.

Rows go from engine to engine as Arrow tables, some ten thousand runs at a time: Python never sees one of them.
"""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

from duckdb import DuckDBPyConnection

from aisbench_core.errors import WarehouseError
from aisbench_core.messages import Message
from aisbench_core.warehouse.answers import baselines
from aisbench_core.warehouse.answers.group_statistics import MARKED, mark, settle
from aisbench_core.warehouse.records import annotations, saved_views, series_plans
from aisbench_core.warehouse.records.record import clear
from aisbench_core.warehouse.store.connection import Connection
from aisbench_core.warehouse.store.lake import Lake
from aisbench_core.warehouse.store.schema import TABLES

PASSES = 3
"""Runs may be recorded while others are copied; those are copied in another pass."""

IN_A_FILE, IN_A_TEAM = 122_880, 10_000
"""Runs that are copied in one transaction, for which others wait: of a file so many as DuckDB packs together, because
what comes in smaller pieces is packed again; of a team's, where the way to the files is longer, fewer."""

ROWS_OF_EACH = 16
"""Rows that a run has, as a rule; of longer runs fewer are copied at once, but one is always whole."""

Told = Callable[[int, int], None]
"""Is told how many of how many runs were copied."""


def unheard(_done: int, _of: int) -> None:
    """For those who do not watch."""


Arrow = Any
"""An Arrow table: pyarrow has no types."""

Rows = tuple[Mapping[str, Arrow], list[dict[str, object]]]
"""Rows by table, and cells of a run of each group."""


@dataclass(frozen=True, slots=True)
class Moved:
    """How many runs and rows were compared and found equal, and how many runs had to be copied for that."""

    runs: int
    rows: int
    copied: int


def move(source: Connection | Lake, target: Connection | Lake, told: Told, at_once: int | None = None) -> Moved:
    """Copy every run that the target does not hold in the same words, and what people marked and saved.

    Other runs of the target stay. `at_once`: how many runs go in one transaction, for which others wait. It can be
    repeated after it was interrupted: what is equal is not copied again.
    Raises WarehouseError when the two are not equal in the end."""
    copied: set[str] = set()
    baselines.copy(source, target)
    saved_views.copy(source, target)
    series_plans.copy(source, target)
    for _ in range(PASSES):
        annotations.exchange(source, target)
        runs, rows, differing = _compared(source, target)
        if not differing:
            return Moved(runs, rows, len(copied))
        copy_runs(source, target, differing, told, at_once)
        copied.update(differing)
    raise WarehouseError(
        Message(
            "{count} runs still differ after {passes} passes, {run} among them",
            count=len(differing),
            passes=PASSES,
            run=next(iter(differing)),
        ),
        Message("stop recording for a while and run the command again; nothing was removed"),
    )


def _compared(source: Connection | Lake, target: Connection | Lake) -> tuple[int, int, dict[str, int]]:
    """How many runs and rows the source holds, and by run_id, in order, the rows of those that the target lacks."""
    with ThreadPoolExecutor(2) as both:
        there, here = both.map(_contents, (source, target))
    with source.cursor() as cur:
        cur.register("there", there)
        cur.register("here", here)
        cur.execute("select run_id, rows from there where (run_id, sums) not in (from here select run_id, sums)")
        differing = dict(sorted(cur.fetchall()))
        [(rows,)] = cur.execute("select coalesce(sum(rows), 0)::BIGINT from there").fetchall()
        for name in ("there", "here"):
            cur.unregister(name)
    return there.num_rows, rows, differing


def _contents(store: Connection | Lake) -> Arrow:
    with store.cursor() as cur:
        return cur.execute(_CONTENTS).to_arrow_table()


def _rows_of(number: int, table: str, columns: Mapping[str, str]) -> str:
    # JSON is text here: a type of its own could be hashed differently by another store.
    values = ", ".join(f"{name}::VARCHAR" if kind == "JSON" else name for name, kind in columns.items())
    return f"select run_id, hash({number}, {values})::HUGEINT as sum from {table}"


_CONTENTS = f"""
    select run_id, count(*) as rows, sum(sum)::VARCHAR as sums
    from ({" union all ".join(_rows_of(number, *table) for number, table in enumerate(TABLES.items()))})
    where run_id in (select run_id from runs) group by run_id"""
"""Each run with its number of rows, and the sum of their hashes: equal sums mean equal rows, whatever their order."""


def copy_runs(
    source: Connection | Lake,
    target: Connection | Lake,
    sizes: Mapping[str, int],
    told: Told,
    at_once: int | None = None,
) -> None:
    """Put the source's rows of these runs in place of the target's. `sizes`: rows by run, at least one run, in order.

    The next rows are read while the ones before are being written."""
    done = 0
    chunks = _chunks(sizes, at_once or (IN_A_TEAM if isinstance(target, Lake) else IN_A_FILE))
    with ThreadPoolExecutor(1) as reader:
        ahead = reader.submit(_read, source, chunks[0])
        for chunk, following in zip(chunks, [*chunks[1:], None], strict=True):
            rows = ahead.result()
            if following:
                ahead = reader.submit(_read, source, following)
            target.write(partial(_store, chunk=chunk, rows=rows))
            done += len(chunk)
            told(done, len(sizes))
    target.write(settle)


def _chunks(sizes: Mapping[str, int], most: int) -> list[list[str]]:
    """Neighbours stay together, because a store keeps them together."""
    chunks: list[list[str]] = [[]]
    rows = 0
    for run_id, size in sizes.items():
        if chunks[-1] and (len(chunks[-1]) == most or rows + size > most * ROWS_OF_EACH):
            chunks.append([])
            rows = 0
        chunks[-1].append(run_id)
        rows += size
    return chunks


_CHOSEN = "run_id between ? and ? and run_id in (select unnest(?::VARCHAR[]))"
"""The bounds say the same again, in words that let a store pass over what lies elsewhere."""


def _read(source: Connection | Lake, chunk: list[str]) -> Rows:
    """All rows of the runs, and what must be known of their groups, once of each group."""
    bounds = [chunk[0], chunk[-1], chunk]
    with source.cursor() as cur:
        rows = {
            table: cur.execute(f"select {', '.join(columns)} from {table} where {_CHOSEN}", bounds).to_arrow_table()
            for table, columns in TABLES.items()
        }
        values = ", ".join(f"any_value({name})" for name in MARKED[1:])
        cur.execute(f"select group_id, {values} from runs where {_CHOSEN} group by group_id", bounds)
        return rows, [dict(zip(MARKED, row, strict=True)) for row in cur.fetchall()]


def _store(cur: DuckDBPyConnection, chunk: list[str], rows: Rows) -> None:
    tables, groups = rows
    clear(cur, chunk)
    for table, columns in TABLES.items():
        cur.register("incoming", tables[table])
        cur.execute(f"insert into {table} ({', '.join(columns)}) select * from incoming")
        cur.unregister("incoming")
    mark(cur, groups)
