"""`aisbench series`: repeats and node counts of one spec, launched and looked at as one thing."""

from typing import TYPE_CHECKING, Any

import click

from aisbench_core.cli import shown
from aisbench_core.cli.core import as_json, open_core, open_core_for_reading, profile_option, user
from aisbench_core.cli.exit_codes import RUN_FAILED
from aisbench_core.cli.results.regression import exit_code_of
from aisbench_core.cli.runs.following import say_who_follows, wait_for_series
from aisbench_core.cli.runs.spec_options import Typed, base_options, on_all_cards, read_spec
from aisbench_core.cli.series import text as text
from aisbench_core.cli.series.comparison import comparison, comparison_facts

if TYPE_CHECKING:
    from aisbench_core.core import Core
    from aisbench_core.series.matrix import Matrix
    from aisbench_core.series.planning import SeriesDraft

ARGUMENT = click.argument("series_id", metavar="SERIES")


@click.group()
def series() -> None:
    """Measure one spec on several node counts, several times.

    SERIES is the id of one, or a beginning of it that no other shares.
    """


@series.command()
@base_options
@profile_option
@click.option("--nodes", "node_counts", metavar="N,N,…", help="Node counts; default: the spec's.")
@click.option("--repeats", type=int, default=3, show_default=True, metavar="N", help="Runs of each row.")
@click.option("--versions", default="", metavar="V,V,…", help="Framework versions; default: the spec's.")
@click.option("--images", default="", metavar="V,V,…", help="Engine versions; addresses, if the spec has an image_url.")
@click.option(
    "--parallel", type=int, default=1, show_default=True, metavar="N", help="Jobs of series at once in the pool."
)
@click.option(
    "--hours-per-run", type=float, default=1.0, show_default=True, metavar="H", help="What you expect of one."
)
@click.option("--budget", type=float, metavar="H", help="Node hours that the series may take; default: no limit.")
@click.option("--name", default="", metavar="TEXT", help="What to call the series.")
@click.option("--wait", is_flag=True, help="Wait for the end, and follow the runs if nobody else does.")
@click.option("--dry-run", is_flag=True, help="Print the cells, the findings and the estimate; launch nothing.")
@as_json
def run(profile: str, wait: bool, dry_run: bool, as_json: bool, **typed: Any) -> None:
    """Launch a series and print its id.

    Every row (node count, version, image) is launched once, then every row again: repeats lie far apart, so what drifts
    meanwhile meets all rows alike. A cell that would exceed the budget is not launched; `resume` raises it. With --wait
    the command ends when nothing more happens, and exits with 4 unless every cell has a valid result.
    """
    core = (open_core_for_reading if dry_run else open_core)()
    draft = _drafted(core, profile, typed)
    for finding in draft.findings:
        if dry_run or finding.finding.level != "error":  # the errors are what `launch` refuses with
            shown.talk(text.finding(finding))
    shown.talk(text.estimate(draft))
    if dry_run:
        shown.answer(text.draft_facts(draft), as_json, lambda: text.planned(draft))
        click.get_current_context().exit(2 if draft.errors else 0)
    launched = core.series.launch(draft.plan, profile, user())
    if not wait:
        shown.answer({"series_id": launched.series_id}, as_json, lambda: launched.series_id)
        say_who_follows(core)
        return
    if not as_json:
        click.echo(launched.series_id)
    matrix = wait_for_series(core, launched.series_id)
    shown.answer(text.facts(matrix), as_json, lambda: text.report(matrix))
    _end_with(matrix)


@series.command(name="list")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="How many.")
@click.option("--offset", type=click.IntRange(0), default=0, help="How many to pass over.")
@as_json
def list_(limit: int, offset: int, as_json: bool) -> None:
    """List series, newest first."""
    desk = open_core_for_reading().series
    found, total = desk.page(limit, offset), desk.count()
    shown.answer({"series": [*map(text.facts, found)], "total": total}, as_json, lambda: text.table(found))
    if offset + len(found) < total:
        shown.talk(f"{len(found)} of {total} series")


@series.command()
@ARGUMENT
@as_json
def show(series_id: str, as_json: bool) -> None:
    """Show a series: its matrix, the statistics of each row, and its budget."""
    matrix = open_core_for_reading().series.look(series_id)
    shown.answer(text.facts(matrix), as_json, lambda: text.report(matrix))


@series.command()
@click.argument("baseline_id", metavar="BASELINE")
@ARGUMENT
@as_json
def compare(baseline_id: str, series_id: str, as_json: bool) -> None:
    """Compare a series with an earlier one, row by row: exit code 0 no regression, 5 a regression, 6 not enough data.

    Rows of equal nodes, version and image are compared, or of equal nodes where each series has one such row. A change
    counts when it is 1 % or more and its p-value is at most 1 %, adjusted over all rows.
    """
    found = open_core_for_reading().series.compare(baseline_id, series_id)
    shown.answer(comparison_facts(found), as_json, lambda: comparison(found))
    click.get_current_context().exit(exit_code_of(found.outcome))


@series.command()
@ARGUMENT
@as_json
def stop(series_id: str, as_json: bool) -> None:
    """Stop the active runs of a series, and cancel its cells that are not launched yet."""
    core = open_core()
    _answer(core, core.series.stop(series_id, user()), as_json)


@series.command()
@ARGUMENT
@as_json
def rerun(series_id: str, as_json: bool) -> None:
    """Run every cell again that ended without a valid result; earlier attempts are kept."""
    core = open_core()
    _answer(core, core.series.rerun(series_id, user()), as_json)


@series.command()
@ARGUMENT
@click.option("--budget", type=float, required=True, metavar="H", help="Node hours that it may take in all.")
@as_json
def resume(series_id: str, budget: float, as_json: bool) -> None:
    """Give a series another budget; one that was held goes on as far as it reaches."""
    core = open_core()
    _answer(core, core.series.resume(series_id, budget, user()), as_json)


def _drafted(core: "Core", profile: str, typed: dict[str, Any]) -> "SeriesDraft":
    answers = {name: typed.pop(name) for name in ("node_counts", "repeats", "versions", "images", "parallel")}
    answers |= {name: typed.pop(name) for name in ("hours_per_run", "budget", "name")}
    spec = read_spec(Typed(nodes=None, framework_version="", **typed), core)
    return core.series.plan(on_all_cards(core, spec, profile, core.regions.flavors), answers, profile)


def _answer(core: "Core", matrix: "Matrix", as_json: bool) -> None:
    shown.answer(text.facts(matrix), as_json, lambda: f"{matrix.series.series_id}  {matrix.state}")
    if matrix.can_stop:
        say_who_follows(core)


def _end_with(matrix: "Matrix") -> None:
    if matrix.state != "completed":
        click.get_current_context().exit(RUN_FAILED)
