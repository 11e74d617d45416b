"""What came of a scheduled series: how many cells are valid, and the regression verdict on its benchmarks."""

from collections.abc import Iterator
from dataclasses import dataclass

from aisbench_core.base.formats import format_change
from aisbench_core.base.messages import Message, choose_plural, join_parts
from aisbench_core.model import Level
from aisbench_core.running.series.matrix import Matrix
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.histories import Outcome
from aisbench_core.warehouse.values.runs import BoardQuery
from aisbench_core.warehouse.values.trend_verdicts import TrendVerdict

OUTCOMES = {
    Outcome.REGRESSION: Message("regression"),
    Outcome.IMPROVEMENT: Message("improvement"),
    Outcome.NO_CHANGE: Message("no change"),
    Outcome.NOT_ENOUGH: Message("not enough data"),
}


@dataclass(frozen=True, slots=True)
class SeriesOutcome:
    """One sentence about an ended series, and how serious it is."""

    text: Message
    level: Level


def series_outcome(matrix: Matrix, warehouse: Warehouse) -> SeriesOutcome:
    """The outcome of a series that has ended. Raises WarehouseError when the results cannot be read."""
    groups = _find_groups(matrix, warehouse)
    found = {group.verdict.outcome for group in groups}
    worst = next((outcome for outcome in Outcome if outcome in found), Outcome.NOT_ENOUGH)
    cells = len(matrix.cells)
    counts = choose_plural(
        cells, "{valid} of {number} cell is valid", "{valid} of {number} cells are valid", valid=matrix.valid
    )
    changes = [change for group in groups if group.verdict.outcome is worst for change in _iterate_changes(group)]
    withheld = [group.verdict.withheld for group in groups if worst is Outcome.NOT_ENOUGH and group.verdict.withheld]
    text = join_parts(": ", [OUTCOMES[worst], *changes[:1], *withheld[:1]])
    lost = matrix.valid < cells
    level = Level.WARNING if lost or worst is Outcome.REGRESSION else Level.INFO
    return SeriesOutcome(join_parts("; ", [counts, text]), level)


def _find_groups(matrix: Matrix, warehouse: Warehouse) -> list[TrendVerdict]:
    """The verdicts on the benchmarks of its runs, each against its baseline, as `aisbench regress` gives them."""
    run_ids = [tried.run.run_id for cell in matrix.cells for tried in cell.tries if tried.run]
    rows = warehouse.runs.find_rows(run_ids)
    regions = {(row.region, row.rehearsal) for row in rows.values()}
    tested = [
        group
        for region, rehearsal in sorted(regions)
        for group in warehouse.trends.list_verdicts(BoardQuery(region, rehearsal=rehearsal)).groups
    ]
    return [
        group
        for group in tested
        if not {*group.verdict.candidate_run_ids, *group.verdict.baseline_run_ids}.isdisjoint(run_ids)
    ]


def _iterate_changes(group: TrendVerdict) -> Iterator[Message]:
    metric = group.verdict.decisive
    if metric and metric.difference and group.verdict.outcome in (Outcome.REGRESSION, Outcome.IMPROVEMENT):
        change = format_change(metric.difference.change, 1)
        yield Message(
            "{metric} changed by {change} against {baseline}",
            metric=metric.name,
            change=change,
            baseline=group.verdict.baseline or Message("the level before"),
        )
