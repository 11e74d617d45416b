"""Whether a warehouse holds what it should: every row readable, each run whole and once, equal to its folder, and no
cell changed since it was recorded."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

import duckdb

from aisbench_core.errors import WarehouseError
from aisbench_core.messages import Hint, Message
from aisbench_core.model import RunRecord
from aisbench_core.rulesets.ruleset import shipped
from aisbench_core.warehouse.answers import group_statistics
from aisbench_core.warehouse.records.rows import Rows, rows_of
from aisbench_core.warehouse.store import Progress, Store, recompute
from aisbench_core.warehouse.store.schema import RUNS, TABLES
from aisbench_core.warehouse.validity.evaluation import Evaluation, Evaluator

# Tables whose rows per run are compared with the folder: runs has one, and remarks may be made on other machines.
_COUNTED = tuple(table for table in TABLES if table not in ("runs", "remarks"))

REBUILD = Message("run `aisbench warehouse rebuild`")

# Table, what is wrong, and the query for such runs.
_MISCOUNTS: Sequence[tuple[str, Callable[[int], Message], str]] = (
    (
        "runs",
        lambda count: Message("is there {count} times", count=count),
        "select run_id, count(*) from runs group by run_id having count(*) > 1",
    ),
    (
        "results",
        lambda count: Message("has {count} results", count=count),
        "select run_id, count(*) from results group by run_id having count(*) > 1",
    ),
    (
        "results",
        lambda _: Message("has no result row"),
        "select run_id, 0 from runs where run_id not in (select run_id from results)",
    ),
    (
        # A run that another console exported has no cards here; that none is missing since, its hash tells.
        "rank_results",
        lambda _: Message("has fewer cards than its result counted"),
        """select run_id, count(rank) from results join runs using (run_id) left join rank_results using (run_id)
        group by run_id, ranks_found, origin
        having count(rank) < coalesce(ranks_found, 0) and (count(rank) > 0 or origin = 'launched')""",
    ),
)


@dataclass(frozen=True, slots=True)
class Damage:
    """One thing that is not as it should be: where, what, and how to repair it."""

    where: str
    sentence: Message
    hint: Hint


@dataclass(frozen=True, slots=True)
class IntegrityReport:
    """How much was checked, and what is damaged."""

    runs: int
    rows: int
    compared: int
    damages: tuple[Damage, ...]


def check(
    store: Store, records: Iterable[RunRecord], loose_files: Iterable[str], on_progress: Progress, *, mend: bool = False
) -> IntegrityReport:
    """Read every cell, count rows per run and runs per group, recompute hashes and whatever else follows from other
    cells, and compare with the records in the runs' folders.

    `mend`: first compute the group statistics anew."""
    if mend:
        store.write(group_statistics.recount)
    with store.cursor() as cur:
        damages = list(_unreadable(cur))
        if damages:
            return IntegrityReport(0, 0, 0, tuple(damages))
        rows = sum(int(cur.execute(f"select count(*) from {table}").fetchall()[0][0]) for table in TABLES)
        damages += [*_miscounted(cur), *_orphans(cur), *_wrong_statistics(cur)]
        stored = _hashes_and_counts(cur)
    changed = list(recompute.differences(store, on_progress))
    changed_ids = {mismatch.run_id for mismatch in changed}
    evaluator = Evaluator(shipped())  # any will do: verdicts are not compared
    compared = 0
    for record in records:
        compared += 1
        damages += _compared(store, record, stored, evaluator, changed_ids)
    damages += map(_changed, changed)
    loose = Message("belongs to nothing"), Message("run `aisbench warehouse compact`")
    damages += [Damage(file, *loose) for file in loose_files]
    return IntegrityReport(len(stored), rows, compared, tuple(damages))


def _unreadable(cur: duckdb.DuckDBPyConnection) -> Iterator[Damage]:
    for table, columns in TABLES.items():
        try:
            cur.execute(f"select bit_xor(hash({', '.join(columns)})) from {table}").fetchall()
        except (duckdb.Error, WarehouseError) as error:
            sentence = Message("cannot be read: {reason}", reason=str(error).splitlines()[0])
            yield Damage(
                table, sentence, Message("bring the file back, or {rebuild} on every machine", rebuild=REBUILD)
            )
            return  # DuckDB has aborted the transaction, so no other table can be read either


def _miscounted(cur: duckdb.DuckDBPyConnection) -> Iterator[Damage]:
    for table, sentence, query in _MISCOUNTS:
        for run_id, count in cur.execute(query).fetchall():
            yield Damage(f"{table}, run {run_id}", sentence(count), REBUILD)


def _orphans(cur: duckdb.DuckDBPyConnection) -> Iterator[Damage]:
    for table in (name for name in TABLES if name != "remarks"):  # they may wait for a run that is imported again
        query = f"select distinct run_id from {table} where run_id not in (select run_id from runs)"
        for (run_id,) in cur.execute(query).fetchall():
            yield Damage(f"{table}, run {run_id}", Message("has rows, but there is no such run"), REBUILD)


def _wrong_statistics(cur: duckdb.DuckDBPyConnection) -> Iterator[Damage]:
    for group, columns in group_statistics.differences(cur):
        sentence = Message("the group's statistics do not follow from its runs: {columns}", columns=columns)
        yield Damage(f"standings, {group}", sentence, Message("run `aisbench warehouse check --mend`"))


def _hashes_and_counts(cur: duckdb.DuckDBPyConnection) -> dict[str, tuple[object, ...]]:
    """By run_id, the hash over run, result and cards, then rows per table: equal ones need no comparison by cell."""
    counts = ", ".join(f"(select count(*) from {table} where {table}.run_id = runs.run_id)" for table in _COUNTED)
    cur.execute(f"select run_id, record_sha256, {counts} from runs")
    return {run_id: tuple(rest) for run_id, *rest in cur.fetchall()}


def _compared(
    store: Store,
    record: RunRecord,
    stored: dict[str, tuple[object, ...]],
    evaluator: Evaluator,
    changed_ids: Collection[str],
) -> Iterator[Damage]:
    run_id = record.run.run_id
    where = f"run {run_id}"
    if run_id not in stored:
        yield Damage(where, Message("is in its folder, but not in the warehouse"), REBUILD)
        return
    rows = rows_of(record, evaluator)
    sha256 = rows["runs"][0][list(RUNS).index("record_sha256")]
    if stored[run_id] == (sha256, *(len(rows[table]) for table in _COUNTED)) and run_id not in changed_ids:
        return
    if names := ", ".join(_differing(store, run_id, rows)):
        yield Damage(where, Message("differs from what its folder says: {names}", names=names), REBUILD)


# Columns that annotations, other rulesets or later versions decide, so that the folder may say something else.
_NOT_IN_FOLDER = {
    "runs": {"tags", "note", "group_id", "detail_data"},
    "results": {*Evaluation._fields, "problems_data"},
}


def _differing(store: Store, run_id: str, rows: Rows) -> Iterator[str]:
    """Columns of a run's row, and tables of several rows, that are not as in its folder."""
    with store.cursor() as cur:
        for table, columns in TABLES.items():
            if table == "remarks":
                continue
            query = f"select {', '.join(columns)} from {table} where run_id = ?"
            stored, expected = cur.execute(query, [run_id]).fetchall(), [tuple(row) for row in rows[table]]
            if table in _NOT_IN_FOLDER and len(stored) == len(expected) == 1:
                pairs = zip(columns, stored[0], expected[0], strict=True)
                yield from (name for name, old, new in pairs if old != new and name not in _NOT_IN_FOLDER[table])
            elif sorted(map(repr, stored)) != sorted(map(repr, expected)):
                yield table


def _changed(mismatch: recompute.ColumnMismatch) -> Damage:
    where = f"{mismatch.table}, run {mismatch.run_id}"
    if mismatch.columns == (recompute.HASH,):
        sentence = Message(
            "its cells do not give its {column}: one of them was changed since it was recorded", column=recompute.HASH
        )
    else:
        sentence = Message("does not follow from the run's other cells: {names}", names=", ".join(mismatch.columns))
    return Damage(where, sentence, REBUILD)
