"""The commands `aisbench regress` and `baseline`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from aisbench_core.base.errors import RunNotFound
from aisbench_core.base.messages import Message
from aisbench_core.interfaces.cli import display
from aisbench_core.interfaces.cli.core import get_actor, open_core
from aisbench_core.interfaces.cli.exit_codes import exit_code_of
from aisbench_core.interfaces.cli.options import (
    Decorator,
    Group,
    benchmark_filters,
    choose_value,
    command,
    metric_option,
)
from aisbench_core.interfaces.cli.regression.annotations import github_annotations
from aisbench_core.interfaces.cli.regression.junit import junit_xml
from aisbench_core.interfaces.cli.regression.markdown import markdown_summary
from aisbench_core.interfaces.cli.regression.report import RegressionReport
from aisbench_core.interfaces.cli.regression.text import benchmark_name, group_text
from aisbench_core.interfaces.cli.remote.paths import OutputPath
from aisbench_core.interfaces.cli.results.results import full_id, query_of
from aisbench_core.warehouse.values.histories import Trend, VersionField

if TYPE_CHECKING:
    from aisbench_core.warehouse.values import histories, trend_verdicts
    from aisbench_core.warehouse.values.runs import BoardQuery
    from aisbench_core.wiring import Core


def _file_option(name: str, text: str) -> Decorator:
    return click.option(name, type=OutputPath(), metavar="FILE", help=text)


@command()
@benchmark_filters
@metric_option
@click.option(
    "--by", type=choose_value(VersionField), help="Field that defines a version; default: the first that differs."
)
@click.option(
    "--baseline",
    "names",
    metavar="VERSION|RUN",
    multiple=True,
    help="Compare with this version or run; can be repeated. Default: the marked baseline, or the version before.",
)
@_file_option("--junit", "Write JUnit XML to FILE, a test case for each metric.")
@_file_option("--markdown", "Write a summary to FILE, for a merge request or GitHub's $GITHUB_STEP_SUMMARY.")
@click.option("--github", is_flag=True, help="Print annotations for GitHub Actions to stderr.")
def regress(
    by: str | None,
    names: tuple[str, ...],
    junit: Path | None,
    markdown: Path | None,
    github: bool,
    as_json: bool,
    **filters: Any,
) -> None:
    """Test the newest runs of each group for regressions: exit code 0 none, 5 a regression, 6 not enough data.

    A group is one benchmark configuration on the same hardware. A change counts if it is 1 % or more and its p-value is
    at most 1 %, adjusted over all tests of the answer (Benjamini-Hochberg). Of each version, the runs with the image
    and code of its newest run are tested; changes within the newest version are tested as well. Unless a group
    regressed, the exit code is 6 as soon as one has no verdict: too few runs, or a change that cannot be told from the
    day. Imported runs are tested separately, and decide only where nothing was launched. docs/ci.md has files for
    GitHub, GitLab and Jenkins.
    """
    core = open_core(writing=False)
    query = query_of(core, **filters)
    report = _build_report(core, query.region, _find_regressions(core, query, _to_field(by), names))
    display.print_result(_to_answer(report), as_json, lambda: _format_report(report))
    display.print_message(report.counts)
    if junit:
        display.write_and_report(junit, junit_xml(report))
    if markdown:
        display.write_and_report(markdown, markdown_summary(report))
    for annotation in github_annotations(report) if github else ():
        display.print_message(annotation)
    click.get_current_context().exit(exit_code_of(report.regressions.outcome))


baseline = Group("baseline", help="Mark the runs that a group is compared with.")


@baseline.command()
@click.argument("run_ids", metavar="RUN...", nargs=-1, required=True)
@click.option("--by", type=choose_value(VersionField), help="Mark all runs of the same version, including future ones.")
def mark(run_ids: tuple[str, ...], by: str | None) -> None:
    """Mark these runs as the baseline of their group."""
    core = open_core(writing=True)
    ids = [full_id(core, run_id) for run_id in run_ids]
    click.echo(_format_baseline(core.warehouse.mark_baseline(ids, _to_field(by), get_actor(), core.clock())))


@baseline.command()
def unmark(run_id: str) -> None:
    """Remove the baseline mark from this run's group."""
    core = open_core(writing=True)
    run = core.warehouse.runs.find_row(full_id(core, run_id))
    if run is None:
        raise RunNotFound(Message("no run {run_id} in the warehouse", run_id=run_id))
    group = Trend.of(run)
    removed = core.warehouse.unmark_baseline(group.id, get_actor())  # of any of its runs: a group has one baseline
    click.echo(f"group {group.id}: {'baseline removed' if removed else 'no baseline was marked'}")


@baseline.command("list")
def list_(as_json: bool) -> None:
    """List marked baselines."""
    marked = open_core(writing=False).warehouse.trends.list_baselines()
    answer = [{"group_id": baseline.group.id, **display.as_dict(baseline)} for baseline in marked]
    display.print_result(answer, as_json, lambda: "\n".join(map(_format_baseline, marked)))


def _find_regressions(
    core: Core, query: BoardQuery, by: histories.VersionField | None, names: tuple[str, ...]
) -> trend_verdicts.Regressions:
    try:
        return core.warehouse.trends.list_verdicts(query, by, names)
    except RunNotFound:
        # Names are tried as versions first, because a short version may also be the prefix of a run id.
        ids = [full_id(core, name) for name in names]
        if ids == list(names):
            raise
        return core.warehouse.trends.list_verdicts(query, by, ids)


def _build_report(core: Core, region: str, regressions: trend_verdicts.Regressions) -> RegressionReport:
    fingerprints = (group.row.group.fingerprint for group in regressions.groups)
    parameters = core.warehouse.board.find_distinctions(region, fingerprints, rehearsal=regressions.rehearsal)
    names = {
        group.row.group.id: benchmark_name(group, parameters.get(group.row.group.fingerprint, ""))
        for group in regressions.groups
    }
    return RegressionReport(region, regressions, names)


def _to_answer(report: RegressionReport) -> dict[str, object]:
    rows = [
        {
            "group_id": group.row.group.id,
            **display.pick_fields(group, "row", "timeless", "other_systems", "unknown", "missed"),
            **display.as_dict(group.verdict),
        }
        for group in report.regressions.groups
    ]
    counts = {**display.pick_fields(report.regressions, "rehearsal", "outcome", "tests"), "groups_in_all": report.total}
    return {"region": report.region, **counts, "groups": rows}


def _format_report(report: RegressionReport) -> str:
    groups = (group_text(group, report.name_of(group)) for group in report.regressions.groups)
    return "\n\n".join([f"regression verdict: {report.regressions.outcome}", *groups])


def _to_field(by: str | None) -> histories.VersionField | None:
    return VersionField(by) if by else None


def _format_baseline(baseline: histories.Baseline) -> str:
    marked = f"{baseline.marked_by} at {display.local_time(baseline.marked_at)}"
    names = ", ".join(baseline.names)
    return f"group {baseline.group.id}: {baseline.field or 'runs'} {names}, marked by {marked}"
