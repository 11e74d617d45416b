"""A series by a named metric of its runs in place of their throughputs: never of two units or definitions."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from aisbench_core.model import Better, RunMetric
from aisbench_core.running.series.matrix import Matrix, MatrixRow, Tried, summarize_cells


def show_metric(matrix: Matrix, name: str, found: Mapping[str, Sequence[RunMetric]]) -> Matrix:
    """The matrix with the values of a metric, by run id, in the unit and definition that the last run has.

    Runs without it, or with another unit or definition, have no value."""
    by_run = {run_id: metric for run_id, metrics in found.items() for metric in metrics if metric.name == name}
    own = [by_run[run_id] for row in matrix.rows for run_id in _list_runs(row) if run_id in by_run]
    if not own:
        return matrix
    same = {run_id: metric for run_id, metric in by_run.items() if _kind_of(metric) == _kind_of(own[-1])}
    better = {metric.better for metric in same.values()}
    shown = own[-1] if len(better) == 1 else replace(own[-1], better=Better.NEITHER)
    return replace(matrix, rows=tuple(_replace_values(row, same) for row in matrix.rows), metric=shown)


def list_metrics(matrix: Matrix, found: Mapping[str, Sequence[RunMetric]]) -> list[str]:
    """The names of the metrics of its valid runs."""
    run_ids = [run_id for row in matrix.rows for run_id in _list_runs(row)]
    return sorted({metric.name for run_id in run_ids for metric in found.get(run_id, ())})


def _list_runs(row: MatrixRow) -> list[str]:
    return [tried.run.run_id for tried in row.counted if tried.run]


def _kind_of(metric: RunMetric) -> tuple[str, str]:
    return metric.unit, metric.definition


def _replace_values(row: MatrixRow, by_run: Mapping[str, RunMetric]) -> MatrixRow:
    cells = [replace(cell, tries=tuple(_replace_value(tried, by_run) for tried in cell.tries)) for cell in row.cells]
    return summarize_cells(row.planned, tuple(cells), row.evaluation)


def _replace_value(tried: Tried, by_run: Mapping[str, RunMetric]) -> Tried:
    metric = by_run.get(tried.run.run_id) if tried.run else None
    value, unit = (metric.value, metric.unit) if metric else (None, "")
    return replace(tried, throughput=value, unit=unit)
