"""Copies everything from one warehouse into another, and believes it only after comparing both."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from duckdb import DuckDBPyConnection

from aisbench_core.errors import WarehouseError
from aisbench_core.warehouse import baselines, remarks, saved_views
from aisbench_core.warehouse.connection import Connection
from aisbench_core.warehouse.lake import Lake
from aisbench_core.warehouse.record import store
from aisbench_core.warehouse.schema import TABLES
from aisbench_core.warehouse.standings import settle

PASSES = 3
"""Runs may be recorded while others are copied; those are copied in another pass."""

MOST_RUNS, MOST_ROWS = 200, 20_000
"""What is copied in one transaction, at most (one run is always whole): others want their turn."""

Told = Callable[[int, int], None]
"""Is told how many of how many runs were copied."""

Sum = tuple[int, int]
"""How many rows, and the sum of their hashes."""

Contents = Mapping[str, tuple[Sum, ...]]
"""By run_id: the sum of each table. Equal sums mean equal rows, whatever their order."""


@dataclass(frozen=True, slots=True)
class Moved:
    """How many runs and rows were compared and found equal, and how many runs had to be copied for that."""

    runs: int
    rows: int
    copied: int


def move(source: Connection | Lake, target: Connection | Lake, told: Told) -> Moved:
    """Copy every run that the target does not hold in the same words, and what people marked and saved.

    Other runs of the target stay. It can be repeated after it was interrupted: what is equal is not copied again.
    Raises WarehouseError when the two are not equal in the end."""
    copied: set[str] = set()
    baselines.copy(source, target)
    saved_views.copy(source, target)
    for _ in range(PASSES):
        remarks.exchange(source, target)
        there = _contents(source)
        here = _contents(target)
        differing = [run_id for run_id, sums in there.items() if here.get(run_id) != sums]
        if not differing:
            rows = sum(count for sums in there.values() for count, _ in sums)
            return Moved(len(there), rows, len(copied))
        _copy(source, target, differing, there, told)
        copied.update(differing)
    raise WarehouseError(
        f"{len(differing)} runs still differ after {PASSES} passes, {differing[0]} among them",
        "stop recording for a while and run the command again; nothing was removed",
    )


def _contents(store: Connection | Lake) -> Contents:
    with store.cursor() as cur:
        found = {run_id: [(0, 0)] * len(TABLES) for (run_id,) in cur.execute("select run_id from runs").fetchall()}
        for place, (table, columns) in enumerate(TABLES.items()):
            for run_id, count, total in cur.execute(_sums(table, columns)).fetchall():
                if run_id in found:
                    found[run_id][place] = (count, total)
    return {run_id: tuple(sums) for run_id, sums in found.items()}


def _sums(table: str, columns: Mapping[str, str]) -> str:
    # JSON is text here: a type of its own could be hashed differently by another store.
    values = ", ".join(f"{name}::VARCHAR" if kind == "JSON" else name for name, kind in columns.items())
    return f"select run_id, count(*), sum(hash({values})::HUGEINT) from {table} group by run_id"  # noqa: S608


def _copy(
    source: Connection | Lake, target: Connection | Lake, run_ids: Sequence[str], sizes: Contents, told: Told
) -> None:
    done = 0
    for chunk in _chunks(run_ids, sizes):
        with source.cursor() as cur:
            rows = {table: _rows(cur, table, columns, chunk) for table, columns in TABLES.items()}
        target.write(lambda cur, chunk=chunk, rows=rows: store(cur, chunk, rows))  # type: ignore[misc]
        done += len(chunk)
        told(done, len(run_ids))
    target.write(settle)


def _chunks(run_ids: Sequence[str], sizes: Contents) -> Iterator[list[str]]:
    chunk: list[str] = []
    rows = 0
    for run_id in run_ids:
        size = sum(count for count, _ in sizes[run_id])
        if chunk and (len(chunk) == MOST_RUNS or rows + size > MOST_ROWS):
            yield chunk
            chunk, rows = [], 0
        chunk.append(run_id)
        rows += size
    if chunk:
        yield chunk


def _rows(
    cur: DuckDBPyConnection, table: str, columns: Mapping[str, str], run_ids: Sequence[str]
) -> list[tuple[object, ...]]:
    names = ", ".join(columns)
    cur.execute(f"select {names} from {table} where run_id in (select unnest(?::VARCHAR[]))", [list(run_ids)])  # noqa: S608
    return cur.fetchall()
