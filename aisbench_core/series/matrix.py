"""A series as a matrix: a row per distinct cell, a column per repeat, and statistics of each row.

`SeriesSnapshot` is what the ledger or, for a series of another console, the warehouse has of it at one moment.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from statistics import median

from aisbench_core.messages import Message
from aisbench_core.model import (
    LOST,
    Attempt,
    CellState,
    Event,
    Run,
    RunSpec,
    RunState,
    Series,
    SeriesRow,
    SeriesState,
)
from aisbench_core.running.ledger_series import SeriesLedger
from aisbench_core.series.planning import first_attempts
from aisbench_core.statistics.summary import Summary, summary
from aisbench_core.warehouse.values import RunRow, SeriesEvaluation, Validity

HOUR_S = 3600.0
# Node hours below which an excess is a rounding error of sums.
ROUNDING = 1e-9

_ENDS = {RunState.FAILED: CellState.FAILED, RunState.STOPPED: CellState.STOPPED}


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
    promised: float
    to_come: float
    budget: float | None


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
        ids = [series.series_id]
        return cls(series, ledger.attempts(ids), {run.run_id: run for run in ledger.runs(ids)}, now)

    @classmethod
    def recorded(
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
            attempts += tries or [first]
        return cls(series, attempts, runs, now)

    @property
    def next(self) -> Attempt | None:
        """The attempt to launch next."""
        return next((attempt for attempt in self.attempts if attempt.is_waiting), None)

    @property
    def active(self) -> list[Run]:
        """Its active runs."""
        return [run for run in self.runs.values() if not run.state.is_terminal]

    @property
    def hours(self) -> NodeHours:
        """Node hours of all its jobs: of running ones until now, and as expected."""
        expected = self._expected()
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
        needed, spent = self._expected()[following.row], hours.used + hours.promised
        return Hold(needed, spent, hours.budget) if spent + needed > hours.budget + ROUNDING else None

    def _expected(self) -> list[float]:
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


@dataclass(frozen=True, slots=True)
class Tried:
    """One attempt; `throughput` in `unit`, if it was measured. `run` is None before it is launched."""

    number: int
    state: CellState
    run: Run | None
    throughput: float | None = None
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of the matrix with all its attempts, oldest first."""

    index: int
    repeat: int
    tries: tuple[Tried, ...]

    @property
    def counted(self) -> Tried | None:
        """The latest valid attempt: the one that enters the statistics."""
        return next((tried for tried in reversed(self.tries) if tried.state is CellState.VALID), None)

    @property
    def shown(self) -> Tried:
        """The attempt to show: the valid one, else the latest."""
        return self.counted or self.tries[-1]

    @property
    def is_lost(self) -> bool:
        """Whether it ended without a measurement, so that it can be run again."""
        return self.shown.state in LOST


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """One row: its cells by repeat, and statistics of its valid values in `unit`; None when there are none.

    `evaluation`: of its runs by the series rules; None before one of them was recorded."""

    planned: SeriesRow
    cells: tuple[Cell, ...]
    unit: str
    summary: Summary | None
    median: float | None
    evaluation: SeriesEvaluation | None = None

    @property
    def counted(self) -> list[Tried]:
        """The valid attempts, by repeat."""
        return [tried for cell in self.cells if (tried := cell.counted)]

    @property
    def values(self) -> list[float]:
        """The valid throughputs, by repeat."""
        return [tried.throughput for tried in self.counted if tried.throughput is not None]

    @property
    def codes(self) -> frozenset[str]:
        """The versions of the code of its valid runs, as far as known."""
        return frozenset(tried.run.code_sha256 for tried in self.counted if tried.run and tried.run.code_sha256)

    @property
    def typical(self) -> Tried | None:
        """The valid attempt closest to the median, which represents the row."""
        middle = self.median or 0.0
        return min(self.counted, key=lambda tried: abs((tried.throughput or 0.0) - middle), default=None)


@dataclass(frozen=True, slots=True)
class BestRow:
    """The row with the highest median of a series that varies hyperparameters.

    `tied`: how many other rows have intervals that reach its own, or too few runs to tell."""

    row: MatrixRow
    tied: int


@dataclass(frozen=True, slots=True)
class Matrix:
    """A series now. `codes`: the number of versions of the code among its valid runs.

    `here`: whether this console's ledger has it. Of other series only recorded runs are known; they are read-only.
    """

    series: Series
    state: SeriesState
    rows: tuple[MatrixRow, ...]
    hours: NodeHours
    hold: Hold | None
    codes: int
    events: tuple[Event, ...] = ()
    here: bool = True

    @property
    def cells(self) -> tuple[Cell, ...]:
        """All cells in launch order."""
        return tuple(sorted((cell for row in self.rows for cell in row.cells), key=lambda cell: cell.index))

    @property
    def done(self) -> int:
        """The number of ended cells."""
        return sum(cell.shown.state not in (CellState.PLANNED, CellState.ACTIVE) for cell in self.cells)

    @property
    def valid(self) -> int:
        """The number of cells with a valid measurement."""
        return sum(cell.counted is not None for cell in self.cells)

    @property
    def lost(self) -> int:
        """The number of cells that ended without one."""
        return sum(cell.is_lost for cell in self.cells)

    @property
    def counting(self) -> int:
        """The number of rows whose runs may be combined, by the series rules."""
        return sum(row.evaluation is not None and row.evaluation.counts for row in self.rows)

    @property
    def best(self) -> BestRow | None:
        """The fastest row, if the series varies hyperparameters and two rows or more have values in one unit."""
        measured = [row for row in self.rows if row.median is not None]
        if not self.series.plan.values or len(measured) < 2 or len({row.unit for row in measured}) > 1:
            return None
        fastest = max(measured, key=lambda row: row.median or 0.0)
        others = [row for row in measured if row is not fastest]
        return BestRow(fastest, sum(not _is_clearly_faster(fastest, row) for row in others))

    @property
    def can_stop(self) -> bool:
        """Whether anything is active or still to come."""
        return self.here and self.done < len(self.cells)

    @property
    def can_rerun(self) -> bool:
        """Whether there are lost cells that can be run again."""
        return self.here and self.lost > 0

    @property
    def is_settled(self) -> bool:
        """Whether nothing more happens unless a person requests it."""
        return not self.here or self.state.has_ended


def _is_clearly_faster(row: MatrixRow, other: MatrixRow) -> bool:
    low = row.summary.ci_low if row.summary else None
    high = other.summary.ci_high if other.summary else None
    return low is not None and high is not None and low > high


def matrix_of(
    snapshot: SeriesSnapshot,
    recorded: Mapping[str, RunRow],
    events: Sequence[Event] = (),
    evaluations: Sequence[SeriesEvaluation] = (),
) -> Matrix:
    """The matrix of a series. `recorded`: the warehouse's rows of its runs, by run id; `evaluations`: of series, this
    one among them."""
    series, rows = snapshot.series, list[MatrixRow]()
    by_run = {run_id: evaluation for evaluation in evaluations for run_id in evaluation.run_ids}
    for number, planned in enumerate(series.rows):
        tries: dict[tuple[int, int], list[Tried]] = {}
        attempts = [attempt for attempt in snapshot.attempts if attempt.row == number]
        for attempt in attempts:
            tried = _tried(attempt, snapshot.runs.get(attempt.run_id), recorded.get(attempt.run_id))
            tries.setdefault((attempt.cell, attempt.repeat), []).append(tried)
        row_cells = tuple(Cell(*cell, tuple(tries[cell])) for cell in sorted(tries))
        counted = [cell.counted for cell in row_cells if cell.counted]
        values = [valid.throughput for valid in counted if valid.throughput is not None]
        unit, middle = counted[-1].unit if counted else "", median(values) if values else None
        evaluation = next((by_run[attempt.run_id] for attempt in attempts if attempt.run_id in by_run), None)
        rows.append(MatrixRow(planned, row_cells, unit, summary(values), middle, evaluation))
    cells, hold = [cell for row in rows for cell in row.cells], snapshot.hold
    codes = {cell.counted.run.code_sha256 for cell in cells if cell.counted and cell.counted.run}
    state = _state([cell.shown.state for cell in cells], bool(snapshot.runs), bool(hold or series.launch_error))
    return Matrix(series, state, tuple(rows), snapshot.hours, hold, len(codes), tuple(events))


def _tried(attempt: Attempt, run: Run | None, row: RunRow | None) -> Tried:
    if run is None:
        return Tried(attempt.number, CellState.CANCELLED if attempt.cancelled else CellState.PLANNED, None)
    if not run.state.is_terminal:
        return Tried(attempt.number, CellState.ACTIVE, run)
    if row is None or run.state in _ENDS:
        return Tried(attempt.number, _ENDS.get(run.state, CellState.INVALID), run)
    valid = row.validity is Validity.VALID and row.throughput is not None
    state = CellState.VALID if valid else CellState.INVALID
    return Tried(attempt.number, state, run, row.throughput, row.throughput_unit)


def _state(cells: Sequence[CellState], begun: bool, hindered: bool) -> SeriesState:
    if CellState.ACTIVE in cells:
        return SeriesState.RUNNING
    if CellState.PLANNED in cells:
        waiting = SeriesState.RUNNING if begun else SeriesState.PLANNED
        return SeriesState.HELD if hindered else waiting
    if {CellState.CANCELLED, CellState.STOPPED} & {*cells}:
        return SeriesState.STOPPED
    return SeriesState.COMPLETED if {*cells} == {CellState.VALID} else SeriesState.COMPLETED_WITH_FAILURES


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
        code_sha256=row.code_sha256,
        submitted_at=row.submitted_at,
        started_at=row.started_at,
        ended_at=row.ended_at,
        duration_s=row.duration_s,
    )
