"""Stores records: what was known of a run before is replaced, in one transaction."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from duckdb import DuckDBPyConnection

from aisbench_core.model import RunRecord
from aisbench_core.warehouse.connection import Connection
from aisbench_core.warehouse.judging import Judge
from aisbench_core.warehouse.lake import Lake
from aisbench_core.warehouse.remarks import with_known
from aisbench_core.warehouse.rows import Rows, rows_of
from aisbench_core.warehouse.schema import RUNS, TABLES, insert
from aisbench_core.warehouse.standings import MOST_DUE, mark, mark_of_runs, settle

CHUNK = 200
"""Runs per transaction of a rebuild: large enough for speed, small enough that others get their turn."""


def record(connection: Connection | Lake, run_record: RunRecord, judge: Judge) -> None:
    """Store one run, in place of what was stored of it before."""
    connection.write(lambda cur: _replace_one(cur, run_record, judge))


def record_many(connection: Connection | Lake, records: Iterable[RunRecord], judge: Judge) -> int:
    """Store many runs, CHUNK of them at a time, and return how many.

    Whoever looks meanwhile, or after a crash, finds whole chunks."""
    count = 0
    for chunk in _chunks(records):
        connection.write(lambda cur, chunk=chunk: _replace(cur, chunk, judge))  # type: ignore[misc]  # mypy cannot infer it
        count += len(chunk)
    connection.write(settle)
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
    connection.write(settle)
    return len(known)


def _chunks(records: Iterable[RunRecord]) -> Iterator[list[RunRecord]]:
    remaining = iter(records)
    while chunk := list(islice(remaining, CHUNK)):
        yield chunk


def _replace_one(cur: DuckDBPyConnection, run_record: RunRecord, judge: Judge) -> None:
    _replace(cur, [run_record], judge)
    settle(cur, MOST_DUE)


def _replace(cur: DuckDBPyConnection, records: Sequence[RunRecord], judge: Judge) -> None:
    newest = {one.run.run_id: one for one in records}
    every_row = [rows_of(one, judge) for one in with_known(cur, newest.values())]
    store(cur, list(newest), {table: [row for rows in every_row for row in rows[table]] for table in TABLES})


def store(cur: DuckDBPyConnection, run_ids: list[str], rows: Rows) -> None:
    """Put these rows in place of all that is stored of the runs."""
    _forget(cur, run_ids)
    for table in TABLES:
        insert(cur, table, rows[table])
    mark(cur, [dict(zip(RUNS, row, strict=True)) for row in rows["runs"]])


def _forget(cur: DuckDBPyConnection, run_ids: list[str]) -> None:
    cur.execute(
        """select 1 from runs where run_id in (select unnest($ids::VARCHAR[]))
        union all select 1 from remarks where run_id in (select unnest($ids::VARCHAR[])) limit 1""",
        {"ids": run_ids},
    )
    if cur.fetchone() is None:  # the usual case: a run is recorded once, and remarked of afterwards
        return
    mark_of_runs(cur, run_ids)
    for table in TABLES:
        cur.execute(f"delete from {table} where run_id in (select unnest(?::VARCHAR[]))", [run_ids])  # noqa: S608


def _keep_only(cur: DuckDBPyConnection, run_ids: Iterable[str]) -> None:
    known = list(run_ids)
    others = "run_id not in (select unnest(?::VARCHAR[]))"
    cur.execute(f"insert into standings_due select distinct group_id from runs where {others}", [known])  # noqa: S608
    for table in TABLES:
        cur.execute(f"delete from {table} where {others}", [known])  # noqa: S608
