"""`aisbench regress` and `baseline`: whether the newest runs differ from what was before, for people and for CI."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from aisbench_core import formats
from aisbench_core.cli import shown
from aisbench_core.cli.core import as_json, open_core, open_core_for_reading, user
from aisbench_core.cli.exit_codes import NOT_ENOUGH_DATA, REGRESSION
from aisbench_core.cli.results.results import full_id, query_of
from aisbench_core.errors import RunNotFound
from aisbench_core.messages import Message

if TYPE_CHECKING:
    from aisbench_core.core import Core
    from aisbench_core.statistics.power import Power
    from aisbench_core.statistics.summary import Summary
    from aisbench_core.warehouse import BoardQuery
    from aisbench_core.warehouse.answers.histories import (
        Baseline,
        GroupJudgement,
        HistoryGroup,
        Judgement,
        MetricVerdict,
        Outcome,
        Regressions,
        VersionField,
    )

FIELDS = ("framework_version", "engine_version", "code_sha256")


@click.command()
@click.option("--region", default="", help="Default: the region of the settings' profile.")
@click.option("--rehearsals", is_flag=True, help="Rehearsals, where the region has measurements too.")
@click.option("--model", "models", multiple=True, help="Only this model; can be repeated, as the next ones can.")
@click.option("--workload", "workloads", multiple=True, help="Only this workload.")
@click.option("--flavor", "flavors", multiple=True, help="Only this flavor.")
@click.option("--nodes", "node_counts", type=int, multiple=True, help="Only this number of nodes.")
@click.option("--by", type=click.Choice(FIELDS), help="What a version is; default: the first of these that differs.")
@click.option(
    "--baseline",
    "names",
    metavar="VERSION|RUN",
    multiple=True,
    help="Compare with this version or run; can be repeated. Default: the marked baseline, or the version before.",
)
@as_json
def regress(by: str | None, names: tuple[str, ...], as_json: bool, **chosen: Any) -> None:
    """Judge the newest runs of each group: exit code 0 no regression, 5 a regression, 6 not enough data.

    A group is the same question on the same hardware. A change counts when it is 1 % or more and its p-value is at
    most 1 %, adjusted over every test of the answer (Benjamini-Hochberg). Every group is judged, of each version the
    runs with the image and code of its newest run, and within the newest version what changed there. A group with too
    few runs does not fail the others; 6 means that no group could be judged. Imported runs are judged apart, and
    decide only where nothing was launched.
    """
    core = open_core_for_reading()
    query = query_of(core, **chosen)
    found = _judged(core, query, _field(by), names)
    prints = (group.row.group.fingerprint for group in found.groups)
    shown.answer(
        {"region": query.region, **_as_json(found)},
        as_json,
        lambda: _report(found, core.warehouse.apart.parameters(query.region, prints, rehearsal=found.rehearsal)),
    )
    _say_what(query.region, found)
    click.get_current_context().exit(exit_code_of(found.outcome))


@click.group()
def baseline() -> None:
    """Mark what the runs of a group are compared with."""


@baseline.command()
@click.argument("run_ids", metavar="RUN...", nargs=-1, required=True)
@click.option("--by", type=click.Choice(FIELDS), help="Mark all runs of the same version, now and later.")
def mark(run_ids: tuple[str, ...], by: str | None) -> None:
    """Make these runs the baseline of their group."""
    core = open_core()
    ids = [full_id(core, run_id) for run_id in run_ids]
    click.echo(_named(core.warehouse.mark_baseline(ids, _field(by), user(), core.clock())))


@baseline.command()
@click.argument("run_id", metavar="RUN")
def unmark(run_id: str) -> None:
    """Forget the baseline of this run's group."""
    core = open_core()
    group = _group_of(core, full_id(core, run_id))
    had = core.warehouse.unmark_baseline(group.id)
    click.echo(f"group {group.id}: {'the baseline is no longer marked' if had else 'no baseline was marked'}")


@baseline.command(name="list")
@as_json
def list_(as_json: bool) -> None:
    """List the marked baselines."""
    marked = open_core_for_reading().warehouse.baselines()
    shown.answer(
        [{"group_id": each.group.id, **_flat(each)} for each in marked],
        as_json,
        lambda: "\n".join(_named(each) for each in marked),
    )


def _judged(core: "Core", query: "BoardQuery", by: "VersionField | None", names: tuple[str, ...]) -> "Regressions":
    """Names are versions first, because a short one may also be the beginning of a run's id."""
    try:
        return core.warehouse.regressions(query, by, names)
    except RunNotFound:
        ids = [full_id(core, name) for name in names]
        if ids == list(names):
            raise
        return core.warehouse.regressions(query, by, ids)


def _field(by: str | None) -> "VersionField | None":
    from aisbench_core.warehouse.answers.histories import VersionField

    return VersionField(by) if by else None


def _group_of(core: "Core", run_id: str) -> "HistoryGroup":
    from aisbench_core.warehouse.answers.histories import HistoryGroup

    run = core.warehouse.run(run_id)
    if run is None:
        raise RunNotFound(Message("no run {run_id} in the warehouse", run_id=run_id))
    return HistoryGroup.of(run)


def exit_code_of(outcome: "Outcome") -> int:
    """What an answer ends with."""
    from aisbench_core.warehouse.answers.histories import Outcome

    return {Outcome.REGRESSION: REGRESSION, Outcome.NOT_ENOUGH: NOT_ENOUGH_DATA}.get(outcome, 0)


def _as_json(found: "Regressions") -> dict[str, object]:
    return {
        "rehearsal": found.rehearsal,
        "outcome": found.outcome,
        "tests": found.tests,
        "groups_in_all": found.total,
        "groups": [
            {
                "group_id": group.row.group.id,
                "row": group.row,
                "timeless": group.timeless,
                "other_systems": group.other_systems,
                **_flat(group.judgement),
            }
            for group in found.groups
        ],
    }


def _flat(value: "Judgement | Baseline") -> dict[str, object]:
    return {name: getattr(value, name) for name in value.__dataclass_fields__}


def _report(found: "Regressions", apart: "Mapping[str, str]") -> str:
    groups = (_group(group, apart.get(group.row.group.fingerprint, "")) for group in found.groups)
    return "\n\n".join([f"verdict: {found.outcome}", *groups])


def _group(each: "GroupJudgement", apart: str) -> str:
    row, judged = each.row, each.judgement
    where = shown.hardware(row.group.flavor or row.group.pool_id, row.group.node_count, row.group.cards_per_node)
    origin = row.group.origin.label if row.group.origin == "imported" else ""
    called = " · ".join(part for part in (shown.clipped(row.model), shown.clipped(apart), where, origin) if part)
    lines = [f"{called} · group {row.group.id}: {judged.outcome}", f"  {_sides(judged)}"]
    heads = (
        "metric", "verdict", ">baseline", ">candidate", ">change", ">95 % interval", ">p", ">adjusted p", "test",
    )  # fmt: skip
    if judged.metrics:
        lines.append(shown.indented(shown.table(heads, (tuple(_metric(metric)) for metric in judged.metrics))))
    if judged.within:
        lines.append(
            f"  within {_version(judged.candidate)}, since its last change (of level, image or code) against before:"
        )
        lines.append(shown.indented(shown.table(heads, (tuple(_metric(metric)) for metric in judged.within))))
    if each.timeless:
        lines.append(f"  imported runs that do not count, because their time is not known: {each.timeless}")
    if each.other_systems:
        lines.append(f"  runs that do not count, because of another accelerator or other data: {each.other_systems}")
    if judged.other_builds:
        lines.append(f"  runs of another image or code than the newest run of their version: {judged.other_builds}")
    if judged.mixed:
        lines.append(
            f"  mixed: {', '.join(judged.mixed)}; the baseline's versions differ in it, so nothing is compared"
        )
    return "\n".join([*lines, *(f"  {text}" for text in _powers(judged))])


def _version(name: str) -> str:
    return shown.clipped(name) or formats.MISSING


def _sides(judged: "Judgement") -> str:
    from aisbench_core.warehouse.answers.histories import BaselineReason

    if judged.rule is BaselineReason.LEVEL_BEFORE:
        return f"one version ({_version(judged.candidate)}): looking for changes of level over time"
    return (
        f"baseline {_version(judged.baseline)} ({judged.rule}, {len(judged.baseline_run_ids)} runs), "
        f"candidate {_version(judged.candidate)} ({len(judged.candidate_run_ids)} runs)"
    )


def _metric(metric: "MetricVerdict") -> Iterator[str]:
    found = metric.difference
    yield metric.name
    yield str(metric.outcome)
    yield _mean(metric.name, metric.baseline, metric.unit)
    yield _mean(metric.name, metric.candidate, metric.unit)
    yield signed(found.change) if found else formats.MISSING
    yield f"{signed(found.ci_low)} … {signed(found.ci_high)}" if found else formats.MISSING
    yield probability(metric.p_value)
    yield probability(metric.adjusted_p)
    yield str(found.test) if found else formats.MISSING


def _mean(name: str, side: "Summary | None", unit: str) -> str:
    if side is None:
        return formats.MISSING
    mean = formats.percent(side.mean) if name == "rank_cv" else formats.number(side.mean, unit)
    return f"{mean} (n={side.count})"


def signed(change: float) -> str:
    """A relative change as +1.2 % or -3.4 %."""
    return f"{change * 100:+.2f} %"


def probability(value: float | None) -> str:
    """A p-value to three digits, so that 0.0104 is not taken for 0.01; below a millionth it says only that."""
    if value is None:
        return formats.MISSING
    return "< 1e-6" if value < 1e-6 else f"{value:.3g}"


def _powers(judged: "Judgement") -> Iterator[str]:
    """What the throughput's own noise allows to see."""
    metric = next((metric for metric in judged.metrics if metric.power), None)
    if metric is None or metric.power is None:
        return
    yield f"{metric.name}: {power_line(metric.power)}"


def power_line(found: "Power") -> str:
    """How many runs find a true change of so much in 90 of 100 cases, and what the runs so far find as often."""
    if found.runs:
        runs = f"{found.runs} runs find"
    elif found.runs_each:
        runs = f"{found.runs_each} runs on each side find"
    else:
        runs = "it takes more than 200 runs to find"
    sentence = (
        f"at a CV of {_percents(found.cv)} %, {runs} a true change of {found.change * 100:g} % in 90 of 100 cases"
    )
    return sentence + (f"; the runs so far find {_percents(found.visible)} % or more" if found.visible else "")


def _percents(share: float) -> str:
    """Two digits, and of hundreds the whole number."""
    return f"{share * 100:.2g}" if share < 1 else f"{share * 100:,.0f}"


def _say_what(region: str, found: "Regressions") -> None:
    kind = "rehearsals, not measurements" if found.rehearsal else "measurements"
    more = f" of {found.total}" if found.total > len(found.groups) else ""
    groups = f"{len(found.groups)}{more} {'group' if len(found.groups) == 1 else 'groups'}"
    shown.talk(f"{region}: {groups}, {found.tests} tests; {kind}{_not_judged(found)}")


def _not_judged(found: "Regressions") -> str:
    """How many groups say nothing, because the exit code is that of the others."""
    from aisbench_core.warehouse.answers.histories import Outcome

    count = sum(group.judgement.outcome is Outcome.NOT_ENOUGH for group in found.groups)
    return f"; not enough data in {count} {'group' if count == 1 else 'groups'}" if count else ""


def _named(marked: "Baseline") -> str:
    what = f"{marked.field} {', '.join(marked.names)}" if marked.field else f"runs {', '.join(marked.names)}"
    return f"group {marked.group.id}: {what}, marked by {marked.marked_by} at {shown.moment(marked.marked_at)}"
