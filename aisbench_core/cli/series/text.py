"""A series, as text and for JSON."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from aisbench_core import formats
from aisbench_core.cli import display

if TYPE_CHECKING:
    from aisbench_core.model import SeriesRow
    from aisbench_core.series.matrix import Cell, Matrix, MatrixRow
    from aisbench_core.series.planning import RowFinding, SeriesDraft


def matrix_json(matrix: "Matrix") -> dict[str, object]:
    series = matrix.series
    return {
        **display.pick(series, "series_id", "profile", "created_at", "created_by", "plan"),
        **display.pick(matrix, "state", "valid", "lost", "events"),
        "name": series.title,
        "held": matrix.hold.sentence if matrix.hold else series.launch_error,
        "node_hours": asdict(matrix.hours),
        "cells": [_cell_json(row, cell) for row in matrix.rows for cell in row.cells],
        "rows": [*map(_statistics_json, matrix.rows)],
    }


def row_json(row: "MatrixRow") -> dict[str, object]:
    return {"node_count": row.planned.node_count, "version": row.planned.version, "image": row.planned.image}


def _cell_json(row: "MatrixRow", cell: "Cell") -> dict[str, object]:
    attempts = [
        {
            **display.pick(attempt, "number", "state", "throughput", "unit"),
            **{"run_id": run.run_id if run else None, "run_state": run.state if run else None},
        }
        for attempt in cell.tries
        for run in [attempt.run]
    ]
    current = attempts[cell.tries.index(cell.shown)]
    return {"cell": cell.index, **row_json(row), "repeat": cell.repeat, **current, "attempts": attempts}


def _statistics_json(row: "MatrixRow") -> dict[str, object]:
    return {
        **row_json(row),
        **display.pick(row, "unit", "median"),
        "cells": len(row.cells),
        **(asdict(row.summary) if row.summary else {"count": 0, "mean": None}),
        # `counts` is a property, which asdict leaves out.
        "verdict": {**asdict(row.verdict), "counts": row.verdict.counts} if row.verdict else None,
    }


def finding(finding: "RowFinding") -> str:
    rows = "" if finding.everywhere else f"{', '.join(row.title for row in finding.rows)}: "
    return rows + display.finding(finding.finding)


def estimate(draft: "SeriesDraft") -> str:
    estimate = draft.estimate
    cost = "" if estimate.cost is None else f", about {formats.money(estimate.cost, estimate.currency)}"
    budget = "" if draft.plan.budget is None else f" of a budget of {draft.plan.budget:g}"
    return (
        f"{display.count(estimate.cells, 'cell')}, about {estimate.node_hours:.4g} node hours{budget}{cost},"
        f" {estimate.wall_hours:.4g} hours with {draft.plan.parallel} at a time"
    )


def planned(draft: "SeriesDraft") -> str:
    columns: display.Columns[SeriesRow] = {
        "row": lambda row: row.title,
        "nodes × cards": lambda row: formats.nodes_and_cards(row.node_count, row.spec.cards_per_node),
        "version": lambda row: row.spec.framework_version,
        "engine": lambda row: row.spec.image_url or row.spec.engine_version,
        ">runs": lambda row: str(draft.plan.repeats),  # noqa: ARG005  # the same in every row
    }
    return display.table_of(draft.rows, columns)


def table(page: "Sequence[Matrix]") -> str:
    columns: display.Columns[Matrix] = {
        "series": lambda matrix: matrix.series.series_id,
        "name": lambda matrix: matrix.series.title,
        "nodes": lambda matrix: ",".join(map(str, sorted(matrix.series.plan.node_counts))),
        ">cells": lambda matrix: str(len(matrix.cells)),
        ">valid": lambda matrix: str(matrix.valid),
        "state": lambda matrix: str(matrix.state),
        ">node hours": _node_hours,
        "created": lambda matrix: display.local_time(matrix.series.created_at),
        "by": lambda matrix: matrix.series.created_by,
    }
    return display.table_of(page, columns)


def report(matrix: "Matrix") -> str:
    series = matrix.series
    fields = display.fields(
        ("series", series.series_id),
        ("name", series.plan.name),
        ("state", str(matrix.state)),
        ("held", series.launch_error or (matrix.hold.sentence if matrix.hold else "")),
        ("workload", series.plan.spec.workload),
        ("profile", series.profile),
        ("cells", f"{len(matrix.cells)}: {matrix.valid} valid, {matrix.lost} without a valid result"),
        ("at a time", str(series.plan.parallel)),
        ("node hours", f"{_node_hours(matrix)}, {matrix.hours.promised + matrix.hours.to_come:.3g} remaining"),
        ("created", f"{display.local_time(series.created_at)} by {series.created_by}"),
        ("code", f"{matrix.codes} different versions were measured" if matrix.codes > 1 else ""),
    )
    parts = (fields, _matrix(matrix), _statistics(matrix), _checks(matrix), _lost(matrix))
    return "\n\n".join(filter(None, parts))


def _matrix(matrix: "Matrix") -> str:
    repeats = [f">{number + 1}" for number in range(matrix.series.plan.repeats)]
    rows = [(row.planned.title, *map(_cell, row.cells), row.unit) for row in matrix.rows]
    return display.table(("row", *repeats, "unit"), rows)


def _cell(cell: "Cell") -> str:
    attempt = cell.shown
    number = f" (attempt {attempt.number})" if attempt.number > 1 else ""
    if attempt.state == "valid":
        return formats.number(attempt.throughput) + number
    active = attempt.run if attempt.state == "active" else None
    return (display.state(active) if active else str(attempt.state)) + number


def _lost(matrix: "Matrix") -> str:
    """Cells without a result, and the run that explains why."""
    rows = [
        (row.planned.title, str(cell.repeat), str(cell.shown.state), *((run.run_id, run.detail) if run else ("", "")))
        for row in matrix.rows
        for cell in row.cells
        if cell.is_lost
        for run in [cell.shown.run]
    ]
    return display.table(("without a valid result", ">repeat", "state", "run", "detail"), rows) if rows else ""


def _statistics(matrix: "Matrix") -> str:
    columns: display.Columns[MatrixRow] = {
        "row": lambda row: row.planned.title,
        ">n": lambda row: f"{row.summary.count if row.summary else 0} of {len(row.cells)}",
        ">mean": lambda row: formats.number(row.summary.mean if row.summary else None),
        ">median": lambda row: formats.number(row.median),
        ">sd": lambda row: formats.number(row.summary.sd if row.summary else None),
        ">CV": lambda row: formats.percent(row.summary.cv if row.summary else None),
        ">95 % CI": _interval,
        ">olympic mean": lambda row: formats.number(row.summary.olympic_mean if row.summary else None),
        "unit": lambda row: row.unit,
        "verdict": lambda row: "" if row.verdict is None else "counts" if row.verdict.counts else "does not count",
    }
    return display.table_of(matrix.rows, columns)


def _interval(row: "MatrixRow") -> str:
    if row.summary is None or row.summary.sd is None:  # one run has no interval
        return formats.MISSING
    return f"{formats.number(row.summary.ci_low)} to {formats.number(row.summary.ci_high)}"


def _checks(matrix: "Matrix") -> str:
    rows = [
        (row.planned.title, check.id, str(check.level), check.expected, check.found, check.evidence)
        for row in matrix.rows
        if row.verdict
        for level in ("fail", "warn")
        for check in row.verdict.checks
        if check.level == level
    ]
    return display.table(("row", "check", "level", "expected", "found", "evidence"), rows) if rows else ""


def _node_hours(matrix: "Matrix") -> str:
    hours = matrix.hours
    return f"{hours.used:.3g}" + ("" if hours.budget is None else f" of {hours.budget:g}")
