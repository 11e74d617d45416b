"""Whether a warehouse holds what it should: every row readable, each run whole and once, equal to its folder."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import duckdb

from aisbench_core.errors import WarehouseError
from aisbench_core.model import RunRecord
from aisbench_core.rulesets.shelf import shipped
from aisbench_core.warehouse import standings
from aisbench_core.warehouse.connection import Connection
from aisbench_core.warehouse.judging import Judge
from aisbench_core.warehouse.lake import Lake
from aisbench_core.warehouse.rows import rows_of
from aisbench_core.warehouse.schema import RUNS, TABLES

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
        """select run_id, count(rank) from results left join rank_results using (run_id)
        group by run_id, ranks_found having count(rank) < coalesce(ranks_found, 0)""",
    ),
)
"""Table, what is wrong, and the question that finds such runs."""


@dataclass(frozen=True, slots=True)
class Damage:
    """One thing that is not as it should be: where, what, and what to do."""

    where: str
    sentence: str
    hint: str


@dataclass(frozen=True, slots=True)
class Checked:
    """How much was looked at, and what was found wrong: nothing, as a rule."""

    runs: int
    rows: int
    compared: int
    damages: tuple[Damage, ...]


def check(
    store: Connection | Lake, records: Iterable[RunRecord], loose_files: Iterable[str], *, mend: bool = False
) -> Checked:
    """Read every cell, count rows per run and runs per group, and compare with the records in the runs' folders.

    `mend`: first count anew what is kept of each group, which costs nothing but the counting."""
    if mend:
        store.write(standings.count_anew)
    with store.cursor() as cur:
        damages = list(_unreadable(cur))
        if damages:
            return Checked(0, 0, 0, tuple(damages))
        rows = sum(_count(cur, table) for table in TABLES)
        damages += [*_miscounted(cur), *_orphans(cur), *_wrong_standings(cur)]
        kept = _kept(cur)
    compared = 0
    judge = Judge(shipped())  # any will do: verdicts are not compared
    for record in records:
        compared += 1
        damages += _compared(record, kept, judge)
    damages += [Damage(file, "belongs to nothing", "run `aisbench warehouse compact`") for file in loose_files]
    return Checked(len(kept), rows, compared, tuple(damages))


def _unreadable(cur: duckdb.DuckDBPyConnection) -> Iterator[Damage]:
    for table, columns in TABLES.items():
        try:
            cur.execute(f"select bit_xor(hash({', '.join(columns)})) from {table}").fetchall()  # noqa: S608
        except (duckdb.Error, WarehouseError) as error:
            said = str(error).splitlines()[0]
            yield Damage(table, f"cannot be read: {said}", f"bring the file back, or {REBUILD} on every machine")
            return  # the transaction is lost, too


def _count(cur: duckdb.DuckDBPyConnection, table: str) -> int:
    return int(cur.execute(f"select count(*) from {table}").fetchall()[0][0])  # noqa: S608


def _miscounted(cur: duckdb.DuckDBPyConnection) -> Iterator[Damage]:
    for table, sentence, question in _COUNTS:
        for run_id, count in cur.execute(question).fetchall():
            yield Damage(f"{table}, run {run_id}", sentence.format(count=count), REBUILD)


def _orphans(cur: duckdb.DuckDBPyConnection) -> Iterator[Damage]:
    for table in (name for name in TABLES if name != "remarks"):  # they may wait for a run that is imported again
        asked = f"select distinct run_id from {table} where run_id not in (select run_id from runs)"  # noqa: S608
        for (run_id,) in cur.execute(asked).fetchall():
            yield Damage(f"{table}, run {run_id}", "has rows, but there is no such run", REBUILD)


def _wrong_standings(cur: duckdb.DuckDBPyConnection) -> Iterator[Damage]:
    for group, columns in standings.wrong(cur):
        sentence = f"what is kept of this group is not what its runs say: {columns}"
        yield Damage(f"standings, {group}", sentence, "run `aisbench warehouse check --mend`")


def _kept(cur: duckdb.DuckDBPyConnection) -> dict[str, tuple[object, ...]]:
    """What is compared with the folders, by run_id: the hash of run, result and cards, then rows per table."""
    counts = ", ".join(
        f"(select count(*) from {table} where {table}.run_id = runs.run_id)"  # noqa: S608
        for table in TABLES
        if table not in _ELSEWHERE
    )
    cur.execute(f"select run_id, record_sha256, {counts} from runs")  # noqa: S608
    return {run_id: tuple(rest) for run_id, *rest in cur.fetchall()}


def _compared(record: RunRecord, kept: dict[str, tuple[object, ...]], judge: Judge) -> Iterator[Damage]:
    run_id = record.run.run_id
    where = f"run {run_id}"
    if run_id not in kept:
        yield Damage(where, "is in its folder, but not in the warehouse", REBUILD)
        return
    rows = rows_of(record, judge)
    sha256 = rows["runs"][0][list(RUNS).index("record_sha256")]
    if kept[run_id] != (sha256, *(len(rows[table]) for table in TABLES if table not in _ELSEWHERE)):
        yield Damage(where, "differs from what its folder says", REBUILD)
