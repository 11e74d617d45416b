"""A series as text for a person, and as plain facts for a script."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from aisbench_core import formats
from aisbench_core.cli import shown

if TYPE_CHECKING:
    from aisbench_core.series.matrix import Cell, Matrix, MatrixRow
    from aisbench_core.series.planning import RowFinding, SeriesDraft

Facts = dict[str, object]


def draft_facts(draft: "SeriesDraft") -> Facts:
    """A series that is not launched, for scripts."""
    return {"plan": draft.plan, "rows": draft.rows, "findings": draft.findings, "estimate": draft.estimate}


def facts(matrix: "Matrix") -> Facts:
    """A series for scripts: states are words, what was not measured is null."""
    given = matrix.series
    return {
        "series_id": given.series_id,
        "name": given.title,
        "state": matrix.state,
        "held": matrix.hold.sentence if matrix.hold else given.trouble,
        "profile": given.profile,
        "created_at": given.created_at,
        "created_by": given.created_by,
        "plan": given.plan,
        "node_hours": asdict(matrix.hours),
        "valid": matrix.valid,
        "lost": matrix.lost,
        "cells": [_cell_facts(row, cell) for row in matrix.rows for cell in row.cells],
        "rows": [_row_facts(row) for row in matrix.rows],
        "events": matrix.events,
    }


def _where(row: "MatrixRow") -> Facts:
    return {"node_count": row.asked.node_count, "version": row.asked.version, "image": row.asked.image}


def _cell_facts(row: "MatrixRow", cell: "Cell") -> Facts:
    tries = [
        {
            "number": tried.number,
            "state": tried.state,
            "run_id": tried.run.run_id if tried.run else None,
            "run_state": tried.run.state if tried.run else None,
            "throughput": tried.throughput,
            "unit": tried.unit,
        }
        for tried in cell.tries
    ]
    shown_try = tries[cell.tries.index(cell.shown)]
    return {"cell": cell.index, **_where(row), "repeat": cell.repeat, **shown_try, "attempts": tries}


def _row_facts(row: "MatrixRow") -> Facts:
    found = asdict(row.summary) if row.summary else {"count": 0, "mean": None}
    return {
        **_where(row),
        "cells": len(row.cells),
        "unit": row.unit,
        "median": row.median,
        **found,
        "verdict": {**asdict(row.verdict), "counts": row.verdict.counts} if row.verdict else None,
    }


def finding(found: "RowFinding") -> str:
    """One finding on one line, with the rows that it is about."""
    return ("" if found.everywhere else f"{', '.join(row.title for row in found.rows)}: ") + shown.finding(
        found.finding
    )


def estimate(draft: "SeriesDraft") -> str:
    """What the series may take, in one sentence."""
    found = draft.estimate
    cost = "" if found.cost is None else f", about {found.cost:,.2f} {found.currency}"
    budget = "" if draft.plan.budget is None else f" of a budget of {draft.plan.budget:g}"
    return (
        f"{found.cells} cells, about {found.node_hours:.4g} node hours{budget}{cost},"
        f" {found.wall_hours:.4g} hours with {draft.plan.parallel} at a time"
    )


def planned(draft: "SeriesDraft") -> str:
    """The rows of a series that is not launched."""
    heads = ("row", "nodes × cards", "version", "engine", ">runs")
    rows = [
        (
            row.title,
            f"{row.node_count} × {row.spec.cards_per_node}",
            row.spec.framework_version,
            row.spec.image_url or row.spec.engine_version,
            str(draft.plan.repeats),
        )
        for row in draft.rows
    ]
    return shown.table(heads, rows)


def table(found: "Sequence[Matrix]") -> str:
    """Series, one a line."""
    heads = ("series", "name", "nodes", ">cells", ">valid", "state", ">node hours", "created", "by")
    return shown.table(
        heads,
        [
            (
                each.series.series_id,
                each.series.title,
                ",".join(str(count) for count in sorted(each.series.plan.node_counts)),
                str(len(each.cells)),
                str(each.valid),
                str(each.state),
                _budget(each),
                shown.moment(each.series.created_at),
                each.series.created_by,
            )
            for each in found
        ],
    )


def report(matrix: "Matrix") -> str:
    """A series as a person reads it."""
    given = matrix.series
    facts = shown.listing(
        [
            ("series", given.series_id),
            ("name", given.plan.name),
            ("state", str(matrix.state)),
            ("held", matrix.series.trouble or (matrix.hold.sentence if matrix.hold else "")),
            ("workload", given.plan.spec.workload),
            ("profile", given.profile),
            ("cells", f"{len(matrix.cells)}: {matrix.valid} valid, {matrix.lost} without a valid result"),
            ("at a time", str(given.plan.parallel)),
            ("node hours", f"{_budget(matrix)}, {matrix.hours.promised + matrix.hours.to_come:.3g} to come"),
            ("created", f"{shown.moment(given.created_at)} by {given.created_by}"),
            ("code", f"{matrix.codes} different versions were measured" if matrix.codes > 1 else ""),
        ]
    )
    return "\n\n".join(
        part for part in (facts, _matrix(matrix), _statistics(matrix), _checks(matrix), _lost(matrix)) if part
    )


def _matrix(matrix: "Matrix") -> str:
    repeats = [str(number) for number in range(1, matrix.series.plan.repeats + 1)]
    rows = [(row.asked.title, *map(_cell, row.cells), row.unit) for row in matrix.rows]
    return shown.table(("row", *(f">{number}" for number in repeats), "unit"), rows)


def _cell(cell: "Cell") -> str:
    tried = cell.shown
    again = f" (attempt {tried.number})" if tried.number > 1 else ""
    if tried.state == "valid":
        return formats.number(tried.throughput) + again
    return (shown.state(tried.run) if tried.run and tried.state == "active" else str(tried.state)) + again


def _lost(matrix: "Matrix") -> str:
    """Why cells have no result, and under which run to look."""
    lost = [(row, cell) for row in matrix.rows for cell in row.cells if cell.is_lost]
    rows = [
        (row.asked.title, str(cell.repeat), str(cell.shown.state), run.run_id if run else "", run.detail if run else "")
        for row, cell in lost
        for run in [cell.shown.run]
    ]
    return shown.table(("without a valid result", ">repeat", "state", "run", "detail"), rows) if rows else ""


def _statistics(matrix: "Matrix") -> str:
    heads = ("row", ">n", ">mean", ">median", ">sd", ">CV", ">95 % CI", ">olympic mean", "unit", "verdict")
    return shown.table(heads, map(tuple, map(_row, matrix.rows)))


def _row(row: "MatrixRow") -> Iterator[str]:
    found = row.summary
    yield row.asked.title
    yield f"{found.count if found else 0} of {len(row.cells)}"
    yield formats.number(found.mean if found else None)
    yield formats.number(row.median)
    yield formats.number(found.sd if found else None)
    yield formats.percent(found.cv if found else None)
    yield (
        f"{formats.number(found.ci_low)} to {formats.number(found.ci_high)}" if found and found.sd is not None else "–"
    )
    yield formats.number(found.olympic_mean if found else None)
    yield row.unit
    yield "" if row.verdict is None else "counts" if row.verdict.counts else "does not count"


def _checks(matrix: "Matrix") -> str:
    """What keeps rows from being one measurement, or casts doubt on them."""
    rows = [
        (row.asked.title, check.id, str(check.level), check.expected, check.found, check.evidence)
        for row in matrix.rows
        if row.verdict
        for level in ("fail", "warn")
        for check in row.verdict.checks
        if check.level == level
    ]
    return shown.table(("row", "check", "level", "expected", "found", "evidence"), rows) if rows else ""


def _budget(matrix: "Matrix") -> str:
    hours = matrix.hours
    return f"{hours.used:.3g}" + ("" if hours.budget is None else f" of {hours.budget:g}")
