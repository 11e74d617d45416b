"""What `aisbench regress` prints for people."""

from collections.abc import Iterator, Sequence

from aisbench_core.base import formats
from aisbench_core.domain.statistics.difference import MeanDifference, Power
from aisbench_core.domain.statistics.summary import Summary
from aisbench_core.interfaces.cli import display
from aisbench_core.warehouse.values import histories, trend_verdicts


def benchmark_name(group: trend_verdicts.TrendVerdict, parameters: str) -> str:
    """The model of a group, what distinguishes it from groups alike, and its hardware."""
    key = group.row.group
    hardware = display.format_hardware(key.flavor or key.pool_id, key.node_count, key.cards_per_node)
    origin = key.origin.label if key.origin == "imported" else ""
    names = (display.clip_text(group.row.model), display.clip_text(parameters), hardware, origin)
    return " · ".join(filter(None, names))


def group_text(group: trend_verdicts.TrendVerdict, name: str) -> str:
    """The verdict on one group with everything that led to it."""
    head = f"{name} · group {group.row.group.id}: {group.verdict.outcome}"
    return "\n".join([head, *map(display.indent_text, _iterate_details(group, group.verdict))])


def _iterate_details(group: trend_verdicts.TrendVerdict, regression: histories.RegressionVerdict) -> Iterator[str]:
    yield describe_sides(regression)
    if regression.withheld:
        yield withheld_text(regression)
    if regression.metrics:
        yield _format_metrics(regression.metrics)
    yield from (str(text) for text in (regression.open_reason, regression.method) if text)
    if regression.within:
        candidate = display.clip_text(regression.candidate) or formats.MISSING
        yield f"within {candidate}, since its last change of level, image or code:"
        yield _format_metrics(regression.within)
    not_counted = {
        "imported runs left out because their time is unknown": group.timeless,
        "runs left out because of another accelerator, other data or another definition": group.other_systems,
        "runs left out because something that affects speed is unknown": group.unknown,
        "runs below their target accuracy, of which only the accuracy is compared": group.missed,
        "runs left out because of an older image or code of their version": regression.other_builds,
    }
    yield from (f"{reason}: {runs}" for reason, runs in not_counted.items() if runs)
    if regression.mixed:
        yield mixed_text(regression)
    for name, power in [(metric.name, metric.power) for metric in regression.metrics if metric.power][:1]:
        yield f"{name}: {power_text(power)}"


def describe_sides(regression: histories.RegressionVerdict) -> str:
    """What is compared with what, and why."""
    if regression.withheld:
        return "no comparison"
    names = (regression.baseline, regression.candidate)
    baseline, candidate = (display.clip_text(name) or formats.MISSING for name in names)
    if regression.rule == "the level before":
        return f"one version ({candidate}): testing for changes of level over time"
    return (
        f"baseline {baseline} ({regression.rule}, {len(regression.baseline_run_ids)} runs), "
        f"candidate {candidate} ({len(regression.candidate_run_ids)} runs)"
    )


def withheld_text(regression: histories.RegressionVerdict) -> str:
    return ". ".join(filter(None, (regression.withheld, regression.advice)))


def mixed_text(regression: histories.RegressionVerdict) -> str:
    return f"mixed: {', '.join(regression.mixed)}; the baseline's versions differ in it, so nothing is compared"


def _format_metrics(metrics: Sequence[histories.MetricVerdict]) -> str:
    columns: display.Columns[histories.MetricVerdict] = {
        "metric": lambda metric: metric.name,
        "verdict": lambda metric: str(metric.outcome),
        ">baseline": lambda metric: side_mean(metric.name, metric.baseline, metric.unit),
        ">candidate": lambda metric: side_mean(metric.name, metric.candidate, metric.unit),
        ">change": lambda metric: formats.format_change(metric.difference.change if metric.difference else None),
        ">95 % interval": lambda metric: change_interval(metric.difference),
        ">p": lambda metric: formats.p_value(metric.p_value),
        ">adjusted p": lambda metric: formats.p_value(metric.adjusted_p),
        "test": lambda metric: str(metric.difference.test) if metric.difference else formats.MISSING,
    }
    return display.table_of(metrics, columns)


def change_interval(difference: MeanDifference | None) -> str:
    if difference is None:
        return formats.MISSING
    return f"{formats.format_change(difference.ci_low)} … {formats.format_change(difference.ci_high)}"


def metric_sentence(metric: histories.MetricVerdict) -> str:
    """One metric on one line: both means, the change with its interval, and how certain it is."""
    baseline, candidate = (side_mean(metric.name, side, metric.unit) for side in (metric.baseline, metric.candidate))
    if metric.difference is None:
        return f"{metric.outcome}: baseline {baseline}, candidate {candidate}"
    change = f"{formats.format_change(metric.difference.change)} (95 % interval {change_interval(metric.difference)})"
    return f"{metric.outcome}: {baseline} → {candidate}, {change}, adjusted p {formats.p_value(metric.adjusted_p)}"


def side_mean(name: str, side: Summary | None, unit: str) -> str:
    if side is None:
        return formats.MISSING
    mean = formats.format_percent(side.mean) if name == "rank_cv" else formats.format_number(side.mean, unit)
    return f"{mean} (n={side.count})"


def power_text(power: Power) -> str:
    """How many runs detect a change with a probability of 90 %, and which change the present runs detect."""
    if power.runs:
        runs = f"{power.runs} {power.unit}s detect"
    elif power.runs_each:
        runs = f"{power.runs_each} {power.unit}s on each side detect"
    else:
        runs = f"it takes more than 200 {power.unit}s to detect"  # where the computation stops
    change = f"a true change of {power.change * 100:g} % in 90 of 100 cases"
    text = f"at a CV of {_format_percents(power.cv)} %, {runs} {change}"
    return text + (f"; the present runs detect {_format_percents(power.visible)} % or more" if power.visible else "")


def _format_percents(share: float) -> str:
    # Two digits for shares below 1; above, they would turn 1234 % into 1.2e+03 %.
    return f"{share * 100:.2g}" if share < 1 else f"{share * 100:,.0f}"
