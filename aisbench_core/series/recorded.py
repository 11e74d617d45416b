"""Series that are not in this console's ledger: launched by a colleague, or before a ledger was lost.

The warehouse has their plans and recorded runs: enough to show them, not enough to change them."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from aisbench_core.model import Attempt, Run, RunSpec, Series
from aisbench_core.series import planning
from aisbench_core.series.snapshot import SeriesSnapshot
from aisbench_core.warehouse.values import RunRow

Places = Sequence[tuple[str, int]]
"""Runs of one series, each with its cell, in launch order."""


def snapshot_of(series: Series, places: Places, rows: Mapping[str, RunRow], now: datetime) -> SeriesSnapshot:
    """The series as far as it was recorded; cells without a run are planned ones."""
    first = planning.first_attempts(series.series_id, series.plan, series.rows, series.created_by, series.created_at)
    tried: defaultdict[int, list[str]] = defaultdict(list)
    for run_id, cell in places:
        if run_id in rows:
            tried[cell].append(run_id)
    attempts = [attempt for planned in first for attempt in _attempts(planned, tried[planned.cell])]
    runs = {
        attempt.run_id: _run(rows[attempt.run_id], series.rows[attempt.row].spec)
        for attempt in attempts
        if attempt.run_id
    }
    return SeriesSnapshot(series, attempts, runs, now)


def _attempts(planned: Attempt, run_ids: Sequence[str]) -> list[Attempt]:
    if not run_ids:
        return [planned]
    return [replace(planned, number=number, run_id=run_id) for number, run_id in enumerate(run_ids, start=1)]


def _run(row: RunRow, spec: RunSpec) -> Run:
    """The parts of a run that a series shows."""
    return Run(
        run_id=row.run_id,
        spec=spec,
        profile=row.profile,
        state=row.state,
        created_at=row.created_at,
        created_by=row.created_by,
        updated_at=row.ended_at or row.created_at,
        next_step_at=row.created_at,
        detail=row.detail,
        code_sha256=row.code_sha256,
        submitted_at=row.submitted_at,
        started_at=row.started_at,
        ended_at=row.ended_at,
        duration_s=row.duration_s,
    )
