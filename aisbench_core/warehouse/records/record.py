"""Stores records: what was known of a run before is replaced, in one transaction."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice

from duckdb import DuckDBPyConnection

from aisbench_core.model import RunRecord
from aisbench_core.warehouse.answers.group_statistics import mark, mark_of_runs, settle
from aisbench_core.warehouse.records.annotations import with_known
from aisbench_core.warehouse.records.rows import Rows, rows_of
from aisbench_core.warehouse.records.runs import known
from aisbench_core.warehouse.store.connection import Connection
from aisbench_core.warehouse.store.lake import Lake
from aisbench_core.warehouse.store.schema import RUNS, TABLES, among, insert
from aisbench_core.warehouse.validity.judging import Judge

CHUNK = 2000
"""Runs per transaction of a rebuild: large enough for speed, small enough that others get their turn."""


def record_many(connection: Connection | Lake, records: Iterable[RunRecord], judge: Judge) -> int:
    """Store many runs, CHUNK of them at a time, and return how many.

    Whoever looks meanwhile, or after a crash, finds whole chunks."""
    count = sum(len(run_ids) for run_ids in _stored(connection, records, judge))
    connection.write(settle)
    return count


def record_new(connection: Connection | Lake, records: Sequence[RunRecord], judge: Judge) -> frozenset[str]:
    """Store those of the runs that are not stored yet, in one transaction, and return their ids.

    Of several machines that store the same runs at once only one is told that they are new."""
    rows = _rows(records, judge)

    def work(cur: DuckDBPyConnection) -> list[RunRecord]:
        here = known(cur, [one.run.run_id for one in records])
        new = [one for one in records if one.run.run_id not in here]
        if new:
            replace(cur, new, _rows(new, judge) if here else rows, judge)
        return new

    new = connection.write(work) if records else []
    connection.write(settle)
    return frozenset(one.run.run_id for one in new)


def rebuild(
    connection: Connection | Lake, records: Iterable[RunRecord], judge: Judge, others: Iterable[str] = ()
) -> int:
    """Make the content equal to `records`; returns how many runs that are. Runs among `others` may stay as they are.

    Runs are replaced chunk by chunk and unknown ones removed at the end, so that whoever looks meanwhile, or after a
    crash, still finds every run.
    """
    stored = {run_id for run_ids in _stored(connection, records, judge) for run_id in run_ids}
    kept = stored.union(others)  # asked once: a transaction may be carried out again
    connection.write(lambda cur: _keep_only(cur, kept))
    connection.write(settle)
    return len(stored)


def _stored(connection: Connection | Lake, records: Iterable[RunRecord], judge: Judge) -> Iterator[list[str]]:
    """The ids of each chunk that was stored. The rows of the next are made while one is being written."""
    with ThreadPoolExecutor(1) as writer:
        last: Future[list[str]] | None = None
        for chunk in _chunks(records):
            rows = _rows(chunk, judge)
            if last:
                yield last.result()
            last = writer.submit(_write, connection, chunk, rows, judge)
        if last:
            yield last.result()


def _write(connection: Connection | Lake, records: Sequence[RunRecord], rows: Rows, judge: Judge) -> list[str]:
    connection.write(lambda cur: replace(cur, records, rows, judge))
    return [one.run.run_id for one in records]


def replace(cur: DuckDBPyConnection, records: Sequence[RunRecord], rows: Rows, judge: Judge) -> None:
    """Store these runs, in place of what was stored of them before.

    `rows` are those of the records, as long as nobody has remarked on any of the runs."""
    whole = with_known(cur, records)
    remarked = any(now is not before for now, before in zip(whole, records, strict=True))
    store(cur, [one.run.run_id for one in records], _rows(whole, judge) if remarked else rows)


def _chunks(records: Iterable[RunRecord]) -> Iterator[list[RunRecord]]:
    """CHUNK records at a time, of each run the last."""
    remaining = iter(records)
    while chunk := list(islice(remaining, CHUNK)):
        yield list({one.run.run_id: one for one in chunk}.values())


def _rows(records: Sequence[RunRecord], judge: Judge) -> Rows:
    every_row = [rows_of(one, judge) for one in records]
    return {table: [row for rows in every_row for row in rows[table]] for table in TABLES}


def store(cur: DuckDBPyConnection, run_ids: list[str], rows: Rows) -> None:
    """Put these rows in place of all that is stored of the runs."""
    clear(cur, run_ids)
    for table in TABLES:
        insert(cur, table, rows[table])
    mark(cur, [dict(zip(RUNS, row, strict=True)) for row in rows["runs"]])


def clear(cur: DuckDBPyConnection, run_ids: list[str]) -> None:
    """Remove what is stored of these runs, if anything is."""
    chosen, parameters = among("run_id", run_ids)
    asked = f"select 1 from runs where {chosen} union all select 1 from remarks where {chosen} limit 1"
    if not cur.execute(asked, parameters * 2).fetchall():  # the usual case: recorded once, remarked of afterwards
        return
    forget(cur, run_ids)


def forget(cur: DuckDBPyConnection, run_ids: list[str], keep: Collection[str] = ()) -> None:
    """Remove everything that is stored of these runs, but for their rows in the tables to `keep`."""
    chosen, parameters = among("run_id", run_ids)
    mark_of_runs(cur, run_ids)
    for table in TABLES:
        if table not in keep:
            cur.execute(f"delete from {table} where {chosen}", parameters)


def _keep_only(cur: DuckDBPyConnection, run_ids: Iterable[str]) -> None:
    known = list(run_ids)
    others = "run_id not in (select unnest(?::VARCHAR[]))"
    cur.execute(f"insert into standings_due select distinct group_id from runs where {others}", [known])
    for table in TABLES:
        cur.execute(f"delete from {table} where {others}", [known])
