"""Stores records: what was known of a run before is replaced, in one transaction."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from duckdb import DuckDBPyConnection

from aisbench_core.model import RunRecord
from aisbench_core.warehouse.connection import Connection
from aisbench_core.warehouse.judging import Judge
from aisbench_core.warehouse.lake import Lake
from aisbench_core.warehouse.rows import rows_of
from aisbench_core.warehouse.schema import TABLES, insert

CHUNK = 200
"""Runs per transaction of a rebuild: large enough for speed, small enough that others get their turn."""


def record(connection: Connection | Lake, run_record: RunRecord, judge: Judge) -> None:
    """Store one run, in place of what was stored of it before."""
    connection.write(lambda cur: _replace(cur, [run_record], judge))


def record_many(connection: Connection | Lake, records: Iterable[RunRecord], judge: Judge) -> int:
    """Store many runs, CHUNK of them at a time, and return how many.

    Whoever looks meanwhile, or after a crash, finds whole chunks."""
    count = 0
    for chunk in _chunks(records):
        connection.write(lambda cur, chunk=chunk: _replace(cur, chunk, judge))  # type: ignore[misc]  # mypy cannot infer it
        count += len(chunk)
    return count


def rebuild(connection: Connection | Lake, records: Iterable[RunRecord], judge: Judge) -> int:
    """Make the content equal to `records`; returns how many runs that are.

    Runs are replaced chunk by chunk and unknown ones removed at the end, so that whoever looks meanwhile, or after a
    crash, still finds every run.
    """
    known: set[str] = set()
    for chunk in _chunks(records):
        connection.write(lambda cur, chunk=chunk: _replace(cur, chunk, judge))  # type: ignore[misc]  # mypy cannot infer it
        known.update(one.run.run_id for one in chunk)
    connection.write(lambda cur: _keep_only(cur, known))
    return len(known)


def _chunks(records: Iterable[RunRecord]) -> Iterator[list[RunRecord]]:
    remaining = iter(records)
    while chunk := list(islice(remaining, CHUNK)):
        yield chunk


def _replace(cur: DuckDBPyConnection, records: Sequence[RunRecord], judge: Judge) -> None:
    newest = {one.run.run_id: one for one in records}
    forget(cur, list(newest))
    every_row = [rows_of(one, judge) for one in newest.values()]
    for table in TABLES:
        insert(cur, table, [row for rows in every_row for row in rows[table]])


def forget(cur: DuckDBPyConnection, run_ids: list[str]) -> None:
    cur.execute("select 1 from runs where list_contains(?::VARCHAR[], run_id) limit 1", [run_ids])
    if cur.fetchone() is None:  # the usual case: a run is recorded once
        return
    for table in TABLES:
        cur.execute(f"delete from {table} where list_contains(?::VARCHAR[], run_id)", [run_ids])  # noqa: S608


def _keep_only(cur: DuckDBPyConnection, run_ids: Iterable[str]) -> None:
    known = list(run_ids)
    for table in TABLES:
        cur.execute(f"delete from {table} where run_id not in (select unnest(?::VARCHAR[]))", [known])  # noqa: S608
