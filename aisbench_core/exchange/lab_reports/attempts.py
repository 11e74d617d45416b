"""Every attempt of the series that runs belong to: a lab's report leaves none out."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from aisbench_core.base.errors import RunNotFound
from aisbench_core.base.messages import Message
from aisbench_core.exchange.report.lab_section import ReportedAttempt
from aisbench_core.model import Run
from aisbench_core.store.ledger.deletions import DeletionLedger
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.store.ledger.series import SeriesLedger
from aisbench_core.warehouse.facade import Warehouse


@dataclass(frozen=True, slots=True)
class ReportedRuns:
    """Which runs a report is about. `launched_by`: everybody who launched one, also of those that have no result."""

    run_ids: tuple[str, ...]
    attempts: tuple[ReportedAttempt, ...]
    launched_by: frozenset[str]
    clock_ahead_s: Mapping[str, float]


def complete_runs(chosen: Sequence[str], warehouse: Warehouse, ledger: Ledger) -> ReportedRuns:
    """These runs with all others of their series. Raises RunNotFound."""
    rows = warehouse.runs.find_rows(chosen)
    if unknown := [run_id for run_id in chosen if run_id not in rows]:
        raise RunNotFound(
            Message("no such run: {unknown}", unknown=", ".join(unknown)),
            Message("aisbench runs lists those that there are"),
        )
    series = warehouse.series.find_ids(list(rows))
    members = [run_id for cells in warehouse.series.run_cells(series).values() for run_id, _ in cells] if series else []
    run_ids = tuple(dict.fromkeys([*chosen, *members]))
    launched = SeriesLedger(ledger).runs(series) if series else []
    own = [run for run in map(ledger.find, run_ids) if run]
    people = {run.created_by for run in [*launched, *own]} | {row.created_by for row in rows.values()}
    offsets = {run.run_id: run.region_ahead_s for run in own if run.region_ahead_s is not None}
    attempts = _list_attempts(series, launched, {*run_ids}, ledger)
    return ReportedRuns(run_ids, attempts, frozenset(filter(None, people)), offsets)


def _list_attempts(
    series: Sequence[str], launched: Sequence[Run], recorded: Collection[str], ledger: Ledger
) -> tuple[ReportedAttempt, ...]:
    """Launched ones in the order of launching, then those that never were."""
    deletions = DeletionLedger(ledger)
    found = []
    for run in launched:
        fate = None
        if deletion := deletions.find(run.run_id):
            fate = Message("deleted by {who}: {reason}", who=deletion.who, reason=deletion.reason)
        elif run.run_id not in recorded:
            fate = Message("no result was recorded")
        found.append(ReportedAttempt(run.series_id, run.run_id, run.state.value, fate or ""))
    for attempt in SeriesLedger(ledger).attempts(series) if series else []:
        if not attempt.run_id:
            fate = Message("cancelled before its launch") if attempt.cancelled else Message("not launched yet")
            name = f"{attempt.cell}.{attempt.number}"
            found.append(ReportedAttempt(attempt.series_id, name, "–", fate))
    return tuple(found)
