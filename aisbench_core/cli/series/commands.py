"""`aisbench series`: repeats of one spec on several node counts, launched together."""

from typing import TYPE_CHECKING, Any

import click

from aisbench_core.cli import display
from aisbench_core.cli.core import actor, open_core
from aisbench_core.cli.exit_codes import RUN_FAILED, YOUR_INPUT
from aisbench_core.cli.options import Decorator, as_json, paging, profile_option
from aisbench_core.cli.results.regression import exit_code_of
from aisbench_core.cli.runs.following import wait_for_series, warn_without_follower
from aisbench_core.cli.runs.spec_options import SpecArguments, base_options, on_all_cards, read_spec
from aisbench_core.cli.series import text
from aisbench_core.cli.series.comparison import comparison_json, comparison_text

if TYPE_CHECKING:
    from aisbench_core.series.matrix import Matrix
    from aisbench_core.series.planning import SeriesDraft
    from aisbench_core.wiring import Core

_series_argument: Decorator = click.argument("series_id", metavar="SERIES")


@click.group()
def series() -> None:
    """Measure a spec several times, on one or more node counts.

    SERIES is a series id or a unique prefix of one.
    """


@series.command()
@base_options
@profile_option
@click.option("--nodes", "node_counts", metavar="N,N,…", help="Node counts; default: the spec's.")
@click.option("--repeats", type=int, default=3, show_default=True, metavar="N", help="Runs per row.")
@click.option("--versions", default="", metavar="V,V,…", help="Framework versions; default: the spec's.")
@click.option("--images", default="", metavar="V,V,…", help="Engine versions, or image addresses if the spec has one.")
@click.option(
    "--parallel", type=int, default=1, show_default=True, metavar="N", help="Concurrent jobs of series in the pool."
)
@click.option("--hours-per-run", type=float, default=1.0, show_default=True, metavar="H", help="Expected run time.")
@click.option("--budget", type=float, metavar="H", help="Maximum number of node hours; default: no limit.")
@click.option("--name", default="", metavar="TEXT", help="Name of the series.")
@click.option("--wait", is_flag=True, help="Wait until the series ends, and follow its runs if no follower is active.")
@click.option("--dry-run", is_flag=True, help="Print cells, findings and estimate; launch nothing.")
@as_json
def run(profile: str, wait: bool, dry_run: bool, as_json: bool, **arguments: Any) -> None:
    """Launch a series and print its id.

    A row is a node count, version and image. Every row is launched once, then every row again, so that drift affects
    all rows alike. A cell that would exceed the budget is not launched; `resume` raises the budget. With --wait, the
    command returns when nothing is left to do; the exit code is 4 unless every cell has a valid result.
    """
    core = open_core(writing=not dry_run)
    draft = _drafted(core, profile, arguments)
    for finding in draft.findings:
        if dry_run or finding.finding.level != "error":  # `launch` refuses a plan with errors, and prints them then
            display.message(text.finding(finding))
    display.message(text.estimate(draft))
    if dry_run:
        answer = display.pick(draft, "plan", "rows", "findings", "estimate")
        display.result(answer, as_json, lambda: text.planned(draft))
        click.get_current_context().exit(YOUR_INPUT if draft.errors else 0)
    launched = core.series.launch(draft.plan, profile, actor())
    if not wait:
        display.result({"series_id": launched.series_id}, as_json, lambda: launched.series_id)
        warn_without_follower(core)
        return
    if not as_json:
        click.echo(launched.series_id)  # before the wait, so that scripts can use it
    matrix = wait_for_series(core, launched.series_id)
    display.result(text.matrix_json(matrix), as_json, lambda: text.report(matrix))
    if matrix.state != "completed":
        click.get_current_context().exit(RUN_FAILED)


@series.command(name="list")
@paging(1000)
@as_json
def list_(limit: int, offset: int, as_json: bool) -> None:
    """List series, newest first."""
    service = open_core(writing=False).series
    page, total = service.page(limit, offset), service.count()
    display.result({"series": [*map(text.matrix_json, page)], "total": total}, as_json, lambda: text.table(page))
    display.page_size(len(page), offset, total, "series")


@series.command()
@_series_argument
@as_json
def show(series_id: str, as_json: bool) -> None:
    """Show a series: its matrix, the statistics of each row, and its budget."""
    matrix = open_core(writing=False).series.matrix(series_id)
    display.result(text.matrix_json(matrix), as_json, lambda: text.report(matrix))


@series.command()
@click.argument("baseline_id", metavar="BASELINE")
@_series_argument
@as_json
def compare(baseline_id: str, series_id: str, as_json: bool) -> None:
    """Compare a series with an earlier one by row: exit code 0 no regression, 5 a regression, 6 not enough data.

    Rows are paired by node count, version and image, or by node count alone where each series has one such row. A
    change counts if it is 1 % or more and its p-value is at most 1 %, adjusted over all rows.
    """
    comparison = open_core(writing=False).series.compare(baseline_id, series_id)
    display.result(comparison_json(comparison), as_json, lambda: comparison_text(comparison))
    click.get_current_context().exit(exit_code_of(comparison.outcome))


@series.command()
@_series_argument
@as_json
def stop(series_id: str, as_json: bool) -> None:
    """Stop the active runs of a series, and cancel cells that are not launched yet."""
    core = open_core(writing=True)
    _print_change(core, core.series.stop(series_id, actor()), as_json)


@series.command()
@_series_argument
@as_json
def rerun(series_id: str, as_json: bool) -> None:
    """Rerun all cells that ended without a valid result; earlier attempts are kept."""
    core = open_core(writing=True)
    _print_change(core, core.series.rerun(series_id, actor()), as_json)


@series.command()
@_series_argument
@click.option("--budget", type=float, required=True, metavar="H", help="Maximum number of node hours in total.")
@as_json
def resume(series_id: str, budget: float, as_json: bool) -> None:
    """Change the budget of a series; a series on hold continues if the budget allows it."""
    core = open_core(writing=True)
    _print_change(core, core.series.resume(series_id, budget, actor()), as_json)


def _drafted(core: "Core", profile: str, arguments: dict[str, Any]) -> "SeriesDraft":
    names = ("node_counts", "repeats", "versions", "images", "parallel", "hours_per_run", "budget", "name")
    answers = {name: arguments.pop(name) for name in names}
    spec = read_spec(SpecArguments(nodes=None, framework_version="", **arguments), core)
    return core.series.plan(on_all_cards(core, spec, profile, core.regions.flavors), answers, profile)


def _print_change(core: "Core", matrix: "Matrix", as_json: bool) -> None:
    display.result(text.matrix_json(matrix), as_json, lambda: f"{matrix.series.series_id}  {matrix.state}")
    if matrix.can_stop:
        warn_without_follower(core)
