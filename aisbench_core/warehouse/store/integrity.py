"""Whether a warehouse holds what it should: every row readable, each run whole and once, equal to its folder, and no
cell changed since it was recorded."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

import duckdb

from aisbench_core.errors import WarehouseError
from aisbench_core.model import RunRecord
from aisbench_core.rulesets.shelf import shipped
from aisbench_core.warehouse.answers import group_statistics
from aisbench_core.warehouse.records.rows import Rows, rows_of
from aisbench_core.warehouse.store import recompute
from aisbench_core.warehouse.store.connection import Connection
from aisbench_core.warehouse.store.lake import Lake
from aisbench_core.warehouse.store.recompute import Progress
from aisbench_core.warehouse.store.schema import RUNS, TABLES
from aisbench_core.warehouse.validity.judging import Judge, Verdict

_ELSEWHERE = ("runs", "remarks")
"""Tables that are not counted: of a run there is one row, and remarks may be made where its folder is not."""

REBUILD = "run `aisbench warehouse rebuild`"

_COUNTS = (
    ("runs", "is there {count} times", "select run_id, count(*) from runs group by run_id having count(*) > 1"),
    ("results", "has {count} results", "select run_id, count(*) from results group by run_id having count(*) > 1"),
    ("results", "has no result row", "select run_id, 0 from runs where run_id not in (select run_id from results)"),
    (
        "rank_results",
        "has fewer cards than its result counted",
        """select run_id, count(rank) from results join runs using (run_id) left join rank_results using (run_id)
        group by run_id, ranks_found, origin
        having count(rank) < coalesce(ranks_found, 0) and (count(rank) > 0 or origin = 'launched')""",
    ),
)
"""Table, what is wrong, and the question that finds such runs. The cards of a run that another console exported stayed
there; that none of it is gone since, its hash says."""


@dataclass(frozen=True, slots=True)
class Damage:
    """One thing that is not as it should be: where, what, and what to do."""

    where: str
    sentence: str
    hint: str


@dataclass(frozen=True, slots=True)
class IntegrityReport:
    """How much was looked at, and what was found wrong: nothing, as a rule."""

    runs: int
    rows: int
    compared: int
    damages: tuple[Damage, ...]


def check(
    store: Connection | Lake,
    records: Iterable[RunRecord],
    loose_files: Iterable[str],
    progress: Progress,
    *,
    mend: bool = False,
) -> IntegrityReport:
    """Read every cell, count rows per run and runs per group, compute again what follows from other cells, the hashes
    of the records too, and compare with the records in the runs' folders.

    `mend`: first count anew what is kept of each group, which costs nothing but the counting."""
    if mend:
        store.write(group_statistics.count_anew)
    with store.cursor() as cur:
        damages = list(_unreadable(cur))
        if damages:
            return IntegrityReport(0, 0, 0, tuple(damages))
        rows = sum(_count(cur, table) for table in TABLES)
        damages += [*_miscounted(cur), *_orphans(cur), *_wrong_standings(cur)]
        kept = _kept(cur)
    changed = list(recompute.differences(store, progress))
    compared = 0
    judge = Judge(shipped())  # any will do: verdicts are not compared
    doubtful = {each.run_id for each in changed}
    for record in records:
        compared += 1
        damages += _compared(store, record, kept, judge, doubtful)
    damages += map(_changed, changed)
    damages += [Damage(file, "belongs to nothing", "run `aisbench warehouse compact`") for file in loose_files]
    return IntegrityReport(len(kept), rows, compared, tuple(damages))


def _changed(found: recompute.ColumnMismatch) -> Damage:
    where = f"{found.table}, run {found.run_id}"
    if found.columns == (recompute.HASH,):
        sentence = f"its cells do not give its {recompute.HASH}: one of them was changed since it was recorded"
    else:
        sentence = f"does not follow from the run's other cells: {', '.join(found.columns)}"
    return Damage(where, sentence, REBUILD)


def _unreadable(cur: duckdb.DuckDBPyConnection) -> Iterator[Damage]:
    for table, columns in TABLES.items():
        try:
            cur.execute(f"select bit_xor(hash({', '.join(columns)})) from {table}").fetchall()
        except (duckdb.Error, WarehouseError) as error:
            said = str(error).splitlines()[0]
            yield Damage(table, f"cannot be read: {said}", f"bring the file back, or {REBUILD} on every machine")
            return  # the transaction is lost, too


def _count(cur: duckdb.DuckDBPyConnection, table: str) -> int:
    return int(cur.execute(f"select count(*) from {table}").fetchall()[0][0])


def _miscounted(cur: duckdb.DuckDBPyConnection) -> Iterator[Damage]:
    for table, sentence, question in _COUNTS:
        for run_id, count in cur.execute(question).fetchall():
            yield Damage(f"{table}, run {run_id}", sentence.format(count=count), REBUILD)


def _orphans(cur: duckdb.DuckDBPyConnection) -> Iterator[Damage]:
    for table in (name for name in TABLES if name != "remarks"):  # they may wait for a run that is imported again
        asked = f"select distinct run_id from {table} where run_id not in (select run_id from runs)"
        for (run_id,) in cur.execute(asked).fetchall():
            yield Damage(f"{table}, run {run_id}", "has rows, but there is no such run", REBUILD)


def _wrong_standings(cur: duckdb.DuckDBPyConnection) -> Iterator[Damage]:
    for group, columns in group_statistics.wrong(cur):
        sentence = f"what is kept of this group is not what its runs say: {columns}"
        yield Damage(f"standings, {group}", sentence, "run `aisbench warehouse check --mend`")


def _kept(cur: duckdb.DuckDBPyConnection) -> dict[str, tuple[object, ...]]:
    """What is compared with the folders, by run_id: the hash of run, result and cards, then rows per table."""
    counts = ", ".join(
        f"(select count(*) from {table} where {table}.run_id = runs.run_id)"
        for table in TABLES
        if table not in _ELSEWHERE
    )
    cur.execute(f"select run_id, record_sha256, {counts} from runs")
    return {run_id: tuple(rest) for run_id, *rest in cur.fetchall()}


def _compared(
    store: Connection | Lake,
    record: RunRecord,
    kept: dict[str, tuple[object, ...]],
    judge: Judge,
    doubtful: Collection[str],
) -> Iterator[Damage]:
    run_id = record.run.run_id
    where = f"run {run_id}"
    if run_id not in kept:
        yield Damage(where, "is in its folder, but not in the warehouse", REBUILD)
        return
    rows = rows_of(record, judge)
    sha256 = rows["runs"][0][list(RUNS).index("record_sha256")]
    counts = [len(rows[table]) for table in TABLES if table not in _ELSEWHERE]
    if kept[run_id] == (sha256, *counts) and run_id not in doubtful:
        return
    differing = ", ".join(_differing(store, run_id, rows))
    if differing:
        yield Damage(where, f"differs from what its folder says: {differing}", REBUILD)


_OF_OTHERS = {
    "runs": {"tags", "note", "group_id", "detail_data"},
    "results": {*Verdict._fields, "problems_data"},
}
"""What people remark, and another ruleset decides, where the folder is not; and what older versions did not store."""


def _differing(store: Connection | Lake, run_id: str, rows: Rows) -> Iterator[str]:
    """Columns of a run's row, and tables of several rows, that are not as in its folder."""
    with store.cursor() as cur:
        for table, columns in TABLES.items():
            if table == "remarks":
                continue
            asked = f"select {', '.join(columns)} from {table} where run_id = ?"
            stored, told = cur.execute(asked, [run_id]).fetchall(), [tuple(row) for row in rows[table]]
            if table in _OF_OTHERS and len(stored) == len(told) == 1:
                pairs = zip(columns, stored[0], told[0], strict=True)
                yield from (name for name, here, there in pairs if here != there and name not in _OF_OTHERS[table])
            elif sorted(map(repr, stored)) != sorted(map(repr, told)):
                yield table
