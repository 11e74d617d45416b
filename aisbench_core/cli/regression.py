"""`aisbench regress` and `baseline`: whether the newest runs differ from earlier ones, for people and for CI."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from aisbench_core import formats
from aisbench_core.cli import display
from aisbench_core.cli.core import actor, open_core
from aisbench_core.cli.exit_codes import NOT_ENOUGH_DATA, REGRESSION
from aisbench_core.cli.options import Group, benchmark_filters, command
from aisbench_core.cli.results import full_id, query_of
from aisbench_core.errors import RunNotFound
from aisbench_core.messages import Message

if TYPE_CHECKING:
    from aisbench_core.statistics.difference import MeanDifference, Power
    from aisbench_core.statistics.summary import Summary
    from aisbench_core.warehouse import BoardQuery
    from aisbench_core.warehouse.answers import histories
    from aisbench_core.wiring import Core

FIELDS = ("framework_version", "engine_version", "code_sha256")


@command()
@benchmark_filters
@click.option("--by", type=click.Choice(FIELDS), help="Field that defines a version; default: the first that differs.")
@click.option(
    "--baseline",
    "names",
    metavar="VERSION|RUN",
    multiple=True,
    help="Compare with this version or run; can be repeated. Default: the marked baseline, or the version before.",
)
def regress(by: str | None, names: tuple[str, ...], as_json: bool, **filters: Any) -> None:
    """Test the newest runs of each group for regressions: exit code 0 none, 5 a regression, 6 not enough data.

    A group is one benchmark configuration on the same hardware. A change counts if it is 1 % or more and its p-value is
    at most 1 %, adjusted over all tests of the answer (Benjamini-Hochberg). Of each version, the runs with the image
    and code of its newest run are tested; changes within the newest version are tested as well. A group with too few
    runs does not fail the others; the exit code is 6 if no group has enough. Imported runs are tested separately, and
    decide only where nothing was launched.
    """
    core = open_core(writing=False)
    query = query_of(core, **filters)
    regressions = _regressions(core, query, _field(by), names)

    def text() -> str:
        fingerprints = (group.row.group.fingerprint for group in regressions.groups)
        parameters = core.warehouse.distinctions(query.region, fingerprints, rehearsal=regressions.rehearsal)
        groups = (_group(group, parameters.get(group.row.group.fingerprint, "")) for group in regressions.groups)
        return "\n\n".join([f"regression verdict: {regressions.outcome}", *groups])

    rows = [
        {
            "group_id": group.row.group.id,
            **display.pick(group, "row", "timeless", "other_systems"),
            **display.as_dict(group.verdict),
        }
        for group in regressions.groups
    ]
    counts = {**display.pick(regressions, "rehearsal", "outcome", "tests"), "groups_in_all": regressions.total}
    display.result({"region": query.region, **counts, "groups": rows}, as_json, text)
    shown, total = len(regressions.groups), regressions.total
    groups = f"{shown} of {total} groups" if total > shown else display.count(shown, "group")
    # The exit code is that of the other groups, so CI logs must name these.
    without = sum(group.verdict.outcome == "not enough data" for group in regressions.groups)
    undecided = f"; not enough data in {display.count(without, 'group')}" if without else ""
    kind = display.REHEARSALS if regressions.rehearsal else "measurements"
    display.message(f"{query.region}: {groups}, {regressions.tests} tests; {kind}{undecided}")
    click.get_current_context().exit(exit_code_of(regressions.outcome))


baseline = Group("baseline", help="Mark the runs that a group is compared with.")


@baseline.command()
@click.argument("run_ids", metavar="RUN...", nargs=-1, required=True)
@click.option("--by", type=click.Choice(FIELDS), help="Mark all runs of the same version, including future ones.")
def mark(run_ids: tuple[str, ...], by: str | None) -> None:
    """Mark these runs as the baseline of their group."""
    core = open_core(writing=True)
    ids = [full_id(core, run_id) for run_id in run_ids]
    click.echo(_baseline(core.warehouse.mark_baseline(ids, _field(by), actor(), core.clock())))


@baseline.command()
def unmark(run_id: str) -> None:
    """Remove the baseline mark from this run's group."""
    from aisbench_core.warehouse.answers.histories import Trend

    core = open_core(writing=True)
    run = core.warehouse.run(full_id(core, run_id))
    if run is None:
        raise RunNotFound(Message("no run {run_id} in the warehouse", run_id=run_id))
    group = Trend.of(run)
    removed = core.warehouse.unmark_baseline(group.id, actor())  # of any of its runs: a group has one baseline
    click.echo(f"group {group.id}: {'baseline removed' if removed else 'no baseline was marked'}")


@baseline.command("list")
def list_(as_json: bool) -> None:
    """List marked baselines."""
    marked = open_core(writing=False).warehouse.baselines()
    answer = [{"group_id": baseline.group.id, **display.as_dict(baseline)} for baseline in marked]
    display.result(answer, as_json, lambda: "\n".join(map(_baseline, marked)))


def _regressions(
    core: "Core", query: "BoardQuery", by: "histories.VersionField | None", names: tuple[str, ...]
) -> "histories.Regressions":
    try:
        return core.warehouse.regressions(query, by, names)
    except RunNotFound:
        # Names are tried as versions first, because a short version may also be the prefix of a run id.
        ids = [full_id(core, name) for name in names]
        if ids == list(names):
            raise
        return core.warehouse.regressions(query, by, ids)


def _field(by: str | None) -> "histories.VersionField | None":
    from aisbench_core.warehouse.answers.histories import VersionField

    return VersionField(by) if by else None


def exit_code_of(outcome: "histories.Outcome") -> int:
    return {"regression": REGRESSION, "not enough data": NOT_ENOUGH_DATA}.get(outcome, 0)  # an improvement passes, too


def _group(group: "histories.TrendVerdict", parameters: str) -> str:
    key, regression = group.row.group, group.verdict
    hardware = display.hardware(key.flavor or key.pool_id, key.node_count, key.cards_per_node)
    origin = key.origin.label if key.origin == "imported" else ""
    names = (display.clipped(group.row.model), display.clipped(parameters), hardware, origin)
    head = f"{' · '.join(filter(None, names))} · group {key.id}: {regression.outcome}"
    return "\n".join([head, *map(display.indented, _details(group, regression))])


def _details(group: "histories.TrendVerdict", regression: "histories.RegressionVerdict") -> Iterator[str]:
    names = (regression.baseline, regression.candidate)
    baseline, candidate = (display.clipped(name) or formats.MISSING for name in names)
    if regression.rule == "the level before":
        yield f"one version ({candidate}): testing for changes of level over time"
    else:
        yield (
            f"baseline {baseline} ({regression.rule}, {len(regression.baseline_run_ids)} runs), "
            f"candidate {candidate} ({len(regression.candidate_run_ids)} runs)"
        )
    if regression.metrics:
        yield _metrics(regression.metrics)
    if regression.within:
        yield f"within {candidate}, since its last change of level, image or code:"
        yield _metrics(regression.within)
    not_counted = {
        "imported runs not counted because their time is unknown": group.timeless,
        "runs not counted because of another accelerator or other data": group.other_systems,
        "runs not counted because of an older image or code of their version": regression.other_builds,
    }
    yield from (f"{reason}: {runs}" for reason, runs in not_counted.items() if runs)
    if regression.mixed:
        yield f"mixed: {', '.join(regression.mixed)}; the baseline's versions differ in it, so nothing is compared"
    for name, power in [(metric.name, metric.power) for metric in regression.metrics if metric.power][:1]:
        yield f"{name}: {power_text(power)}"


def _metrics(metrics: "Sequence[histories.MetricVerdict]") -> str:
    columns: display.Columns[histories.MetricVerdict] = {
        "metric": lambda metric: metric.name,
        "verdict": lambda metric: str(metric.outcome),
        ">baseline": lambda metric: _mean(metric.name, metric.baseline, metric.unit),
        ">candidate": lambda metric: _mean(metric.name, metric.candidate, metric.unit),
        ">change": lambda metric: formats.signed(metric.difference.change if metric.difference else None),
        ">95 % interval": lambda metric: change_interval(metric.difference),
        ">p": lambda metric: formats.p_value(metric.p_value),
        ">adjusted p": lambda metric: formats.p_value(metric.adjusted_p),
        "test": lambda metric: str(metric.difference.test) if metric.difference else formats.MISSING,
    }
    return display.table_of(metrics, columns)


def change_interval(difference: "MeanDifference | None") -> str:
    if difference is None:
        return formats.MISSING
    return f"{formats.signed(difference.ci_low)} … {formats.signed(difference.ci_high)}"


def _mean(name: str, side: "Summary | None", unit: str) -> str:
    if side is None:
        return formats.MISSING
    mean = formats.percent(side.mean) if name == "rank_cv" else formats.number(side.mean, unit)
    return f"{mean} (n={side.count})"


def power_text(power: "Power") -> str:
    """How many runs detect a change with a probability of 90 %, and which change the present runs detect."""
    if power.runs:
        runs = f"{power.runs} runs detect"
    elif power.runs_each:
        runs = f"{power.runs_each} runs on each side detect"
    else:
        runs = "it takes more than 200 runs to detect"  # where the computation stops
    text = f"at a CV of {_percents(power.cv)} %, {runs} a true change of {power.change * 100:g} % in 90 of 100 cases"
    return text + (f"; the present runs detect {_percents(power.visible)} % or more" if power.visible else "")


def _percents(share: float) -> str:
    # Two digits for shares below 1; above, they would turn 1234 % into 1.2e+03 %.
    return f"{share * 100:.2g}" if share < 1 else f"{share * 100:,.0f}"


def _baseline(baseline: "histories.Baseline") -> str:
    marked = f"{baseline.marked_by} at {display.local_time(baseline.marked_at)}"
    names = ", ".join(baseline.names)
    return f"group {baseline.group.id}: {baseline.field or 'runs'} {names}, marked by {marked}"
