"""Baselines that people marked, one per group at most."""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime

from duckdb import DuckDBPyConnection

from aisbench_core.errors import Problem, RunNotFound, SpecError
from aisbench_core.messages import Message
from aisbench_core.model import Origin, canonical_json
from aisbench_core.warehouse.answers.histories import Baseline, HistoryGroup, VersionField
from aisbench_core.warehouse.records.rows import aware
from aisbench_core.warehouse.records.runs import by_ids
from aisbench_core.warehouse.store.connection import Connection
from aisbench_core.warehouse.store.lake import Lake
from aisbench_core.warehouse.values import RunRow


def mark(
    connection: Connection | Lake, run_ids: Sequence[str], field: VersionField | None, who: str, at: datetime
) -> Baseline:
    """These runs are the baseline of their group from now on; with `field`, every run of their versions.

    Raises RunNotFound, and SpecError unless they are valid runs of one group, whose versions are known."""
    ids = tuple(dict.fromkeys(run_ids))
    with connection.cursor() as cur:
        runs = by_ids(cur, ids)
    marked = _baseline(runs, ids, field, who, at)
    connection.write(lambda cur: _store(cur, marked))
    return marked


def unmark(connection: Connection | Lake, group_id: str) -> bool:
    """Forget a group's baseline; says whether it had one."""
    with connection.cursor() as cur:
        known = group_id in by_group(cur)
    if known:
        connection.write(lambda cur: cur.execute("delete from baselines where group_id = ?", [group_id]))
    return known


def by_group(cur: DuckDBPyConnection) -> dict[str, Baseline]:
    """Every marked baseline by its group's id."""
    cur.execute(
        "select group_id, grouped, version_field, names, marked_by, marked_at from baselines order by marked_at"
    )
    return {group_id: _read(*values) for group_id, *values in cur.fetchall()}


def without(cur: DuckDBPyConnection, run_ids: Sequence[str]) -> None:
    """Take runs out of the baselines that name them; one that names nothing else goes."""
    gone = {*run_ids}
    for group_id, marked in by_group(cur).items():
        if marked.field is None and gone & {*marked.names}:
            left = tuple(name for name in marked.names if name not in gone)
            cur.execute("delete from baselines where group_id = ?", [group_id])
            if left:
                _store(cur, replace(marked, names=left))


def copy(source: Connection | Lake, target: Connection | Lake) -> None:
    """Every baseline of the source, unless the target has a newer one for the same group."""
    with source.cursor() as cur:
        marks = list(by_group(cur).values())
    if marks:
        target.write(lambda cur: _store_newer(cur, marks))


def _store_newer(cur: DuckDBPyConnection, marks: Sequence[Baseline]) -> None:
    known = by_group(cur)
    for marked in marks:
        there = known.get(marked.group.id)
        if there is None or there.marked_at < marked.marked_at:
            _store(cur, marked)


def _baseline(
    runs: Sequence[RunRow], ids: Sequence[str], field: VersionField | None, who: str, at: datetime
) -> Baseline:
    missing = set(ids) - {run.run_id for run in runs}
    if missing or not ids:
        raise RunNotFound(
            Message(
                "no such run in the warehouse: {missing}",
                missing=", ".join(sorted(missing)) or Message("none was named"),
            )
        )
    known = {HistoryGroup.of(run) for run in runs}
    problems = [
        Problem(run.run_id, Message("must have a valid result"), run.validity)
        for run in runs
        if not run.validity.counts
    ]
    if len(known) > 1:
        problems.append(
            Problem("runs", Message("must be of one group: the same question on the same hardware"), str(len(known)))
        )
    names = tuple(dict.fromkeys(_version(run, field) for run in runs)) if field else tuple(ids)
    if "" in names:
        problems.append(Problem(str(field), Message("must be known of each run"), Message("unknown")))
    if problems:
        raise SpecError(Message("baseline"), problems)
    return Baseline(known.pop(), field, names, who, at)


def _version(run: RunRow, field: VersionField) -> str:
    return run.image if field is VersionField.ENGINE else str(getattr(run, field))


def _store(cur: DuckDBPyConnection, marked: Baseline) -> None:
    cur.execute("delete from baselines where group_id = ?", [marked.group.id])
    cur.execute(
        "insert into baselines values (?, ?, ?, ?, ?, ?)",
        [
            marked.group.id,
            canonical_json(asdict(marked.group)),
            marked.field.value if marked.field else "",
            canonical_json(list(marked.names)),
            marked.marked_by,
            marked.marked_at.astimezone(UTC).replace(tzinfo=None),
        ],
    )


def _read(grouped: str, field: str, names: str, who: str, at: datetime) -> Baseline:
    key = json.loads(grouped)
    group = HistoryGroup(**{**key, "origin": Origin(key["origin"])})
    return Baseline(group, VersionField(field) if field else None, tuple(json.loads(names)), who, aware(at))
