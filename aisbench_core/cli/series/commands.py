"""`aisbench series`: repeats of one spec on several node counts, launched and compared together."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from aisbench_core import formats
from aisbench_core.cli import display
from aisbench_core.cli.core import actor, open_core
from aisbench_core.cli.exit_codes import NOT_ENOUGH_DATA, RUN_FAILED, YOUR_INPUT
from aisbench_core.cli.following import wait_for_series, warn_without_follower
from aisbench_core.cli.options import (
    Group,
    assignments,
    base_options,
    output_option,
    paging,
    profile_option,
    spec_on_all_cards,
    yaml_of,
)
from aisbench_core.cli.regression import change_interval, exit_code_of, power_text

if TYPE_CHECKING:
    from pathlib import Path

    from aisbench_core.model import SeriesRow
    from aisbench_core.series.comparing import RowPair, SeriesComparison
    from aisbench_core.series.matrix import BestRow, Cell, Matrix, MatrixRow
    from aisbench_core.wiring import Core


series = Group(
    "series",
    help="Measure a spec several times, on one or more node counts.\n\n"
    "SERIES is a series id or a unique prefix of one.",
)


@series.command("run")
@base_options
@profile_option
@click.option("--nodes", "node_counts", metavar="N,N,…", help="Node counts; default: the spec's.")
@click.option("--repeats", type=int, default=3, show_default=True, metavar="N", help="Runs per row.")
@click.option("--versions", default="", metavar="V,V,…", help="Framework versions; default: the spec's.")
@click.option("--images", default="", metavar="V,V,…", help="Engine versions, or image addresses if the spec has one.")
@assignments(
    "--values", "values", form="NAME=V,V,…", help="Values of a hyperparameter, a row for each; can be repeated."
)
@click.option(
    "--parallel", type=int, default=1, show_default=True, metavar="N", help="Concurrent jobs of series in the pool."
)
@click.option("--hours-per-run", type=float, default=1.0, show_default=True, metavar="H", help="Expected run time.")
@click.option("--budget", type=float, metavar="H", help="Maximum number of node hours; default: no limit.")
@click.option("--name", default="", metavar="TEXT", help="Name of the series.")
@click.option("--wait", is_flag=True, help="Wait until the series ends, and follow its runs if no follower is active.")
@click.option("--dry-run", is_flag=True, help="Print cells, findings and estimate; launch nothing.")
def run_series(profile: str, wait: bool, dry_run: bool, as_json: bool, **arguments: Any) -> None:
    """Launch a series and print its id.

    A row is a node count, version, image and set of values. Every row is launched once, then every row again, so that
    drift affects all rows alike. A cell that would exceed the budget is not launched; `resume` raises the budget. With
    --wait, the command returns when nothing is left to do; the exit code is 4 unless every cell has a valid result.
    """
    core = open_core(writing=not dry_run)
    names = ("node_counts", "repeats", "versions", "images", "parallel", "hours_per_run", "budget", "name")
    answers = {name: arguments.pop(name) for name in names} | {"values": dict(arguments.pop("values"))}
    spec = spec_on_all_cards(core, profile, core.regions.flavors, **arguments)
    draft = core.series.plan(spec, answers, profile)
    for found in draft.findings:
        if dry_run or found.finding.level != "error":  # `launch` refuses a plan with errors, and prints them then
            rows = "" if found.everywhere else f"{', '.join(row.title for row in found.rows)}: "
            display.message(rows + display.finding(found.finding))
    estimate = draft.estimate
    cost = "" if estimate.cost is None else f", about {formats.money(estimate.cost, estimate.currency)}"
    budget = "" if draft.plan.budget is None else f" of a budget of {draft.plan.budget:g}"
    display.message(
        f"{display.count(estimate.cells, 'cell')}, about {estimate.node_hours:.4g} node hours{budget}{cost},"
        f" {estimate.wall_hours:.4g} hours with {draft.plan.parallel} at a time"
    )
    if dry_run:
        columns: display.Columns[SeriesRow] = {
            "row": lambda row: row.title,
            "nodes × cards": lambda row: formats.nodes_and_cards(row.node_count, row.spec.cards_per_node),
            "version": lambda row: row.spec.framework_version,
            "engine": lambda row: row.spec.image_url or row.spec.engine_version,
            ">runs": lambda row: str(draft.plan.repeats),  # noqa: ARG005  # the same in every row
        }
        answer = display.pick(draft, "plan", "rows", "findings", "estimate")
        display.result(answer, as_json, lambda: display.table_of(draft.rows, columns))
        click.get_current_context().exit(YOUR_INPUT if draft.errors else 0)
    launched = core.series.launch(draft.plan, profile, actor())
    if not wait:
        display.result({"series_id": launched.series_id}, as_json, lambda: launched.series_id)
        warn_without_follower(core)
        return
    if not as_json:
        click.echo(launched.series_id)  # before the wait, so that scripts can use it
    matrix = wait_for_series(core, launched.series_id)
    display.result(_matrix_json(matrix), as_json, lambda: _report(matrix))
    if matrix.state != "completed":
        click.get_current_context().exit(RUN_FAILED)


@series.command("list")
@paging(1000)
def list_(limit: int, offset: int, as_json: bool) -> None:
    """List series, newest first."""
    service = open_core(writing=False).series
    page, total = service.page(limit, offset), service.count()
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
    answer = {"series": [*map(_matrix_json, page)], "total": total}
    display.result(answer, as_json, lambda: display.table_of(page, columns))
    display.page_size(len(page), offset, total, "series")


@series.command()
def show(series_id: str, as_json: bool) -> None:
    """Show a series: its matrix, the statistics of each row, and its budget."""
    matrix = open_core(writing=False).series.matrix(series_id)
    display.result(_matrix_json(matrix), as_json, lambda: _report(matrix))


@series.command()
@click.argument("baseline_id", metavar="BASELINE")
def compare(baseline_id: str, series_id: str, as_json: bool) -> None:
    """Compare a series with an earlier one by row: exit code 0 no regression, 5 a regression, 6 not enough data.

    Rows are paired by node count, version, image and values, or by node count alone where each series has one such
    row. A change counts if it is 1 % or more and its p-value is at most 1 %, adjusted over all rows.
    """
    comparison = open_core(writing=False).series.compare(baseline_id, series_id)
    names = ("reasons", "difference", "adjusted_p", "power", "outcome")
    rows = [
        {
            side: {**_row_json(row), **display.pick(row, "unit", "summary")}
            for side, row in (("baseline", pair.baseline), ("candidate", pair.candidate))
        }
        | {"verdict": pair.comparability, **display.pick(pair, *names)}
        for pair in comparison.pairs
    ]
    answer = {
        "baseline": comparison.baseline.series.series_id,
        "candidate": comparison.candidate.series.series_id,
        "rows": rows,
        **display.pick(comparison, "outcome", "alone", "differences"),
    }
    display.result(answer, as_json, lambda: _comparison_text(comparison))
    click.get_current_context().exit(exit_code_of(comparison.outcome))


@series.command()
@output_option
def best(series_id: str, output: "Path | None") -> None:
    """Print the spec of the fastest row of a series that varies hyperparameters, as YAML.

    Exit code 6 if fewer than two of its rows have valid results in one unit.
    """
    core = open_core(writing=False)
    found = core.series.matrix(series_id).best
    run = found.row.typical.run if found and found.row.typical else None
    if found is None or run is None:
        display.message("no fastest row: it takes two rows of different hyperparameters with valid results")
        click.get_current_context().exit(NOT_ENOUGH_DATA)
    display.write_text(output, yaml_of(core.clones.spec(core.clones.original(run.run_id))))
    display.message(f"fastest: {found.row.planned.title}, median {_best_text(found)}")


@series.command()
def stop(series_id: str, as_json: bool) -> None:
    """Stop the active runs of a series, and cancel cells that are not launched yet."""
    core = open_core(writing=True)
    _print_change(core, core.series.stop(series_id, actor()), as_json)


@series.command()
def rerun(series_id: str, as_json: bool) -> None:
    """Rerun all cells that ended without a valid result; earlier attempts are kept."""
    core = open_core(writing=True)
    _print_change(core, core.series.rerun(series_id, actor()), as_json)


@series.command()
@click.option("--budget", type=float, required=True, metavar="H", help="Maximum number of node hours in total.")
def resume(series_id: str, budget: float, as_json: bool) -> None:
    """Change the budget of a series; a series on hold continues if the budget allows it."""
    core = open_core(writing=True)
    _print_change(core, core.series.resume(series_id, budget, actor()), as_json)


def _print_change(core: "Core", matrix: "Matrix", as_json: bool) -> None:
    display.result(_matrix_json(matrix), as_json, lambda: f"{matrix.series.series_id}  {matrix.state}")
    if matrix.can_stop:
        warn_without_follower(core)


def _matrix_json(matrix: "Matrix") -> dict[str, object]:
    series = matrix.series
    return {
        **display.pick(series, "series_id", "profile", "created_at", "created_by", "plan"),
        **display.pick(matrix, "state", "valid", "lost", "events"),
        "best": _row_json(matrix.best.row) if matrix.best else None,
        "name": series.title,
        "held": matrix.hold.sentence if matrix.hold else series.launch_error,
        "node_hours": asdict(matrix.hours),
        "cells": [_cell_json(row, cell) for row in matrix.rows for cell in row.cells],
        "rows": [*map(_statistics_json, matrix.rows)],
    }


def _row_json(row: "MatrixRow") -> dict[str, object]:
    return display.pick(row.planned, "node_count", "version", "image", "parameters")


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
    return {"cell": cell.index, **_row_json(row), "repeat": cell.repeat, **current, "attempts": attempts}


def _statistics_json(row: "MatrixRow") -> dict[str, object]:
    return {
        **_row_json(row),
        **display.pick(row, "unit", "median"),
        "cells": len(row.cells),
        **(asdict(row.summary) if row.summary else {"count": 0, "mean": None}),
        # `counts` is a property, which asdict leaves out.
        "verdict": {**asdict(row.evaluation), "counts": row.evaluation.counts} if row.evaluation else None,
    }


def _report(matrix: "Matrix") -> str:
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
    repeats = [f">{number + 1}" for number in range(series.plan.repeats)]
    cells = [(row.planned.title, *map(_cell, row.cells), row.unit) for row in matrix.rows]
    checks = [
        (row.planned.title, check.id, str(check.level), check.expected, check.found, check.evidence)
        for row in matrix.rows
        if row.evaluation
        for level in ("fail", "warn")
        for check in row.evaluation.checks
        if check.level == level
    ]
    lost = [  # and the run that explains why
        (row.planned.title, str(cell.repeat), str(cell.shown.state), *((run.run_id, run.detail) if run else ("", "")))
        for row in matrix.rows
        for cell in row.cells
        if cell.is_lost
        for run in [cell.shown.run]
    ]
    best = matrix.best
    if best:
        fields += "\n" + display.fields(("best", f"{best.row.planned.title}: {_best_text(best)}"))
    parts = [fields, display.table(("row", *repeats, "unit"), cells), _statistics(matrix)]
    if checks:
        parts.append(display.table(("row", "check", "level", "expected", "found", "evidence"), checks))
    if lost:
        parts.append(display.table(("without a valid result", ">repeat", "state", "run", "detail"), lost))
    return "\n\n".join(parts)


def _best_text(best: "BestRow") -> str:
    value = f"{formats.number(best.row.median)} {best.row.unit}"
    return value if not best.tied else f"{value}, not clearly better than {display.count(best.tied, 'other row')}"


def _cell(cell: "Cell") -> str:
    attempt = cell.shown
    number = f" (attempt {attempt.number})" if attempt.number > 1 else ""
    if attempt.state == "valid":
        return formats.number(attempt.throughput) + number
    active = attempt.run if attempt.state == "active" else None
    return (display.state(active) if active else str(attempt.state)) + number


def _statistics(matrix: "Matrix") -> str:
    columns: display.Columns[MatrixRow] = {
        "row": lambda row: row.planned.title,
        ">n": lambda row: f"{row.summary.count if row.summary else 0} of {len(row.cells)}",
        ">mean": lambda row: formats.number(row.summary.mean if row.summary else None),
        ">median": lambda row: formats.number(row.median),
        ">sd": lambda row: formats.number(row.summary.sd if row.summary else None),
        ">CV": lambda row: formats.percent(row.summary.cv if row.summary else None),
        ">95 % CI": lambda row: (
            formats.MISSING  # one run has no interval
            if row.summary is None or row.summary.sd is None
            else f"{formats.number(row.summary.ci_low)} to {formats.number(row.summary.ci_high)}"
        ),
        ">olympic mean": lambda row: formats.number(row.summary.olympic_mean if row.summary else None),
        "unit": lambda row: row.unit,
        "verdict": lambda row: (
            "" if row.evaluation is None else "counts" if row.evaluation.counts else "does not count"
        ),
    }
    return display.table_of(matrix.rows, columns)


def _node_hours(matrix: "Matrix") -> str:
    hours = matrix.hours
    return f"{hours.used:.3g}" + ("" if hours.budget is None else f" of {hours.budget:g}")


def _comparison_text(comparison: "SeriesComparison") -> str:
    sides = display.fields(
        ("verdict", str(comparison.outcome)),
        ("baseline", f"{comparison.baseline.series.title} {comparison.baseline.series.series_id}"),
        ("candidate", f"{comparison.candidate.series.title} {comparison.candidate.series.series_id}"),
        ("not compared", ", ".join(row.title for row in comparison.alone)),
    )
    sides_heads = ("row", ">n", ">baseline", ">n", ">candidate", "unit")
    heads = (*sides_heads, ">change", ">95 % interval", ">p", ">adjusted p", "verdict")
    rows = display.table(heads, [tuple(_pair_cells(pair)) for pair in comparison.pairs])
    fields = [(difference.field, *map(display.value, difference.values)) for difference in comparison.differences]
    differs = display.table(("differs", "baseline", "candidate"), fields) if fields else "the specs are equal"
    powers = [f"{pair.candidate.planned.title}: {power_text(pair.power)}" for pair in comparison.pairs if pair.power]
    return "\n\n".join(filter(None, [sides, rows, differs, "\n".join(powers)]))


def _pair_cells(pair: "RowPair") -> Iterator[str]:
    yield pair.candidate.planned.title
    for row in (pair.baseline, pair.candidate):
        yield str(row.summary.count if row.summary else 0)
        yield formats.number(row.summary.mean if row.summary else None)
    yield pair.candidate.unit
    yield formats.signed(pair.difference.change if pair.difference else None)
    yield change_interval(pair.difference)
    yield formats.p_value(pair.difference.p_value if pair.difference else None)
    yield formats.p_value(pair.adjusted_p)
    yield f"{pair.comparability}: {', '.join(pair.reasons)}" if pair.reasons else str(pair.outcome)
