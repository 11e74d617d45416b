"""A series at one moment: what the ledger or, for a series of another console, the warehouse has of it."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from aisbench_core.base.messages import Message
from aisbench_core.model import Attempt, Run, RunSpec, RunState, Series
from aisbench_core.running.series.planning import first_attempts
from aisbench_core.store.ledger.series import SeriesLedger
from aisbench_core.warehouse.values.runs import RunRow

HOUR_S = 3600.0
# Node hours below which an excess is a rounding error of sums.
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Hold:
    """The next cell needs more node hours than the budget leaves.

    `spent`: used so far, plus what active runs are still expected to take."""

    needed: float
    spent: float
    budget: float

    @property
    def sentence(self) -> Message:
        """The reason as a sentence."""
        return Message(
            "the budget is {budget:.4g} node hours, of which {spent:.4g} are used or promised to active"
            " runs, and the next cell needs about {needed:.4g}",
            budget=self.budget,
            spent=self.spent,
            needed=self.needed,
        )


@dataclass(frozen=True, slots=True)
class NodeHours:
    """The budget and its use. `promised`: what active runs are expected to take beyond `used`.

    `to_come`: what the cells not launched yet are expected to take."""

    used: float
    """Node hours that the runs have used."""
    promised: float
    """Node hours that active runs are expected to take beyond `used`."""
    to_come: float
    """Node hours that cells not launched yet are expected to take."""
    budget: float | None
    """Node hours in total; null: no limit."""


@dataclass(frozen=True, slots=True)
class SeriesSnapshot:
    """A series, its attempts in launch order, and their runs by id."""

    series: Series
    attempts: Sequence[Attempt]
    runs: Mapping[str, Run]
    now: datetime

    @classmethod
    def of(cls, ledger: SeriesLedger, series: Series, now: datetime) -> "SeriesSnapshot":
        """A series as the ledger has it now."""
        attempts, runs = attempts_and_runs(ledger, [series.series_id])
        return cls(series, attempts, {run.run_id: run for run in runs}, now)

    @classmethod
    def from_records(
        cls, series: Series, run_cells: Sequence[tuple[str, int]], rows: Mapping[str, RunRow], now: datetime
    ) -> "SeriesSnapshot":
        """A series that is not in this console's ledger: launched by a colleague, or before a ledger was lost.

        The warehouse has its plan and recorded runs: enough to show it, not enough to change it; cells without a run
        are planned ones. `run_cells`: runs, each with its cell, in launch order."""
        attempts, runs, of_cell = list[Attempt](), dict[str, Run](), defaultdict[int, list[str]](list)
        for run_id, cell in run_cells:
            if run_id in rows:
                of_cell[cell].append(run_id)
        for first in first_attempts(series.series_id, series.plan, series.rows, series.created_by, series.created_at):
            run_ids = of_cell[first.cell]
            runs |= {run_id: _run_of(rows[run_id], series.rows[first.row].spec) for run_id in run_ids}
            tries = [replace(first, number=number, run_id=run_id) for number, run_id in enumerate(run_ids, start=1)]
            # What a stopping rule did not need is gone in the ledger, too.
            attempts += tries or ([] if series.plan.until and run_cells else [first])
        return cls(series, attempts, runs, now)

    @property
    def next(self) -> Attempt | None:
        """The attempt to launch next."""
        return next((attempt for attempt in self.attempts if attempt.is_waiting), None)

    def choose_waiting(self, rows: Sequence[int]) -> "SeriesSnapshot":
        """The same without waiting attempts of other rows, and those of the first of these before all others."""
        kept = [attempt for attempt in self.attempts if not attempt.is_waiting or attempt.row in rows]
        return replace(self, attempts=sorted(kept, key=lambda each: rows.index(each.row) if each.is_waiting else -1))

    @property
    def active(self) -> list[Run]:
        """Its active runs."""
        return [run for run in self.runs.values() if not run.state.is_terminal]

    @property
    def hours(self) -> NodeHours:
        """Node hours of all its jobs: of running ones until now, and as expected."""
        expected = self._estimate_row_hours()
        used = sum(node_hours(run, self.now) for run in self.runs.values())
        promised = sum(max(0.0, expected[self._row_of(run)] - node_hours(run, self.now)) for run in self.active)
        to_come = sum(expected[attempt.row] for attempt in self.attempts if attempt.is_waiting)
        return NodeHours(used, promised, to_come, self.series.budget)

    @property
    def hold(self) -> Hold | None:
        """Why the budget forbids the next cell; None if it does not."""
        hours, following = self.hours, self.next
        if hours.budget is None or following is None:
            return None
        needed, spent = self._estimate_row_hours()[following.row], hours.used + hours.promised
        return Hold(needed, spent, hours.budget) if spent + needed > hours.budget + ROUNDING else None

    def count_reserved(self, run: Run) -> float:
        """The node hours that were reserved for a run when it was launched."""
        return run.spec.node_count * self.series.plan.hours_per_run

    def _estimate_row_hours(self) -> list[float]:
        """Expected node hours of a run of each row: its longest completed run, or else the user's estimate."""
        longest: dict[int, float] = {}
        for run in self.runs.values():
            hours = node_hours(run, self.now)
            if run.state is RunState.COMPLETED and hours:
                longest[self._row_of(run)] = max(longest.get(self._row_of(run), 0.0), hours)
        guess = self.series.plan.hours_per_run
        return [longest.get(row, row_spec.node_count * guess) for row, row_spec in enumerate(self.series.rows)]

    def _row_of(self, run: Run) -> int:
        return ((run.series_index or 1) - 1) % len(self.series.rows)


def attempts_and_runs(ledger: SeriesLedger, series_ids: Collection[str]) -> tuple[list[Attempt], list[Run]]:
    """Those of these series, while followers launch."""
    # Runs first: a cell launched in between would wait and be active at once, and count twice for the budget.
    runs = ledger.runs(series_ids)
    return ledger.attempts(series_ids), runs


def node_hours(run: Run, now: datetime) -> float:
    """Nodes × hours of the run's job, by the platform's own duration once there is one."""
    seconds = run.duration_s
    if seconds is None and run.started_at is not None:
        seconds = ((run.ended_at or now) - run.started_at).total_seconds()
    return run.spec.node_count * max(0.0, seconds or 0.0) / HOUR_S


def _run_of(row: RunRow, spec: RunSpec) -> Run:
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
        stop_cause=row.stop_cause,
        code_sha256=row.code_sha256,
        submitted_at=row.submitted_at,
        started_at=row.started_at,
        ended_at=row.ended_at,
        duration_s=row.duration_s,
    )
