"""Series: lists, and one with its cells and the statistics of its rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from aisbench_core.api.cursors import cursor_of, position_of
from aisbench_core.api.endpoint import ApiCall
from aisbench_core.api.runs import Cursor, Limit
from aisbench_core.model import CellState, Frozen, RunState, Scalar, SeriesState
from aisbench_core.series.matrix import Cell, Matrix, MatrixRow
from aisbench_core.series.snapshot import NodeHours
from aisbench_core.statistics.summary import Summary
from aisbench_core.warehouse.values import SeriesEvaluation


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
    ended: int
    valid: int
    lost: int
    node_hours: NodeHours


@dataclass(frozen=True, slots=True)
class SeriesListing:
    """Series, newest first. `next` is null on the last page."""

    items: Sequence[SeriesSummary]
    next: str | None


@dataclass(frozen=True, slots=True)
class CellReport:
    """The attempt at a cell that counts, else the latest. `throughput` is null unless it was measured."""

    cell: int
    repeat: int
    attempts: int
    state: CellState
    run_id: str | None
    run_state: RunState | None
    throughput: float | None
    unit: str


@dataclass(frozen=True, slots=True)
class RowReport:
    """A row: what distinguishes it, its cells, and the statistics of its valid values in `unit`."""

    node_count: int
    version: str
    image: str
    parameters: Mapping[str, Scalar]
    unit: str
    median: float | None
    summary: Summary | None
    evaluation: SeriesEvaluation | None
    cells: Sequence[CellReport]


@dataclass(frozen=True, slots=True)
class SeriesDetails:
    """A series with its rows. `held`: why its next cell is not launched, or empty."""

    series: SeriesSummary
    held: str
    rows: Sequence[RowReport]


def list_series(call: ApiCall) -> SeriesListing:
    """A page of series, those of other consoles included."""
    query: SeriesQuery = call.query
    (behind,) = position_of(query.cursor, str) if query.cursor else ("",)
    found = call.core.series.page_behind(behind, query.limit + 1)
    page = [*map(_summary, found[: query.limit])]
    return SeriesListing(page, cursor_of(page[-1].series_id) if len(found) > query.limit else None)


def show_series(call: ApiCall) -> SeriesDetails:
    """One series by its id or a unique prefix of it."""
    matrix = call.core.series.matrix(call.path["series_id"])
    held = matrix.series.launch_error or (matrix.hold.sentence if matrix.hold else "")
    return SeriesDetails(_summary(matrix), held, [*map(_row, matrix.rows)])


def _summary(matrix: Matrix) -> SeriesSummary:
    series = matrix.series
    return SeriesSummary(
        series.series_id, series.title, series.plan.spec.workload, series.profile, series.created_at,
        series.created_by, matrix.state, len(matrix.cells), matrix.done, matrix.valid, matrix.lost, matrix.hours,
    )  # fmt: skip


def _row(row: MatrixRow) -> RowReport:
    planned = row.planned
    return RowReport(
        planned.node_count, planned.version, planned.image, planned.parameters, row.unit, row.median, row.summary,
        row.evaluation, [*map(_cell, row.cells)],
    )  # fmt: skip


def _cell(cell: Cell) -> CellReport:
    shown, run = cell.shown, cell.shown.run
    return CellReport(
        cell.index, cell.repeat, len(cell.tries), shown.state, run.run_id if run else None,
        run.state if run else None, shown.throughput, shown.unit,
    )  # fmt: skip
