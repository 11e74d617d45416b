"""Copies everything from one warehouse into another."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

from duckdb import DuckDBPyConnection

from aisbench_core.base.errors import RunsStillDiffer
from aisbench_core.base.messages import Message
from aisbench_core.warehouse.queries.group_statistics import KEY_COLUMNS, mark_due, settle_groups
from aisbench_core.warehouse.records import annotations, baselines, inference_results, saved_views, series_plans
from aisbench_core.warehouse.records.record import clear_runs
from aisbench_core.warehouse.tables.schema import TABLES
from aisbench_core.warehouse.tables.store import Progress, Store

# Rows go from engine to engine as Arrow tables, some ten thousand runs at a time, and are never Python objects.

# Runs that are recorded during the copy are copied in another pass.
PASSES = 3

# Rows of a typical run; of longer runs, fewer are copied at once.
ROWS_PER_RUN = 16

Arrow = Any
"""An Arrow table: pyarrow has no types."""

Rows = tuple[Mapping[str, Arrow], list[dict[str, object]]]
"""Rows by table, and the keys of each group."""


@dataclass(frozen=True, slots=True)
class Moved:
    """How many runs and rows are equal, and how many runs were copied for that."""

    runs: int
    rows: int
    copied: int


def move(source: Store, target: Store, on_progress: Progress) -> Moved:
    """Copy every run that is missing or different in the target, annotations, baselines, views, results of inference
    and series.

    Other runs of the target stay. Can be repeated after an interruption: equal runs are not copied again. Raises
    RunsStillDiffer if runs do in the end."""
    copied: set[str] = set()
    baselines.copy(source, target)
    saved_views.copy(source, target)
    inference_results.copy(source, target)
    series_plans.copy(source, target)
    for _ in range(PASSES):
        annotations.exchange(source, target)
        runs, rows, differing = _compare_contents(source, target)
        if not differing:
            return Moved(runs, rows, len(copied))
        copy_runs(source, target, differing, on_progress)
        copied.update(differing)
    raise RunsStillDiffer(
        Message(
            "{count} runs still differ after {passes} passes, {run} among them",
            count=len(differing),
            passes=PASSES,
            run=next(iter(differing)),
        ),
        Message("stop recording for a while and run the command again; nothing was removed"),
    )


def _compare_contents(source: Store, target: Store) -> tuple[int, int, dict[str, int]]:
    """Number of runs and rows in the source; by run_id, in order, the number of rows of runs that differ."""

    def contents(store: Store) -> Arrow:
        with store.cursor() as cur:
            return cur.execute(_CONTENTS).to_arrow_table()

    with ThreadPoolExecutor(2) as both:
        of_source, of_target = both.map(contents, (source, target))
    with source.cursor() as cur:
        cur.register("of_source", of_source)
        cur.register("of_target", of_target)
        cur.execute(
            "select run_id, rows from of_source where (run_id, sums) not in (from of_target select run_id, sums)"
        )
        differing = dict(sorted(cur.fetchall()))
        [(rows,)] = cur.execute("select coalesce(sum(rows), 0)::BIGINT from of_source").fetchall()
        for name in ("of_source", "of_target"):
            cur.unregister(name)
    return of_source.num_rows, rows, differing


def _rows_of(number: int, table: str, columns: Mapping[str, str]) -> str:
    # JSON as text: as a type of its own, another store could hash it differently.
    values = ", ".join(f"{name}::VARCHAR" if kind == "JSON" else name for name, kind in columns.items())
    return f"select run_id, hash({number}, {values})::HUGEINT as sum from {table}"


# Each run with its number of rows and the sum of their hashes, which does not depend on their order.
_CONTENTS = f"""
    select run_id, count(*) as rows, sum(sum)::VARCHAR as sums
    from ({" union all ".join(_rows_of(number, *table) for number, table in enumerate(TABLES.items()))})
    where run_id in (select run_id from runs) group by run_id"""


def copy_runs(source: Store, target: Store, sizes: Mapping[str, int], on_progress: Progress) -> None:
    """Replace the target's rows of these runs with the source's. `sizes`: rows by run, at least one run, in order."""
    done = 0
    chunks = _split_chunks(sizes, target.runs_per_copy)
    with ThreadPoolExecutor(1) as reader:  # reads the next chunk while one is written
        ahead = reader.submit(_read_chunk, source, chunks[0])
        for chunk, following in zip(chunks, [*chunks[1:], None], strict=True):
            rows = ahead.result()
            if following:
                ahead = reader.submit(_read_chunk, source, following)
            target.write(partial(_store_chunk, chunk=chunk, rows=rows))
            done += len(chunk)
            on_progress(done, len(sizes))
    target.write(settle_groups)


def _split_chunks(sizes: Mapping[str, int], max_runs: int) -> list[list[str]]:
    """Runs in the order of their ids, so that a chunk is in few row groups."""
    chunks: list[list[str]] = [[]]
    rows = 0
    for run_id, size in sizes.items():
        if chunks[-1] and (len(chunks[-1]) == max_runs or rows + size > max_runs * ROWS_PER_RUN):
            chunks.append([])
            rows = 0
        chunks[-1].append(run_id)
        rows += size
    return chunks


# The bounds are redundant, but with them DuckDB skips other row groups and files.
_OF_CHUNK = "run_id between ? and ? and run_id in (select unnest(?::VARCHAR[]))"


def _read_chunk(source: Store, chunk: list[str]) -> Rows:
    """All rows of the runs, and the keys of their groups."""
    bounds = [chunk[0], chunk[-1], chunk]
    with source.cursor() as cur:
        rows = {
            table: cur.execute(f"select {', '.join(columns)} from {table} where {_OF_CHUNK}", bounds).to_arrow_table()
            for table, columns in TABLES.items()
        }
        values = ", ".join(f"any_value({name})" for name in KEY_COLUMNS[1:])
        cur.execute(f"select group_id, {values} from runs where {_OF_CHUNK} group by group_id", bounds)
        return rows, [dict(zip(KEY_COLUMNS, row, strict=True)) for row in cur.fetchall()]


def _store_chunk(cur: DuckDBPyConnection, chunk: list[str], rows: Rows) -> None:
    tables, groups = rows
    clear_runs(cur, chunk)
    for table, columns in TABLES.items():
        cur.register("incoming", tables[table])
        cur.execute(f"insert into {table} ({', '.join(columns)}) select * from incoming")
        cur.unregister("incoming")
    mark_due(cur, groups)
