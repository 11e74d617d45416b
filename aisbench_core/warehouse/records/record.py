"""Stores records of runs, each in place of what was stored of the run before."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice

from duckdb import DuckDBPyConnection

from aisbench_core.model import RunRecord, columns
from aisbench_core.warehouse.queries.group_statistics import mark_due, mark_due_by_id, settle_groups
from aisbench_core.warehouse.records.annotations import with_stored
from aisbench_core.warehouse.records.rows import Rows, rows_of
from aisbench_core.warehouse.records.runs import filter_recorded
from aisbench_core.warehouse.tables.schema import RUNS, TABLES, build_in_condition, insert_rows
from aisbench_core.warehouse.tables.store import Store
from aisbench_core.warehouse.validity.evaluation import Evaluator

# Runs per transaction of a rebuild: large enough for speed, small enough that others get their turn.
CHUNK = 2000


def record_many(store: Store, records: Iterable[RunRecord], evaluator: Evaluator) -> int:
    """Store many runs, CHUNK of them per transaction, and return how many."""
    count = sum(len(run_ids) for run_ids in _write_chunks(store, records, evaluator))
    store.write(settle_groups)
    return count


def record_new(store: Store, records: Sequence[RunRecord], evaluator: Evaluator) -> frozenset[str]:
    """Store those of the runs that are not stored yet, in one transaction, and return their ids.

    If several machines store the same run at once, only one of them gets its id back."""
    rows = _build_rows(records, evaluator)

    def work(cur: DuckDBPyConnection) -> list[RunRecord]:
        existing = filter_recorded(cur, [record.run.run_id for record in records])
        new = [record for record in records if record.run.run_id not in existing]
        if new:
            replace_runs(cur, new, _build_rows(new, evaluator) if existing else rows, evaluator)
        return new

    new = store.write(work) if records else []
    store.write(settle_groups)
    return frozenset(record.run.run_id for record in new)


def has_same_hash(cur: DuckDBPyConnection, record: RunRecord, evaluator: Evaluator) -> bool | None:
    """Whether what is stored of a run has the hash of this record; None if nothing is stored."""
    found = cur.execute("select record_sha256 from runs where run_id = ?", [record.run.run_id]).fetchone()
    return bool(found[0] == sha256_of_rows(rows_of(record, evaluator))) if found else None


_LAUNCHED = (
    "run_id",
    "job_id",
    "workload",
    "node_count",
    "cards_per_node",
    "mode",
    "state",
    "created_at",
    "created_by",
)
_MEASURED = tuple(key.stored_name for key in columns.KEYS)


def has_same_measurements(cur: DuckDBPyConnection, record: RunRecord, evaluator: Evaluator) -> bool:
    """Whether what is stored of a run was launched and measured as in this record, as far as both know it."""
    rows, run_id = rows_of(record, evaluator), record.run.run_id
    for table, names in (("runs", _LAUNCHED), ("results", _MEASURED)):
        stored = cur.execute(f"select {', '.join(names)} from {table} where run_id = ?", [run_id]).fetchone()
        [cells] = (dict(zip(TABLES[table], row, strict=True)) for row in rows[table])
        if not stored or any(
            None not in (old, cells[name]) and old != cells[name] for name, old in zip(names, stored, strict=True)
        ):
            return False
    cards = cur.execute("from rank_results where run_id = ?", [run_id]).fetchall()
    return sorted(map(tuple, rows["rank_results"])) == sorted(cards)


def sha256_of_rows(rows: Rows) -> object:
    """The hash in the rows of one record."""
    return rows["runs"][0][list(RUNS).index("record_sha256")]


def rebuild(store: Store, records: Iterable[RunRecord], evaluator: Evaluator, keep: Iterable[str] = ()) -> int:
    """Make the content equal to `records`; returns how many runs that are. Runs to `keep` may stay as they are.

    Runs are replaced chunk by chunk, and others removed at the end, so that readers find every run meanwhile, and after
    a crash."""
    written = {run_id for run_ids in _write_chunks(store, records, evaluator) for run_id in run_ids}
    remaining = list(written.union(keep))  # before the transaction, which may be carried out twice

    def remove_others(cur: DuckDBPyConnection) -> None:
        others = "run_id not in (select unnest(?::VARCHAR[]))"
        cur.execute(f"insert into group_statistics_due select distinct group_id from runs where {others}", [remaining])
        for table in TABLES:
            cur.execute(f"delete from {table} where {others}", [remaining])

    store.write(remove_others)
    store.write(settle_groups)
    return len(written)


def _write_chunks(store: Store, records: Iterable[RunRecord], evaluator: Evaluator) -> Iterator[list[str]]:
    """The ids of each chunk once it is stored."""
    # DuckDB releases the GIL, so the rows of the next chunk are computed while one is written.
    with ThreadPoolExecutor(1) as writer:
        last: Future[list[str]] | None = None
        remaining = iter(records)
        while some := list(islice(remaining, CHUNK)):
            chunk = list({record.run.run_id: record for record in some}.values())
            rows = _build_rows(chunk, evaluator)
            if last:
                yield last.result()
            last = writer.submit(_write_chunk, store, chunk, rows, evaluator)
        if last:
            yield last.result()


def _write_chunk(store: Store, records: Sequence[RunRecord], rows: Rows, evaluator: Evaluator) -> list[str]:
    store.write(lambda cur: replace_runs(cur, records, rows, evaluator))
    return [record.run.run_id for record in records]


def replace_runs(cur: DuckDBPyConnection, records: Sequence[RunRecord], rows: Rows, evaluator: Evaluator) -> None:
    """Store these runs in place of what was stored of them before. `rows`: of the records without annotations that are
    only in the warehouse."""
    merged = with_stored(cur, records)
    if any(new is not old for new, old in zip(merged, records, strict=True)):
        rows = _build_rows(merged, evaluator)
    clear_runs(cur, [record.run.run_id for record in records])
    for table in TABLES:
        insert_rows(cur, table, rows[table])
    mark_due(cur, [dict(zip(RUNS, row, strict=True)) for row in rows["runs"]])


def _build_rows(records: Sequence[RunRecord], evaluator: Evaluator) -> Rows:
    by_record = [rows_of(record, evaluator) for record in records]
    return {table: [row for rows in by_record for row in rows[table]] for table in TABLES}


def clear_runs(cur: DuckDBPyConnection, run_ids: list[str]) -> None:
    """Remove what is stored of these runs."""
    condition, parameters = build_in_condition("run_id", run_ids)
    query = f"select 1 from runs where {condition} union all select 1 from annotations where {condition} limit 1"
    if cur.execute(query, parameters * 2).fetchall():  # usually nothing: deleting from seven tables would take longer
        delete_runs(cur, run_ids)


def delete_runs(cur: DuckDBPyConnection, run_ids: list[str], keep: Collection[str] = ()) -> None:
    """Delete all rows of these runs, except in the tables to `keep`."""
    condition, parameters = build_in_condition("run_id", run_ids)
    mark_due_by_id(cur, run_ids)
    for table in TABLES:
        if table not in keep:
            cur.execute(f"delete from {table} where {condition}", parameters)
