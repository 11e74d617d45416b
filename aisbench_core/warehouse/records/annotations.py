"""What people say about runs: each change is a row of `annotations`; `tags`, `note` and `set_aside` follow."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from duckdb import DuckDBPyConnection

from aisbench_core.base.errors import StaleRun
from aisbench_core.base.messages import Message
from aisbench_core.model import AnnotationChange, AnnotationKind, Annotations, RunRecord, canonical_json, whole_note
from aisbench_core.model.annotation import NO_ANNOTATIONS
from aisbench_core.model.columns import COUNTED
from aisbench_core.warehouse.queries.group_statistics import mark_due_by_id
from aisbench_core.warehouse.records.rows import annotation_rows
from aisbench_core.warehouse.tables.schema import build_in_condition, insert_rows
from aisbench_core.warehouse.tables.store import Store
from aisbench_core.warehouse.tables.times import to_aware
from aisbench_core.warehouse.values.runs import Validity


class StoredAnnotations:
    """The annotations of one warehouse; every method raises WarehouseError, as the warehouse's own do."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def of(self, run_ids: Sequence[str]) -> Mapping[str, Annotations]:
        """Annotations by run; runs without any are left out."""
        with self._store.cursor() as cur:
            return select(cur, run_ids)

    def add(self, run_id: str, new: Sequence[AnnotationChange], since: datetime | None) -> Annotations:
        """Add changes to a run, and return all of its annotations.

        `since`: when the note was written that the author of a new one saw. Raises StaleRun, and changes nothing, if
        somebody wrote another one in between."""

        def work(cur: DuckDBPyConnection) -> Annotations:
            before = select(cur, [run_id]).get(run_id, NO_ANNOTATIONS)
            check_not_stale(before, new, since)
            merged = Annotations.of([*before.changes, *new])
            _replace_annotations(cur, run_id, merged)
            return merged

        return self._store.write(work)


def select(cur: DuckDBPyConnection, run_ids: Sequence[str] | None = None) -> dict[str, Annotations]:
    """Annotations by run (None: of all runs); runs without any are left out."""
    condition, parameters = ("true", []) if run_ids is None else build_in_condition("run_id", run_ids)
    cur.execute(f"select run_id, at_utc, who, kind, text from annotations where {condition}", parameters)
    changes: defaultdict[str, list[AnnotationChange]] = defaultdict(list)
    for run_id, at, who, kind, text in cur.fetchall():
        changes[run_id].append(AnnotationChange(to_aware(at), who, AnnotationKind(kind), text))
    return {run_id: Annotations.of(listed) for run_id, listed in changes.items()}


def with_stored(cur: DuckDBPyConnection, records: Sequence[RunRecord]) -> list[RunRecord]:
    """The records with the stored annotations of their runs beside their own."""
    stored = select(cur, [record.run.run_id for record in records])
    return [
        replace(record, annotations=Annotations.of([*record.annotations.changes, *stored[record.run.run_id].changes]))
        if record.run.run_id in stored
        else record
        for record in records
    ]


def exchange(source: Store, target: Store) -> None:
    """Give the runs of both stores the annotations of both, so that none is lost when one is copied over the other."""
    with source.cursor() as cur:
        theirs = select(cur)
    with target.cursor() as cur:
        ours = select(cur)
        condition, parameters = build_in_condition("run_id", [*theirs.keys() | ours.keys()])
        common = cur.execute(f"select run_id from runs where {condition} order by run_id", parameters).fetchall()
    for (run_id,) in common:
        own = [(store, stored.get(run_id, NO_ANNOTATIONS)) for store, stored in ((source, theirs), (target, ours))]
        merged = Annotations.of([change for _, annotations in own for change in annotations.changes])
        for store, annotations in own:
            if annotations != merged:
                store.write(lambda cur, run_id=run_id, merged=merged: _replace_annotations(cur, run_id, merged))  # type: ignore[misc]


def check_not_stale(before: Annotations, new: Iterable[AnnotationChange], since: datetime | None) -> None:
    """Raises StaleRun if a note would replace one that its author has not seen."""
    last = before.last_note
    if last and last.at != since and any(change.kind is AnnotationKind.NOTE for change in new):
        note = last.text or Message("(nothing)")
        raise StaleRun(
            Message("{who} changed the note meanwhile; it says: {note}", who=last.who, note=note),
            Message("write yours again to replace it"),
        )


def _replace_annotations(cur: DuckDBPyConnection, run_id: str, annotations: Annotations) -> None:
    before = select(cur, [run_id]).get(run_id, NO_ANNOTATIONS)
    cur.execute("delete from annotations where run_id = ?", [run_id])
    insert_rows(cur, "annotations", annotation_rows(run_id, annotations))
    stored = cur.execute("select note from runs where run_id = ?", [run_id]).fetchall()
    for (text,) in stored:
        note = whole_note(annotations.note, imported_note(text or "", before.note))
        tags = canonical_json(list(annotations.tags))
        reason = annotations.reason_set_aside
        cells = [tags, note, reason, run_id]
        cur.execute("update runs set tags = ?, note = ?, set_aside = ? where run_id = ?", cells)
        if reason != before.reason_set_aside:
            _decide_again(cur, run_id)


def _decide_again(cur: DuckDBPyConnection, run_id: str) -> None:
    """Whether a result counts, after its run was set aside, or was so no longer; its checks stay as they are."""
    cur.execute(
        f"""update results set validity = case
            when runs.set_aside <> '' then '{Validity.SET_ASIDE}'
            when origin = 'imported' then '{Validity.CLAIMED}' else '{Validity.VALID}' end
        from runs where results.run_id = runs.run_id and runs.run_id = $run_id
            and ({COUNTED} or validity = '{Validity.SET_ASIDE}')""",
        {"run_id": run_id},
    )
    mark_due_by_id(cur, [run_id])


def imported_note(stored: str, person: str) -> str:
    """What the import said, of a stored note that begins with a person's."""
    return stored.removeprefix(person).removeprefix("; ") if person else stored
