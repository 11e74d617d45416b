"""Series as JSON and as text: matrix, statistics, trials of a search, and two series beside each other."""

from collections.abc import Iterator
from dataclasses import asdict

from aisbench_core.base import formats
from aisbench_core.interfaces.cli import display
from aisbench_core.interfaces.cli.regression.text import change_interval, power_text
from aisbench_core.model import ParameterSearch
from aisbench_core.model.columns.statistics import OLYMPIC_MEAN
from aisbench_core.model.search import Values
from aisbench_core.running.series.comparing import RowPair, SeriesComparison
from aisbench_core.running.series.matrix import BestRow, Cell, Matrix, MatrixRow
from aisbench_core.running.series.stopping import Judgement
from aisbench_core.warehouse.values.runs import SeriesEvaluation


def matrix_json(matrix: Matrix) -> dict[str, object]:
    series = matrix.series
    return {
        **display.pick_fields(series, "series_id", "profile", "created_at", "created_by", "plan"),
        **display.pick_fields(matrix, "state", "valid", "lost", "events"),
        "metric": metric_json(matrix),
        "best": {**row_json(matrix.best.row), **display.pick_fields(matrix.best, "value", "unit")}
        if matrix.best
        else None,
        "judgement": judgement_json(matrix.judgement) if matrix.judgement else None,
        "name": series.title,
        "held": series.held or (matrix.hold.sentence if matrix.hold else series.launch_error),
        "node_hours": asdict(matrix.hours),
        "cells": [_cell_json(row, cell) for row in matrix.rows for cell in row.cells],
        "rows": [*map(_statistics_json, matrix.rows)],
    }


def judgement_json(judgement: Judgement) -> dict[str, object]:
    return display.pick_fields(judgement, "is_met", "finding", "probabilities")


def metric_json(matrix: Matrix) -> dict[str, object] | None:
    """What stands in place of every throughput; None: nothing does."""
    return display.pick_fields(matrix.metric, "name", "unit", "better", "definition") if matrix.metric else None


def row_json(row: MatrixRow) -> dict[str, object]:
    return display.pick_fields(row.planned, "node_count", "version", "image", "parameters")


def _cell_json(row: MatrixRow, cell: Cell) -> dict[str, object]:
    attempts = [
        {
            **display.pick_fields(attempt, "number", "state", "throughput", "unit", "objective"),
            **{"run_id": run.run_id if run else None, "run_state": run.state if run else None},
        }
        for attempt in cell.tries
        for run in [attempt.run]
    ]
    current = attempts[cell.tries.index(cell.shown)]
    return {"cell": cell.index, **row_json(row), "repeat": cell.repeat, **current, "attempts": attempts}


def _statistics_json(row: MatrixRow) -> dict[str, object]:
    return {
        **row_json(row),
        **display.pick_fields(row, "unit", "median", "not_known", "missed"),
        "cells": len(row.cells),
        **(asdict(row.summary) if row.summary else {"count": 0, "mean": None}),
        # `counts` is a property, which asdict leaves out.
        "verdict": {**asdict(row.evaluation), "counts": row.evaluation.counts} if row.evaluation else None,
    }


def report_text(matrix: Matrix) -> str:
    series = matrix.series
    fields = display.format_fields(
        ("series", series.series_id),
        ("name", series.plan.name),
        ("state", str(matrix.state)),
        ("held", series.held or series.launch_error or (matrix.hold.sentence if matrix.hold else "")),
        ("workload", series.plan.spec.workload),
        ("profile", series.profile),
        ("until", series.plan.until),
        ("found", matrix.judgement.finding if matrix.judgement else ""),
        ("search", _search_text(series.plan.search) if series.plan.search else ""),
        ("cells", f"{len(matrix.cells)}: {matrix.valid} valid, {matrix.lost} without a valid result"),
        ("at a time", str(series.plan.parallel)),
        ("node hours", f"{used_hours(matrix)}, {matrix.hours.promised + matrix.hours.to_come:.3g} remaining"),
        ("created", f"{display.local_time(series.created_at)} by {series.created_by}"),
        ("metric", matrix.metric.name if matrix.metric else ""),
        ("code", f"{matrix.codes} different versions were measured" if matrix.codes > 1 else ""),
    )
    checks = [
        (row.planned.title, check.id, str(check.level), check.expected, check.found, check.evidence)
        for row in matrix.rows
        if row.evaluation
        for level in ("fail", "warn")
        for check in row.evaluation.checks
        if check.level == level
    ]
    lost = [  # and the run that explains why
        (
            row.planned.title,
            str(cell.repeat),
            str(cell.shown.state),
            *((run.run_id, run.explanation) if run else ("", "")),
        )
        for row in matrix.rows
        for cell in row.cells
        if cell.is_lost
        for run in [cell.shown.run]
    ]
    best = matrix.best
    if not best and matrix.mixed:
        fields += "\n" + display.format_fields(("no best row", matrix.mixed))
    if best:
        fields += "\n" + display.format_fields(("best", f"{best.row.planned.title}: {best_text(best)}"))
    parts = [
        fields,
        *([_format_trials(matrix)] if series.plan.search else [_format_cells(matrix), _format_statistics(matrix)]),
    ]
    if checks:
        parts.append(display.format_table(("row", "check", "level", "expected", "found", "evidence"), checks))
    if lost:
        parts.append(display.format_table(("without a valid result", ">repeat", "state", "run", "detail"), lost))
    return "\n\n".join(parts)


def _search_text(search: ParameterSearch) -> str:
    space = "; ".join(f"{name}={_values_text(values)}" for name, values in search.space.items())
    early = ", early stop" if search.early_stop else ""
    return f"{space} by {search.sampler}, objective {search.objective}, seed {search.seed}{early}"


def _values_text(values: Values) -> str:
    return ",".join(map(str, values)) if isinstance(values, tuple) else values.text


def _format_trials(matrix: Matrix) -> str:
    """A line for each trial whose values are chosen."""
    search = matrix.series.plan.search
    unit = search.unit if search else ""
    trials = [(cell, row) for row in matrix.rows for cell in row.cells if row.planned.parameters]
    columns: display.Columns[tuple[Cell, MatrixRow]] = {
        ">trial": lambda trial: str(trial[0].index),
        "values": lambda trial: trial[1].planned.title,
        f">objective{f' ({unit})' if unit else ''}": lambda trial: formats.format_number(trial[1].objective),
        ">throughput": lambda trial: formats.format_number(trial[1].median),
        "unit": lambda trial: trial[1].unit,
        "state": lambda trial: str(trial[0].shown.state),
        "run": lambda trial: trial[0].shown.run.run_id if trial[0].shown.run else "",
        "detail": lambda trial: trial[0].shown.run.explanation if trial[0].shown.run and not trial[0].is_lost else "",
    }
    return display.table_of(trials, columns)


def _format_cells(matrix: Matrix) -> str:
    repeats = [f">{number}" for number in range(1, matrix.most_repeats + 1)]
    cells = [
        (row.planned.title, *(texts + [""] * len(repeats))[: len(repeats)], row.unit)
        for row in matrix.rows
        for texts in [[*map(_format_cell, row.cells)]]
    ]
    return display.format_table(("row", *repeats, "unit"), cells)


def best_text(best: BestRow) -> str:
    value = f"{formats.format_number(best.value)} {best.unit}" + (", target missed" if best.row.missed else "")
    return (
        value if not best.tied else f"{value}, not clearly better than {display.format_count(best.tied, 'other row')}"
    )


def _format_cell(cell: Cell) -> str:
    attempt = cell.shown
    number = f" (attempt {attempt.number})" if attempt.number > 1 else ""
    if attempt.state == "valid":
        return formats.format_number(attempt.throughput) + number + (", target missed" if attempt.has_missed else "")
    active = attempt.run if attempt.state == "active" else None
    return (display.format_state(active) if active else str(attempt.state)) + number


def _format_statistics(matrix: Matrix) -> str:
    columns: display.Columns[MatrixRow] = {
        "row": lambda row: row.planned.title,
        ">n": lambda row: f"{row.summary.count if row.summary else 0} of {len(row.cells)}",
        ">mean": lambda row: formats.format_number(row.summary.mean if row.summary else None),
        ">median": lambda row: formats.format_number(row.median),
        ">sd": lambda row: formats.format_number(row.summary.sd if row.summary else None),
        ">CV": lambda row: formats.format_percent(row.summary.cv if row.summary else None),
        ">95 % CI": lambda row: (
            (row.mixed or formats.MISSING)  # one run has no interval
            if row.summary is None or row.summary.ci_low is None
            else f"{formats.format_number(row.summary.ci_low)} to {formats.format_number(row.summary.ci_high)}"
        ),
        f">{OLYMPIC_MEAN.label.lower()}": lambda row: formats.format_number(
            getattr(row.summary, OLYMPIC_MEAN.name, None)
        ),
        "unit": lambda row: row.unit,
        "verdict": lambda row: _describe_counting(row.evaluation) if row.evaluation else "",
        "target": lambda row: f"{row.missed} of {len(row.counted)} missed" if row.missed else "",
    }
    return display.table_of(matrix.rows, columns)


def _describe_counting(evaluation: SeriesEvaluation) -> str:
    if not evaluation.counts:
        return "failed"
    return "passed, with warnings" if any(check.level == "warn" for check in evaluation.checks) else "passed"


def used_hours(matrix: Matrix) -> str:
    hours = matrix.hours
    return f"{hours.used:.3g}" + ("" if hours.budget is None else f" of {hours.budget:g}")


def comparison_text(comparison: SeriesComparison) -> str:
    sides = display.format_fields(
        ("verdict", str(comparison.outcome)),
        ("metric", comparison.candidate.metric.name if comparison.candidate.metric else ""),
        ("baseline", f"{comparison.baseline.series.title} {comparison.baseline.series.series_id}"),
        ("candidate", f"{comparison.candidate.series.title} {comparison.candidate.series.series_id}"),
        ("not compared", ", ".join(row.title for row in comparison.alone)),
    )
    sides_heads = ("row", ">n", ">baseline", ">n", ">candidate", "unit")
    heads = (*sides_heads, ">change", ">95 % interval", ">p", ">adjusted p", "verdict")
    rows = display.format_table(heads, [tuple(_pair_cells(pair)) for pair in comparison.pairs])
    fields = [
        (difference.field, *map(display.format_value, difference.values)) for difference in comparison.differences
    ]
    differs = display.format_table(("differs", "baseline", "candidate"), fields) if fields else "the specs are equal"
    powers = [f"{pair.candidate.planned.title}: {power_text(pair.power)}" for pair in comparison.pairs if pair.power]
    return "\n\n".join(filter(None, [sides, rows, differs, "\n".join(powers)]))


def _pair_cells(pair: RowPair) -> Iterator[str]:
    yield pair.candidate.planned.title
    for row in (pair.baseline, pair.candidate):
        yield str(row.summary.count if row.summary else 0)
        yield formats.format_number(row.summary.mean if row.summary else None)
    yield pair.candidate.unit
    yield formats.format_change(pair.difference.change if pair.difference else None)
    yield change_interval(pair.difference)
    yield formats.p_value(pair.difference.p_value if pair.difference else None)
    yield formats.p_value(pair.adjusted_p)
    missed = f", target missed by {display.format_count(pair.missed, 'run')}" if pair.missed else ""
    reasons = f"{pair.comparability}: {', '.join(pair.reasons)}" if pair.reasons else ""
    yield (reasons or pair.withheld or str(pair.outcome)) + missed
