"""Remarks of people about runs: every change is a row, and the run's tags and note follow from them."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from duckdb import DuckDBPyConnection

from aisbench_core.errors import StaleRun
from aisbench_core.model import Remark, RemarkKind, Remarks, RunRecord, canonical_json, whole_note
from aisbench_core.warehouse.records.rows import aware, remark_rows
from aisbench_core.warehouse.store.connection import Connection
from aisbench_core.warehouse.store.lake import Lake
from aisbench_core.warehouse.store.schema import among, insert


def of(cur: DuckDBPyConnection, run_ids: Sequence[str] | None = None) -> dict[str, Remarks]:
    """The remarks of these runs (None: of all), by run; runs without one are left out."""
    chosen, parameters = ("true", []) if run_ids is None else among("run_id", run_ids)
    cur.execute(f"select run_id, at_utc, who, kind, text from remarks where {chosen}", parameters)
    found: defaultdict[str, list[Remark]] = defaultdict(list)
    for run_id, at, who, kind, text in cur.fetchall():
        found[run_id].append(Remark(aware(at), who, RemarkKind(kind), text))
    return {run_id: Remarks.of(changes) for run_id, changes in found.items()}


def with_known(cur: DuckDBPyConnection, records: Iterable[RunRecord]) -> list[RunRecord]:
    """The records with the remarks that the warehouse holds of them beside their own."""
    listed = list(records)
    known = of(cur, [each.run.run_id for each in listed])
    return [
        replace(each, remarks=Remarks.of([*each.remarks.changes, *known[each.run.run_id].changes]))
        if each.run.run_id in known
        else each
        for each in listed
    ]


def add(connection: Connection | Lake, run_id: str, new: Sequence[Remark], seen: datetime | None) -> Remarks:
    """Add changes to a run's remarks, and give all of them.

    `seen`: when the note was written that the person saw who writes another. Raises StaleRun, and changes nothing, when
    somebody wrote one since."""
    return connection.write(lambda cur: _add(cur, run_id, new, seen))


def exchange(source: Connection | Lake, target: Connection | Lake) -> None:
    """Give runs that both stores hold the remarks of both: none is lost when one is copied over the other."""
    with source.cursor() as cur:
        theirs = of(cur)
    with target.cursor() as cur:
        ours = of(cur)
        known = _known(cur, theirs.keys() | ours.keys())
    for run_id in sorted(known):
        every = Remarks.of([*theirs.get(run_id, Remarks()).changes, *ours.get(run_id, Remarks()).changes])
        for store, held in ((source, theirs), (target, ours)):
            if held.get(run_id, Remarks()) != every:
                store.write(lambda cur, run_id=run_id, every=every: _set(cur, run_id, every))  # type: ignore[misc]


def check_seen(known: Remarks, new: Sequence[Remark], seen: datetime | None) -> None:
    """Raises StaleRun when a note would replace one that its writer has not seen."""
    last = known.noted
    if last and last.at != seen and any(each.kind is RemarkKind.NOTE for each in new):
        raise StaleRun(
            f"{last.who} changed the note meanwhile; it says: {last.text or '(nothing)'}",
            "write yours again to replace it",
        )


def _add(cur: DuckDBPyConnection, run_id: str, new: Sequence[Remark], seen: datetime | None) -> Remarks:
    known = of(cur, [run_id]).get(run_id, Remarks())
    check_seen(known, new, seen)
    every = Remarks.of([*known.changes, *new])
    _set(cur, run_id, every)
    return every


def _set(cur: DuckDBPyConnection, run_id: str, every: Remarks) -> None:
    before = of(cur, [run_id]).get(run_id, Remarks())
    cur.execute("delete from remarks where run_id = ?", [run_id])
    insert(cur, "remarks", remark_rows(run_id, every))
    stored = cur.execute("select note from runs where run_id = ?", [run_id]).fetchall()
    for (text,) in stored:
        note = whole_note(every.note, imported_note(text or "", before.note))
        cur.execute(
            "update runs set tags = ?, note = ? where run_id = ?", [canonical_json(list(every.tags)), note, run_id]
        )


def imported_note(stored: str, person: str) -> str:
    """What the import said, of a stored note that begins with a person's."""
    return stored.removeprefix(person).removeprefix("; ") if person else stored


def _known(cur: DuckDBPyConnection, run_ids: Iterable[str]) -> set[str]:
    chosen, parameters = among("run_id", [*run_ids])
    cur.execute(f"select run_id from runs where {chosen}", parameters)
    return {run_id for (run_id,) in cur.fetchall()}


def utc(at: datetime) -> datetime:
    """A time as the warehouse keeps it: in UTC, without saying so."""
    return at.astimezone(UTC).replace(tzinfo=None)
