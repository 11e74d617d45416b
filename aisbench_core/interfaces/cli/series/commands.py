"""`aisbench series`: repeats of one spec on several node counts, launched and compared together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from aisbench_core.base import formats
from aisbench_core.interfaces.cli import display
from aisbench_core.interfaces.cli.core import get_actor, launch_key, open_core
from aisbench_core.interfaces.cli.exit_codes import NOT_ENOUGH_DATA, RUN_FAILED, YOUR_INPUT, exit_code_of
from aisbench_core.interfaces.cli.following import end_if_series_held, wait_for_series, warn_without_follower
from aisbench_core.interfaces.cli.options import Group, add_paging, command, output_option, yaml_of
from aisbench_core.interfaces.cli.series.planning import (
    bisect_options,
    plan_bisect,
    plan_draft,
    plan_options,
    print_draft,
)
from aisbench_core.interfaces.cli.series.report import (
    best_text,
    comparison_text,
    matrix_json,
    metric_json,
    report_text,
    row_json,
    used_hours,
)

if TYPE_CHECKING:
    from aisbench_core.model import SeriesRow
    from aisbench_core.running.series.matrix import Matrix
    from aisbench_core.running.series.planning import SeriesDraft
    from aisbench_core.wiring import Core


series = Group(
    "series",
    help="Measure a spec several times, on one or more node counts.\n\n"
    "SERIES is a series id or a unique prefix of one.",
)

_wait_option = click.option(
    "--wait", is_flag=True, help="Wait until the series ends, and follow its runs if no follower is active."
)
_dry_run_option = click.option("--dry-run", is_flag=True, help="Print cells, findings and estimate; launch nothing.")


@series.command("run")
@plan_options
@_wait_option
@_dry_run_option
def run_series(profile: str, wait: bool, dry_run: bool, as_json: bool, **arguments: Any) -> None:
    """Launch a series and print its id.

    A row is a node count, version, image and set of values. Every row is launched once, then every row again, so that
    drift affects all rows alike. With --search, rows are trials instead: a sampler chooses the values of each from what
    the earlier ones measured. With --until, the series ends as soon as it has measured enough. A cell that would exceed
    the budget is not launched; `resume` raises the budget. With --wait, the command returns when nothing is left to do;
    the exit code is 4 unless every cell has a valid result, or with --until, 6 unless it has measured enough.
    """
    core = open_core(writing=not dry_run)
    _launch_draft(core, plan_draft(core, profile, arguments), profile, wait, dry_run, as_json)


@command()
@bisect_options
@_wait_option
@_dry_run_option
def bisect(profile: str, good: str, bad: str, wait: bool, dry_run: bool, as_json: bool, **arguments: Any) -> None:
    """Find the first slower one between a good and a bad version, with few runs, and print the id of their series.

    The versions are those of the workload's manifest, unless --versions or --images lists others, from old to new.
    First both ends are run until one is known to be slower, then the version that tells most, until one is the first
    slower one with 95 % certainty. `aisbench series` shows, stops and resumes it. With --wait, the exit code is 6 if
    repeats or budget ended it before.
    """
    core = open_core(writing=not dry_run)
    _launch_draft(core, plan_bisect(core, profile, good, bad, arguments), profile, wait, dry_run, as_json)


def _launch_draft(core: Core, draft: SeriesDraft, profile: str, wait: bool, dry_run: bool, as_json: bool) -> None:
    print_draft(draft, with_errors=dry_run)
    if dry_run:
        columns: display.Columns[SeriesRow] = {
            "row": lambda row: row.title,
            "nodes × cards": lambda row: formats.nodes_and_cards(row.node_count, row.spec.cards_per_node),
            "version": lambda row: row.spec.framework_version,
            "engine": lambda row: row.spec.image_url or row.spec.engine_version,
            ">runs": lambda row: str(draft.plan.repeats),  # noqa: ARG005  # the same in every row
        }
        answer = display.pick_fields(draft, "plan", "rows", "findings", "estimate")
        if draft.plan.search:
            display.print_message("the limits of the search, which were checked:")
        display.print_result(answer, as_json, lambda: display.table_of(draft.checked, columns))
        click.get_current_context().exit(YOUR_INPUT if draft.errors else 0)
    launched = core.series.launch(draft.plan, profile, get_actor(), launch_key())
    if not wait:
        display.print_result({"series_id": launched.series_id}, as_json, lambda: launched.series_id)
        end_if_series_held(launched)
        warn_without_follower(core)
        return
    if not as_json:
        click.echo(launched.series_id)  # before the wait, so that scripts can use it
    matrix = wait_for_series(core, launched.series_id)
    display.print_result(matrix_json(matrix), as_json, lambda: report_text(matrix))
    end_if_series_held(matrix.series)
    if matrix.judgement:
        click.get_current_context().exit(0 if matrix.judgement.is_met else NOT_ENOUGH_DATA)
    if matrix.state != "completed":
        click.get_current_context().exit(RUN_FAILED)


@series.command("list")
@add_paging(1000)
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
        ">node hours": used_hours,
        "created": lambda matrix: display.local_time(matrix.series.created_at),
        "by": lambda matrix: matrix.series.created_by,
    }
    answer = {"series": [*map(matrix_json, page)], "total": total}
    display.print_result(answer, as_json, lambda: display.table_of(page, columns))
    display.page_size(len(page), offset, total, "series")


metric_option = click.option(
    "--metric", default="", metavar="NAME", help="Show this metric of the runs in place of the throughput."
)


@series.command()
@metric_option
def show(series_id: str, metric: str, as_json: bool) -> None:
    """Show a series: its matrix, the statistics of each row, and its budget."""
    matrix = open_core(writing=False).series.measure(series_id, metric)
    display.print_result(matrix_json(matrix), as_json, lambda: report_text(matrix))


@series.command()
@click.argument("baseline_id", metavar="BASELINE")
@metric_option
def compare(baseline_id: str, series_id: str, metric: str, as_json: bool) -> None:
    """Compare a series with an earlier one by row: exit code 0 no regression, 5 a regression, 6 not enough data.

    Rows are paired by node count, version, image and values, or by node count alone where each series has one such
    row. A change counts if it is 1 % or more and its p-value is at most 1 %, adjusted over all rows.
    """
    comparison = open_core(writing=False).series.compare(baseline_id, series_id, metric)
    names = ("reasons", "difference", "adjusted_p", "power", "outcome", "not_known", "missed")
    rows = [
        {
            side: {**row_json(row), **display.pick_fields(row, "unit", "summary")}
            for side, row in (("baseline", pair.baseline), ("candidate", pair.candidate))
        }
        | {"verdict": pair.comparability, **display.pick_fields(pair, *names)}
        for pair in comparison.pairs
    ]
    answer = {
        "baseline": comparison.baseline.series.series_id,
        "candidate": comparison.candidate.series.series_id,
        "metric": metric_json(comparison.candidate),
        "rows": rows,
        **display.pick_fields(comparison, "outcome", "alone", "differences"),
    }
    display.print_result(answer, as_json, lambda: comparison_text(comparison))
    click.get_current_context().exit(exit_code_of(comparison.outcome))


@series.command()
@output_option
def best(series_id: str, output: Path | None) -> None:
    """Print the spec of the best row of a series that varies hyperparameters, as YAML.

    Best is the fastest, unless a search has another objective. Exit code 6 if fewer than two rows have valid results.
    """
    core = open_core(writing=False)
    matrix = core.series.matrix(series_id)
    found = matrix.best
    run = found.row.typical.run if found and found.row.typical else None
    if found is None or run is None:
        reason = "it takes two rows of different hyperparameters with valid results, of which one reached its target"
        display.print_message(f"no best row: {matrix.mixed or reason}")
        click.get_current_context().exit(NOT_ENOUGH_DATA)
    display.write_text(output, yaml_of(core.clones.spec(core.clones.original(run.run_id))))
    display.print_message(f"best: {found.row.planned.title}, {best_text(found)}")


@series.command()
def stop(series_id: str, as_json: bool) -> None:
    """Stop the active runs of a series, and cancel cells that are not launched yet."""
    core = open_core(writing=True)
    _print_change(core, core.series.stop(series_id, get_actor()), as_json)


@series.command()
def rerun(series_id: str, as_json: bool) -> None:
    """Run all cells again that ended without a valid result; earlier attempts are kept."""
    core = open_core(writing=True)
    _print_change(core, core.series.rerun(series_id, get_actor()), as_json)


@series.command()
@click.option("--budget", type=float, required=True, metavar="H", help="Maximum number of node hours in total.")
def resume(series_id: str, budget: float, as_json: bool) -> None:
    """Change the budget of a series; a held series continues if the budget allows it."""
    core = open_core(writing=True)
    _print_change(core, core.series.resume(series_id, budget, get_actor()), as_json)


def _print_change(core: Core, matrix: Matrix, as_json: bool) -> None:
    display.print_result(matrix_json(matrix), as_json, lambda: f"{matrix.series.series_id}  {matrix.state}")
    if matrix.can_stop:
        warn_without_follower(core)
