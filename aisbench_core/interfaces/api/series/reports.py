"""Series: lists, and one with its plan, its cells and the statistics of its rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from pydantic import Field

from aisbench_core.domain.statistics.summary import Summary
from aisbench_core.interfaces.api.cursors import Cursor, Limit, cursor_of, position_of
from aisbench_core.interfaces.api.endpoint import ApiCall
from aisbench_core.model import CellState, Frozen, RunState, Scalar, SeriesPlan, SeriesState
from aisbench_core.running.series.matrix import BestRow, Cell, Matrix, MatrixRow, Tried
from aisbench_core.running.series.snapshot import NodeHours
from aisbench_core.warehouse.values.runs import SeriesEvaluation


class SeriesQuery(Frozen):
    """Which page of series."""

    limit: Limit = 20
    cursor: Cursor = ""


@dataclass(frozen=True, slots=True)
class SeriesSummary:
    """A series in a list: how many of its cells have ended, are valid, and ended without a valid result."""

    series_id: str
    name: str
    workload: str
    profile: str
    created_at: datetime
    created_by: str
    state: SeriesState
    cells: int
    """Number of cells: runs that the plan asks for."""
    ended: int
    """Number of cells that have ended."""
    valid: int
    """Number of cells with a valid result."""
    lost: int
    """Number of cells that ended without a valid result."""
    node_hours: NodeHours


@dataclass(frozen=True, slots=True)
class SeriesListing:
    """Series, newest first. `next` is null on the last page."""

    items: Sequence[SeriesSummary]
    next: str | None


@dataclass(frozen=True, slots=True)
class AttemptReport:
    """An attempt at a cell. `run_id` is null before its launch, `throughput` (in `unit`) unless it was measured."""

    number: int
    """Number of the attempt, from 1."""
    state: CellState
    run_id: str | None
    run_state: RunState | None
    throughput: float | None
    """In `unit`; null unless it was measured."""
    unit: str
    objective: Annotated[
        float | None, Field(description="Of a valid trial of a search, in the unit of the search; null otherwise.")
    ]


class MetricQuery(Frozen):
    """What the values are."""

    metric: Annotated[
        str, Field(max_length=200, description="A metric of the runs in place of their throughputs; empty: these.")
    ] = ""


@dataclass(frozen=True, slots=True)
class CellReport:
    """A cell, with the attempt at it that counts, else the latest. `throughput` is null unless it was measured."""

    cell: int
    """Number of the cell in the order of launching, from 1."""
    repeat: int
    """Number of the repeat, from 1."""
    attempts: Annotated[int, Field(description="How many there were so far.")]
    state: CellState
    run_id: str | None
    run_state: RunState | None
    throughput: float | None
    """In `unit`; null unless it was measured."""
    unit: str
    tries: Annotated[Sequence[AttemptReport], Field(description="All attempts, oldest first.")]


@dataclass(frozen=True, slots=True)
class RowReport:
    """A row: what distinguishes it, its cells, and the statistics of its valid values in `unit`."""

    node_count: int
    version: str
    image: str
    parameters: Mapping[str, Scalar]
    unit: str
    median: float | None
    """Median of the valid values, in `unit`."""
    objective: Annotated[float | None, Field(description="Of a trial of a search, in the unit of the search.")]
    summary: Summary | None
    not_known: str
    missed: int
    """Valid runs whose accuracy is below their target."""
    evaluation: SeriesEvaluation | None
    cells: Sequence[CellReport]


@dataclass(frozen=True, slots=True)
class BestRowReport:
    """The best row of a series that varies hyperparameters; `run_id` is the run closest to its median."""

    node_count: int
    version: str
    image: str
    parameters: Mapping[str, Scalar]
    value: float
    """In `unit`."""
    unit: str
    tied: Annotated[int, Field(description="Other rows that are not clearly worse; 0 for trials of a search.")]
    run_id: str | None


@dataclass(frozen=True, slots=True)
class JudgementReport:
    """What the stopping rule of a series says now."""

    is_met: bool
    """Whether it has measured enough."""
    finding: str
    """What was found so far, as a sentence."""
    probabilities: Annotated[
        Sequence[float], Field(description="Of each row to be the first slower one; empty for other rules.")
    ]


@dataclass(frozen=True, slots=True)
class SeriesDetails:
    """A series with its rows. `held`: why its next cell is not launched, or empty."""

    series: SeriesSummary
    plan: Annotated[SeriesPlan, Field(description="As it was launched; POST it again for another series of it.")]
    metric: Annotated[str, Field(description="What every value is of; empty: the throughput.")]
    held: str
    best: BestRowReport | None
    """Of a series that varies hyperparameters; null while no row is."""
    judgement: JudgementReport | None
    """Of a series with `until`; null otherwise."""
    rows: Sequence[RowReport]


def list_series(call: ApiCall) -> SeriesListing:
    """A page of series, those of other consoles included."""
    query: SeriesQuery = call.query
    (behind,) = position_of(query.cursor, str) if query.cursor else ("",)
    found = call.core.series.page_behind(behind, query.limit + 1)
    page = [*map(_to_summary, found[: query.limit])]
    return SeriesListing(page, cursor_of(page[-1].series_id) if len(found) > query.limit else None)


def show_series(call: ApiCall) -> SeriesDetails:
    """One series by its id or a unique prefix of it. `throughput` and statistics are of `metric`, if one is asked."""
    return details_of(call.core.series.measure(call.path["series_id"], call.query.metric))


def details_of(matrix: Matrix) -> SeriesDetails:
    """A series as the API shows it."""
    held = matrix.series.held or matrix.series.launch_error or (matrix.hold.sentence if matrix.hold else "")
    best = _to_best_row(matrix.best) if matrix.best else None
    found = matrix.judgement
    judgement = JudgementReport(found.is_met, found.finding, found.probabilities) if found else None
    metric, rows = matrix.metric.name if matrix.metric else "", [*map(_to_row, matrix.rows)]
    return SeriesDetails(_to_summary(matrix), matrix.series.plan, metric, held, best, judgement, rows)


def _to_summary(matrix: Matrix) -> SeriesSummary:
    series = matrix.series
    return SeriesSummary(
        series.series_id, series.title, series.plan.spec.workload, series.profile, series.created_at,
        series.created_by, matrix.state, len(matrix.cells), matrix.done, matrix.valid, matrix.lost, matrix.hours,
    )  # fmt: skip


def _to_best_row(best: BestRow) -> BestRowReport:
    planned, typical = best.row.planned, best.row.typical
    return BestRowReport(
        planned.node_count, planned.version, planned.image, planned.parameters, best.value, best.unit, best.tied,
        typical.run.run_id if typical and typical.run else None,
    )  # fmt: skip


def _to_row(row: MatrixRow) -> RowReport:
    planned = row.planned
    return RowReport(
        planned.node_count, planned.version, planned.image, planned.parameters, row.unit, row.median, row.objective,
        row.summary, row.not_known, row.missed, row.evaluation, [*map(_to_cell, row.cells)],
    )  # fmt: skip


def _to_cell(cell: Cell) -> CellReport:
    shown, run = cell.shown, cell.shown.run
    return CellReport(
        cell.index, cell.repeat, len(cell.tries), shown.state, run.run_id if run else None,
        run.state if run else None, shown.throughput, shown.unit, [*map(_to_attempt, cell.tries)],
    )  # fmt: skip


def _to_attempt(tried: Tried) -> AttemptReport:
    run = tried.run
    return AttemptReport(
        tried.number, tried.state, run.run_id if run else None, run.state if run else None, tried.throughput,
        tried.unit, tried.objective,
    )  # fmt: skip
