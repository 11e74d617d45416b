"""A series as a matrix: a row for each distinct cell, a column for each repeat, and what the values say together."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from aisbench_core.model import LOST, Attempt, CellState, Event, Run, RunState, Series, SeriesRow, SeriesState
from aisbench_core.series.standing import Hold, Standing
from aisbench_core.statistics.summary import Summary, summary
from aisbench_core.warehouse.validity.series_verdict import SeriesVerdict
from aisbench_core.warehouse.values import RunRow, Validity

_ENDS = {RunState.FAILED: CellState.FAILED, RunState.STOPPED: CellState.STOPPED}


@dataclass(frozen=True, slots=True)
class Tried:
    """One attempt as it stands; `throughput` in `unit`, if it was measured. `run` is None before it is launched."""

    number: int
    state: CellState
    run: Run | None
    throughput: float | None = None
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """One place of the matrix, with every attempt at it, oldest first."""

    index: int
    repeat: int
    tries: tuple[Tried, ...]

    @property
    def counted(self) -> Tried | None:
        """The latest valid attempt: the one that enters the statistics."""
        return next((tried for tried in reversed(self.tries) if tried.state is CellState.VALID), None)

    @property
    def shown(self) -> Tried:
        """What to show of it: the valid attempt, else the latest one."""
        return self.counted or self.tries[-1]

    @property
    def is_lost(self) -> bool:
        """Whether it ended without a measurement, so that it can be run again."""
        return self.shown.state in LOST


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """One row: its cells by repeat, and its valid values in `unit` by their statistics; None when there are none.

    `verdict`: what the rules about series say of its runs; None before one of them was recorded."""

    asked: SeriesRow
    cells: tuple[Cell, ...]
    unit: str
    summary: Summary | None
    median: float | None
    verdict: SeriesVerdict | None = None

    @property
    def values(self) -> list[float]:
        """The valid throughputs, by repeat."""
        counted = [tried.throughput for cell in self.cells if (tried := cell.counted)]
        return [value for value in counted if value is not None]

    @property
    def codes(self) -> frozenset[str]:
        """The versions of the code that its valid runs had, as far as they are known."""
        runs = [tried.run for cell in self.cells if (tried := cell.counted)]
        return frozenset(run.code_sha256 for run in runs if run and run.code_sha256)

    @property
    def typical(self) -> Tried | None:
        """The valid attempt that lies closest to the median, to stand for the row."""
        middle = self.median
        if middle is None:
            return None
        valid = [tried for cell in self.cells if (tried := cell.counted)]
        return min(valid, key=lambda tried: abs((tried.throughput or 0.0) - middle))


@dataclass(frozen=True, slots=True)
class NodeHours:
    """The budget and what became of it. `promised`: what active runs are expected to take beyond `used`."""

    used: float
    promised: float
    to_come: float
    budget: float | None


@dataclass(frozen=True, slots=True)
class Matrix:
    """A series as it stands. `codes`: how many different versions of the code its valid runs had.

    `here`: whether this console's ledger knows it. Of others only what was recorded is known, and nothing can be done.
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
        """Every cell, in the order of launching."""
        return tuple(sorted((cell for row in self.rows for cell in row.cells), key=lambda cell: cell.index))

    @property
    def done(self) -> int:
        """How many cells are not planned or active any more."""
        return sum(cell.shown.state not in (CellState.PLANNED, CellState.ACTIVE) for cell in self.cells)

    @property
    def valid(self) -> int:
        """How many cells have a valid measurement."""
        return sum(cell.counted is not None for cell in self.cells)

    @property
    def lost(self) -> int:
        """How many cells ended without one."""
        return sum(cell.is_lost for cell in self.cells)

    @property
    def counting(self) -> int:
        """How many rows' runs may be taken together, by the rules about series."""
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
        """Whether nothing more happens here unless a person asks for it."""
        return not self.here or self.state.has_ended


def matrix_of(
    standing: Standing,
    recorded: Mapping[str, RunRow],
    events: Sequence[Event] = (),
    verdicts: Sequence[SeriesVerdict] = (),
) -> Matrix:
    """The matrix of a series. `recorded`: what the warehouse holds of its runs, by run id; `verdicts`: what it says of
    series, this one among them."""
    series = standing.series
    by_run = {run_id: verdict for verdict in verdicts for run_id in verdict.run_ids}
    rows = tuple(_row(number, asked, standing, recorded, by_run) for number, asked in enumerate(series.rows))
    hours = NodeHours(standing.used, standing.promised, standing.to_come, series.budget)
    cells = [cell for row in rows for cell in row.cells]
    counted = {tried.run.code_sha256 for cell in cells if (tried := cell.counted) and tried.run}
    state = _state([cell.shown.state for cell in cells], bool(standing.runs), bool(standing.hold or series.trouble))
    return Matrix(series, state, rows, hours, standing.hold, len(counted), tuple(events))


def _row(
    number: int,
    asked: SeriesRow,
    standing: Standing,
    recorded: Mapping[str, RunRow],
    verdicts: Mapping[str, SeriesVerdict],
) -> MatrixRow:
    attempts = [attempt for attempt in standing.attempts if attempt.row == number]
    cells = tuple(_cells(attempts, standing.runs, recorded))
    valid = [tried for cell in cells if (tried := cell.counted)]
    values = [tried.throughput for tried in valid if tried.throughput is not None]
    unit = valid[-1].unit if valid else ""
    verdict = next((verdicts[attempt.run_id] for attempt in attempts if attempt.run_id in verdicts), None)
    return MatrixRow(asked, cells, unit, summary(values), median(values) if values else None, verdict)


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
