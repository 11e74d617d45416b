"""Baselines that people marked: at most one for each trend."""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime

from duckdb import DuckDBPyConnection

from aisbench_core.base.errors import Problem, RunNotFound, SpecError
from aisbench_core.base.messages import Message
from aisbench_core.model import Origin, canonical_json
from aisbench_core.warehouse.records.runs import by_ids
from aisbench_core.warehouse.tables.store import Store
from aisbench_core.warehouse.tables.times import to_aware
from aisbench_core.warehouse.values.histories import Baseline, Trend, VersionField
from aisbench_core.warehouse.values.runs import RunRow

# The table says group_id where the code says trend_id: its columns were released with that name.
_DELETE = "delete from baselines where group_id = ?"


def mark(store: Store, run_ids: Sequence[str], field: VersionField | None, who: str, at: datetime) -> Baseline:
    """Make these runs the baseline of their trend; with `field`, all runs of their versions.

    Raises RunNotFound, and SpecError unless they are valid runs of one trend, whose versions are known."""
    ids = tuple(dict.fromkeys(run_ids))
    with store.cursor() as cur:
        runs = by_ids(cur, ids)
    baseline = _build_baseline(runs, ids, field, who, at)
    store.write(lambda cur: _put_baseline(cur, baseline))
    return baseline


def unmark(store: Store, trend_id: str) -> bool:
    """Forget the baseline of a trend. Returns whether it had one."""
    with store.cursor() as cur:
        exists = trend_id in by_trend(cur)
    if exists:
        store.write(lambda cur: cur.execute(_DELETE, [trend_id]))
    return exists


def by_trend(cur: DuckDBPyConnection) -> dict[str, Baseline]:
    """All baselines by trend_id, the oldest mark first."""
    cur.execute(
        "select group_id, grouped, version_field, names, marked_by, marked_at from baselines order by marked_at"
    )
    return {trend_id: _read_baseline(*values) for trend_id, *values in cur.fetchall()}


def list_marked(cur: DuckDBPyConnection) -> list[Baseline]:
    """Every marked baseline, the oldest mark first."""
    return list(by_trend(cur).values())


def remove_runs(cur: DuckDBPyConnection, run_ids: Sequence[str]) -> None:
    """Take runs out of the baselines that name them, and drop baselines that name no other."""
    removed = {*run_ids}
    for trend_id, baseline in by_trend(cur).items():
        if baseline.field is None and removed & {*baseline.names}:
            cur.execute(_DELETE, [trend_id])
            if names := tuple(name for name in baseline.names if name not in removed):
                _put_baseline(cur, replace(baseline, names=names))


def copy(source: Store, target: Store) -> None:
    """Copy all baselines, unless the target has a newer one for the same trend."""
    with source.cursor() as cur:
        baselines = list(by_trend(cur).values())
    if baselines:
        target.write(lambda cur: _put_newer(cur, baselines))


def _put_newer(cur: DuckDBPyConnection, baselines: Sequence[Baseline]) -> None:
    stored = by_trend(cur)
    for baseline in baselines:
        present = stored.get(baseline.group.id)
        if present is None or present.marked_at < baseline.marked_at:
            _put_baseline(cur, baseline)


def _build_baseline(
    runs: Sequence[RunRow], ids: Sequence[str], field: VersionField | None, who: str, at: datetime
) -> Baseline:
    missing = ", ".join(sorted(set(ids) - {run.run_id for run in runs}))
    if missing or not ids:
        raise RunNotFound(
            Message("no such run in the warehouse: {missing}", missing=missing or Message("none was named"))
        )
    trends = {Trend.of(run) for run in runs}
    problems = [
        Problem(run.run_id, Message("must have a valid result"), run.validity)
        for run in runs
        if not run.validity.counts
    ]
    if len(trends) > 1:
        condition = Message("must be of one group: the same benchmark configuration on the same hardware")
        problems.append(Problem("runs", condition, str(len(trends))))
    column = "image" if field is VersionField.ENGINE else str(field)  # the engine's version may be an image's address
    names = tuple(dict.fromkeys(str(getattr(run, column)) for run in runs)) if field else tuple(ids)
    if "" in names:
        problems.append(Problem(str(field), Message("must be known of each run"), Message("unknown")))
    if problems:
        raise SpecError(Message("baseline"), problems)
    return Baseline(trends.pop(), field, names, who, at)


def _put_baseline(cur: DuckDBPyConnection, baseline: Baseline) -> None:
    cur.execute(_DELETE, [baseline.group.id])
    cur.execute(
        "insert into baselines values (?, ?, ?, ?, ?, ?)",
        [
            baseline.group.id,
            canonical_json(asdict(baseline.group)),
            baseline.field.value if baseline.field else "",
            canonical_json(list(baseline.names)),
            baseline.marked_by,
            baseline.marked_at.astimezone(UTC).replace(tzinfo=None),
        ],
    )


def _read_baseline(grouped: str, field: str, names: str, who: str, at: datetime) -> Baseline:
    cells = json.loads(grouped)
    trend = Trend(**{**cells, "origin": Origin(cells["origin"])})
    return Baseline(trend, VersionField(field) if field else None, tuple(json.loads(names)), who, to_aware(at))
