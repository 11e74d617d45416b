"""A series as a matrix: a row per distinct cell, a column per repeat, and statistics of each row."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from types import MappingProxyType

from aisbench_core.base.messages import Hint
from aisbench_core.domain.statistics.decision import TimedValue
from aisbench_core.domain.statistics.summary import Summary, summarize_values
from aisbench_core.model import (
    LOST,
    Attempt,
    Better,
    CellState,
    Event,
    Objective,
    ParameterSearch,
    Run,
    RunMetric,
    RunState,
    Series,
    SeriesRow,
    SeriesState,
)
from aisbench_core.running.series.snapshot import Hold, NodeHours, SeriesSnapshot, node_hours
from aisbench_core.running.series.stopping import Judgement, RowValues, judge_rows, widen_interval
from aisbench_core.warehouse.values.boards import mixed_or_unknown, what_makes_known
from aisbench_core.warehouse.values.runs import RunRow, SeriesEvaluation, Validity

_ENDS = {RunState.FAILED: CellState.FAILED, RunState.STOPPED: CellState.STOPPED}


@dataclass(frozen=True, slots=True)
class Tried:
    """One attempt; `throughput` in `unit`, if it was measured. `run` is None before it is launched.

    `objective`: of a valid trial of a search, in the search's unit; None if its run did not reach the target.
    `not_known`: what can decide its speed and is not known, separated by `;`. `has_missed`: its accuracy is below its
    target."""

    number: int
    state: CellState
    run: Run | None
    throughput: float | None = None
    unit: str = ""
    objective: float | None = None
    not_known: str = ""
    has_missed: bool = False

    @property
    def has_ended(self) -> bool:
        """Whether nothing more becomes of it."""
        return self.state not in (CellState.PLANNED, CellState.ACTIVE)


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
    """One row: its cells by repeat, and statistics of its valid values in `unit`; None when there are none. Where
    something that decides speed is not known of a run, the mean has no interval.

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
        return _list_throughputs(self.counted)

    @property
    def values_that_reached(self) -> list[TimedValue]:
        """Those of runs that are not below their target accuracy, with their times."""
        reached = [tried for tried in self.counted if not tried.has_missed]
        return [
            TimedValue(tried.throughput, tried.run.started_at or tried.run.created_at)
            for tried in reached
            if tried.throughput is not None and tried.run
        ]

    @property
    def missed(self) -> int:
        """How many of its valid runs are below their target accuracy."""
        return sum(tried.has_missed for tried in self.counted)

    @property
    def not_known(self) -> str:
        """What can decide speed and is not known of a valid run, separated by `;`."""
        return ";".join(dict.fromkeys(filter(None, (tried.not_known for tried in self.counted))))

    @property
    def mixed(self) -> Hint:
        """The same as a sentence, as on the leaderboard."""
        return mixed_or_unknown(self.not_known)

    @property
    def objective(self) -> float | None:
        """The objective of a trial of a search."""
        return self.counted[-1].objective if self.counted else None

    @property
    def codes(self) -> frozenset[str]:
        """The versions of the code of its valid runs, as far as known."""
        return frozenset(tried.run.code_sha256 for tried in self.counted if tried.run and tried.run.code_sha256)

    @property
    def typical(self) -> Tried | None:
        """The valid attempt closest to the median, which represents the row."""
        if self.median is None:
            return next(iter(self.counted), None)
        pairs = [(abs(tried.throughput - self.median), tried) for tried in self.counted if tried.throughput is not None]
        return min(pairs, key=lambda pair: pair[0])[1]


@dataclass(frozen=True, slots=True)
class BestRow:
    """The row with the best objective: the best median, unless a search has an objective of its own. A row with a run
    of which something that decides speed is not known is not the best one, and one below its target only if all are,
    or in a search.

    `tied`: how many other rows have intervals that reach its own, or too few runs to tell; 0 for trials of a search,
    which are single runs."""

    row: MatrixRow
    value: float
    unit: str
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
    metric: RunMetric | None = None
    """The one in place of throughputs, as its last run has it."""
    judgement: Judgement | None = None
    """What its stopping rule says, if it has one."""

    @property
    def higher_is_better(self) -> bool | None:
        """None: neither is."""
        return {Better.HIGHER: True, Better.LOWER: False}.get(self.metric.better) if self.metric else True

    @property
    def cells(self) -> tuple[Cell, ...]:
        """All cells in launch order."""
        return tuple(sorted((cell for row in self.rows for cell in row.cells), key=lambda cell: cell.index))

    @property
    def done(self) -> int:
        """The number of ended cells."""
        return sum(cell.shown.has_ended for cell in self.cells)

    @property
    def valid(self) -> int:
        """The number of cells with a valid measurement."""
        return sum(cell.counted is not None for cell in self.cells)

    @property
    def lost(self) -> int:
        """The number of cells that ended without one."""
        return sum(cell.is_lost for cell in self.cells)

    @property
    def most_repeats(self) -> int:
        """The columns of the matrix: of a stopping rule, only repeats of which a run was launched."""
        if not self.judgement:
            return self.series.plan.repeats
        launched = [cell.repeat for cell in self.cells if any(tried.run for tried in cell.tries)]
        return max(launched, default=1)

    @property
    def counting(self) -> int:
        """The number of rows whose runs may be combined, by the series rules."""
        return sum(row.evaluation is not None and row.evaluation.counts for row in self.rows)

    @property
    def rivals(self) -> tuple[tuple[float, MatrixRow], ...]:
        """The rows with their objectives, if it varies hyperparameters and two rows or more have values in one unit."""
        search, plan = self.series.plan.search, self.series.plan
        values = [(row.objective if search else row.median, row) for row in self.rows]
        measured = tuple((value, row) for value, row in values if value is not None)
        has_one_unit = len({row.unit for _, row in measured}) == 1
        return measured if (search or plan.values) and len(measured) > 1 and has_one_unit else ()

    @property
    def best(self) -> BestRow | None:
        """The best of the rivals; None without any that can be it."""
        search = self.series.plan.search
        is_maximised = search.objective.is_maximised if search else self.higher_is_better
        if is_maximised is None:
            return None
        known = [(value, row) for value, row in self.rivals if not row.mixed]
        # A search has an objective of its own, and short runs reach no target at all: those are compared all the same.
        ranked = known if search else [(value, row) for value, row in known if not row.missed] or known
        if not ranked:
            return None
        value, best = (max if is_maximised else min)(ranked, key=lambda pair: pair[0])
        unit = (search.unit if search else "") or best.unit
        others = [row for _, row in ranked if row is not best]
        tied = 0 if search else sum(not _is_clearly_better(best, row, is_maximised) for row in others)
        return BestRow(best, value, unit, tied)

    @property
    def mixed(self) -> Hint:
        """What is not known of any row, as a sentence."""
        return mixed_or_unknown(*(row.not_known for row in self.rows))

    @property
    def advice(self) -> Hint:
        """What makes it known of later runs."""
        return what_makes_known(*(row.not_known for row in self.rows))

    @property
    def missed(self) -> int:
        """How many valid runs are below their target accuracy."""
        return sum(row.missed for row in self.rows)

    @property
    def can_stop(self) -> bool:
        """Whether anything is active or still to come."""
        return self.here and self.done < len(self.cells)

    @property
    def can_rerun(self) -> bool:
        """Whether there are lost cells that can be run again, and a stopping rule has not measured enough without."""
        return self.here and self.lost > 0 and not (self.judgement and self.judgement.is_met)

    @property
    def is_settled(self) -> bool:
        """Whether nothing more happens unless a person requests it."""
        return not self.here or self.state.has_ended


def _list_throughputs(tries: Sequence[Tried]) -> list[float]:
    return [tried.throughput for tried in tries if tried.throughput is not None]


def _is_clearly_better(row: MatrixRow, other: MatrixRow, is_maximised: bool) -> bool:
    upper, lower = (row, other) if is_maximised else (other, row)
    low = upper.summary.ci_low if upper.summary else None
    high = lower.summary.ci_high if lower.summary else None
    return low is not None and high is not None and low > high


def matrix_of(
    snapshot: SeriesSnapshot,
    recorded: Mapping[str, RunRow],
    events: Sequence[Event] = (),
    evaluations: Sequence[SeriesEvaluation] = (),
    seconds_to_target: Mapping[str, float] = MappingProxyType({}),
) -> Matrix:
    """The matrix of a series. `recorded`: the warehouse's rows of its runs, by run id; `evaluations`: of series, this
    one among them; `seconds_to_target`: by run id, where a search needs them."""
    series, rows = snapshot.series, list[MatrixRow]()
    by_run = {run_id: evaluation for evaluation in evaluations for run_id in evaluation.run_ids}
    for number, planned in enumerate(series.rows):
        tries: dict[tuple[int, int], list[Tried]] = {}
        attempts = [attempt for attempt in snapshot.attempts if attempt.row == number]
        for attempt in attempts:
            tried = _build_tried(attempt, snapshot.runs.get(attempt.run_id), recorded.get(attempt.run_id))
            if series.plan.search and tried.run and tried.state is CellState.VALID:
                objective = _get_objective(series.plan.search, tried, tried.run, seconds_to_target)
                tried = replace(tried, objective=objective)
            tries.setdefault((attempt.cell, attempt.repeat), []).append(tried)
        row_cells = tuple(Cell(*cell, tuple(tries[cell])) for cell in sorted(tries))
        # A trial is a single run, which is no repeatable measurement, and is not meant to be one.
        run_ids = () if series.plan.search else [attempt.run_id for attempt in attempts if attempt.run_id in by_run]
        evaluation = next((by_run[run_id] for run_id in run_ids), None)
        rows.append(summarize_cells(planned, row_cells, evaluation))
    judgement = None
    if until := series.plan.stopping:
        judgement = judge_rows(until, [_measure_row(row) for row in rows])
        rows = [replace(row, summary=widen_interval(row.summary, row.values, until.rule)) for row in rows]
    following = snapshot.choose_waiting(judgement.wanted) if judgement else snapshot
    cells, hold = [cell for row in rows for cell in row.cells], following.hold
    codes = {cell.counted.run.code_sha256 for cell in cells if cell.counted and cell.counted.run}
    state = _derive_state(
        [cell.shown.state for cell in cells], bool(snapshot.runs), bool(hold or series.launch_error or series.held)
    )
    return Matrix(series, state, tuple(rows), snapshot.hours, hold, len(codes), tuple(events), judgement=judgement)


def _measure_row(row: MatrixRow) -> RowValues:
    active = sum(cell.shown.state is CellState.ACTIVE for cell in row.cells)
    title = row.planned.version or row.planned.image or row.planned.title
    return RowValues(title, row.values, active, sum(cell.is_lost for cell in row.cells))


def summarize_cells(planned: SeriesRow, cells: tuple[Cell, ...], evaluation: SeriesEvaluation | None) -> MatrixRow:
    """A row with the statistics of its valid values."""
    counted = [cell.counted for cell in cells if cell.counted]
    values = _list_throughputs(counted)
    unit = next((tried.unit for tried in reversed(counted) if tried.unit), "")
    found = summarize_values(values)
    if found and any(tried.not_known for tried in counted):
        found = found.without_interval
    return MatrixRow(planned, cells, unit, found, median(values) if values else None, evaluation)


def _build_tried(attempt: Attempt, run: Run | None, row: RunRow | None) -> Tried:
    if run is None:
        return Tried(attempt.number, CellState.CANCELLED if attempt.cancelled else CellState.PLANNED, None)
    if not run.state.is_terminal:
        return Tried(attempt.number, CellState.ACTIVE, run)
    if run.is_stopped_early:
        return Tried(attempt.number, CellState.STOPPED_EARLY, run)
    if row is None or run.state in _ENDS:
        return Tried(attempt.number, _ENDS.get(run.state, CellState.INVALID), run)
    valid = row.validity is Validity.VALID and row.throughput is not None
    state = CellState.VALID if valid else CellState.INVALID
    has_missed = row.target_outcome.is_missed
    return Tried(
        attempt.number, state, run, row.throughput, row.throughput_unit, not_known=row.not_known, has_missed=has_missed
    )


def _get_objective(
    search: ParameterSearch, tried: Tried, run: Run, seconds_to_target: Mapping[str, float]
) -> float | None:
    match search.objective:
        case Objective.THROUGHPUT:
            return tried.throughput
        case Objective.TIME_TO_ACCURACY:
            return seconds_to_target.get(run.run_id)
        case Objective.COST:  # the run has ended, so the time now does not count
            return None if run.duration_s is None else node_hours(run, run.created_at) * (search.price or 0.0)


def _derive_state(cells: Sequence[CellState], begun: bool, hindered: bool) -> SeriesState:
    if CellState.ACTIVE in cells:
        return SeriesState.RUNNING
    if CellState.PLANNED in cells:
        waiting = SeriesState.RUNNING if begun else SeriesState.PLANNED
        return SeriesState.HELD if hindered else waiting
    if {CellState.CANCELLED, CellState.STOPPED} & {*cells}:
        return SeriesState.STOPPED
    if {*cells} <= {CellState.VALID, CellState.STOPPED_EARLY}:
        return SeriesState.COMPLETED
    return SeriesState.COMPLETED_WITH_FAILURES
