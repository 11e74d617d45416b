"""A series as a matrix: a row per distinct cell, a column per repeat, and statistics of each row."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from aisbench_core.model import LOST, Attempt, CellState, Event, Run, RunState, Series, SeriesRow, SeriesState
from aisbench_core.series.snapshot import Hold, SeriesSnapshot
from aisbench_core.statistics.summary import Summary, summary
from aisbench_core.warehouse.values import RunRow, SeriesEvaluation, Validity

_ENDS = {RunState.FAILED: CellState.FAILED, RunState.STOPPED: CellState.STOPPED}


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

    `verdict`: the series rules' verdict on its runs; None before one of them was recorded."""

    planned: SeriesRow
    cells: tuple[Cell, ...]
    unit: str
    summary: Summary | None
    median: float | None
    verdict: SeriesEvaluation | None = None

    @property
    def values(self) -> list[float]:
        """The valid throughputs, by repeat."""
        counted = [tried.throughput for cell in self.cells if (tried := cell.counted)]
        return [value for value in counted if value is not None]

    @property
    def codes(self) -> frozenset[str]:
        """The versions of the code of its valid runs, as far as known."""
        runs = [tried.run for cell in self.cells if (tried := cell.counted)]
        return frozenset(run.code_sha256 for run in runs if run and run.code_sha256)

    @property
    def typical(self) -> Tried | None:
        """The valid attempt closest to the median, which represents the row."""
        middle = self.median
        if middle is None:
            return None
        valid = [tried for cell in self.cells if (tried := cell.counted)]
        return min(valid, key=lambda tried: abs((tried.throughput or 0.0) - middle))


@dataclass(frozen=True, slots=True)
class NodeHours:
    """The budget and its use. `promised`: what active runs are expected to take beyond `used`."""

    used: float
    promised: float
    to_come: float
    budget: float | None


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
        return sum(row.verdict is not None and row.verdict.counts for row in self.rows)

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


def matrix_of(
    snapshot: SeriesSnapshot,
    recorded: Mapping[str, RunRow],
    events: Sequence[Event] = (),
    verdicts: Sequence[SeriesEvaluation] = (),
) -> Matrix:
    """The matrix of a series. `recorded`: the warehouse's rows of its runs, by run id; `verdicts`: of series, this one
    among them."""
    series = snapshot.series
    by_run = {run_id: verdict for verdict in verdicts for run_id in verdict.run_ids}
    rows = tuple(_row(number, planned, snapshot, recorded, by_run) for number, planned in enumerate(series.rows))
    hours = NodeHours(snapshot.used, snapshot.promised, snapshot.to_come, series.budget)
    cells = [cell for row in rows for cell in row.cells]
    counted = {tried.run.code_sha256 for cell in cells if (tried := cell.counted) and tried.run}
    state = _state(
        [cell.shown.state for cell in cells], bool(snapshot.runs), bool(snapshot.hold or series.launch_error)
    )
    return Matrix(series, state, rows, hours, snapshot.hold, len(counted), tuple(events))


def _row(
    number: int,
    planned: SeriesRow,
    snapshot: SeriesSnapshot,
    recorded: Mapping[str, RunRow],
    verdicts: Mapping[str, SeriesEvaluation],
) -> MatrixRow:
    attempts = [attempt for attempt in snapshot.attempts if attempt.row == number]
    cells = tuple(_cells(attempts, snapshot.runs, recorded))
    valid = [tried for cell in cells if (tried := cell.counted)]
    values = [tried.throughput for tried in valid if tried.throughput is not None]
    unit = valid[-1].unit if valid else ""
    verdict = next((verdicts[attempt.run_id] for attempt in attempts if attempt.run_id in verdicts), None)
    return MatrixRow(planned, cells, unit, summary(values), median(values) if values else None, verdict)


def _cells(attempts: Sequence[Attempt], runs: Mapping[str, Run], recorded: Mapping[str, RunRow]) -> Iterator[Cell]:
    for index, repeat in sorted({(attempt.cell, attempt.repeat) for attempt in attempts}):
        tries = (
            _tried(attempt, runs.get(attempt.run_id), recorded.get(attempt.run_id))
            for attempt in attempts
            if attempt.cell == index
        )
        yield Cell(index, repeat, tuple(tries))


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
