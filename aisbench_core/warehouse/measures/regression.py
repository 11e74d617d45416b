"""Whether the newest runs differ from the baseline, and whether that is a regression. Pure functions of runs.

A change is reported when it is both large enough to matter (EFFECT) and significant (ALPHA) after Benjamini-Hochberg
over all tests of one answer.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from aisbench_core.domain.statistics.decision import TimedValue, compare_runs, count_looks, to_units
from aisbench_core.domain.statistics.difference import (
    MeanDifference,
    Power,
    Reporting,
    TTest,
    compute_power,
)
from aisbench_core.domain.statistics.summary import Summary, summarize_values
from aisbench_core.warehouse.values.histories import (
    BaselineReason,
    HistoryRun,
    MetricVerdict,
    Outcome,
    RegressionVerdict,
    VersionField,
)

# The smallest relative change that is reported.
EFFECT = 0.01

# The true change that runs are planned for: half of all measurements of one of just EFFECT are smaller than EFFECT.
PLANNED = 2 * EFFECT

# The largest adjusted p-value of a change that is reported.
ALPHA = 0.01

THROUGHPUT = "the workload's unit"


class Tracked(NamedTuple):
    """A number of a run that is followed over time. Time in the queue is not: it depends on the pool, not on the run.

    `higher_is_better` None: neither is, and there is no verdict. `is_share`: it is relative to the throughput already,
    so that EFFECT applies to its difference, not to its ratio."""

    name: str
    unit: str
    higher_is_better: bool | None
    is_share: bool = False


TRACKED = (
    Tracked("throughput", THROUGHPUT, higher_is_better=True),
    Tracked("accuracy", "", higher_is_better=True),
    Tracked("duration_s", "s", higher_is_better=False),
    Tracked("rank_cv", "", higher_is_better=False, is_share=True),
    Tracked("energy_consumption", "", higher_is_better=False),
)

# Throughputs beside a verdict: enough for a small picture of it.
MAX_RECENT = 30


def regression_verdict(
    runs: Sequence[HistoryRun],
    unit: str,
    field: VersionField,
    names: Sequence[str],
    rule: BaselineReason,
    tracked: Sequence[Tracked] = TRACKED,
) -> RegressionVerdict:
    """The newest runs of a trend, which are in time order, against its baseline; outcomes are decided later.

    `names`: the baseline as versions or run ids. Without any it is the version before the newest one; with one version
    only, each metric's level before its last change. Runs without a number that counts are ignored. There is no verdict
    where something that decides speed is not known of the newest run, or of all that are named."""
    drawn = [run for run in runs if run.drawn]
    named = [run for run in drawn if _is_named(run, field, names)]
    if not_known := _not_known(drawn[-1:]) or _not_known(named):
        return _withhold_verdict(drawn, field, named, rule, not_known)
    counted, tracked = [run for run in runs if run.values], in_unit(tracked, unit)
    if names:
        return _compare_runs(tracked, field, rule, *_split_by_names(counted, field, names))
    versions = versions_of(counted, field)
    if len(versions) < 2:
        return _by_level(counted, tracked, field)
    before, newest = versions[-2:]
    baseline = [run for run in counted if run.version(field) == before]
    candidate = [run for run in counted if run.version(field) == newest]
    return _compare_runs(tracked, field, BaselineReason.VERSION_BEFORE, baseline, candidate)


def in_unit(tracked: Sequence[Tracked], unit: str) -> tuple[Tracked, ...]:
    """These metrics, the throughput with its unit."""
    return tuple(metric._replace(unit=unit) if metric.unit == THROUGHPUT else metric for metric in tracked)


def field_of(runs: Sequence[HistoryRun], requested: VersionField | None) -> VersionField:
    """What a version is: as requested, or the first field that differs among the runs."""
    if requested is not None:
        return requested
    return next((field for field in VersionField if len(versions_of(runs, field)) > 1), VersionField.FRAMEWORK)


def versions_of(runs: Sequence[HistoryRun], field: VersionField) -> list[str]:
    """The versions of runs that count, in the order of their first runs."""
    return list(dict.fromkeys(run.version(field) for run in runs if run.values and run.version(field)))


def newest_throughputs(runs: Sequence[HistoryRun]) -> tuple[float, ...]:
    """Those that count, the oldest first."""
    return tuple(run.values["throughput"] for run in runs if "throughput" in run.values)[-MAX_RECENT:]


def _is_named(run: HistoryRun, field: VersionField, names: Sequence[str]) -> bool:
    return run.run_id in names or run.version(field) in names


def _not_known(runs: Sequence[HistoryRun]) -> str:
    """What is not known of the newest of these runs, if nothing of any of them can be compared."""
    return "" if not runs or any(run.values for run in runs) else runs[-1].not_known


def _withhold_verdict(
    runs: Sequence[HistoryRun],
    field: VersionField,
    baseline: Sequence[HistoryRun],
    rule: BaselineReason,
    not_known: str,
) -> RegressionVerdict:
    candidate = [run for run in runs if run.version(field) == runs[-1].version(field) and run not in baseline]
    return RegressionVerdict(
        rule if baseline else BaselineReason.VERSION_BEFORE,
        field,
        baseline=_one_version(baseline, field),
        candidate=_one_version(candidate, field),
        baseline_run_ids=tuple(run.run_id for run in baseline),
        candidate_run_ids=tuple(run.run_id for run in candidate),
        metrics=(),
        not_known=not_known,
    )


def _split_by_names(
    runs: Sequence[HistoryRun], field: VersionField, names: Sequence[str]
) -> tuple[list[HistoryRun], list[HistoryRun]]:
    """The runs with these names, and the runs of the newest version; after single runs only later ones."""
    baseline = [run for run in runs if _is_named(run, field, names)]
    newest = versions_of(runs, field)[-1:]
    if not baseline or not newest or newest[0] in names:  # the version of all runs may be unknown
        return baseline, []
    start = max((index + 1 for index, run in enumerate(runs) if run.run_id in names), default=0)
    return baseline, [run for run in runs[start:] if run.version(field) == newest[0]]


def _compare_runs(
    tracked: Sequence[Tracked],
    field: VersionField,
    rule: BaselineReason,
    baseline: Sequence[HistoryRun],
    candidate: Sequence[HistoryRun],
) -> RegressionVerdict:
    total, newest = len(baseline) + len(candidate), candidate
    baseline, candidate = of_one_build(baseline, field), of_one_build(newest, field)
    mixed = _find_mixed(field, baseline)
    measured = [metric for metric in tracked if any(metric.name in run.values for run in (*baseline, *candidate))]
    metrics = () if mixed else tuple(_compare_metric(metric, baseline, candidate) for metric in measured)
    within = (*_against_build_before(tracked, newest, candidate, field), *_changed_within(tracked, candidate))
    return RegressionVerdict(
        rule=rule,
        field=field,
        baseline=_one_version(baseline, field),
        candidate=_one_version(candidate, field),
        baseline_run_ids=tuple(run.run_id for run in baseline),
        candidate_run_ids=tuple(run.run_id for run in candidate),
        metrics=_with_power(metrics, sum(metric.p_value is not None for metric in metrics)),
        within=within,
        mixed=mixed,
        other_builds=total - len(baseline) - len(candidate),
    )


def _with_power(metrics: Sequence[MetricVerdict], tests: int) -> tuple[MetricVerdict, ...]:
    """The metrics, of one answer with so many tests, with their power. Where the position of a change is searched for,
    more runs are needed than where it is known: nothing is promised there."""
    return tuple(
        replace(metric, power=power_of(metric.baseline, metric.candidate, tests * metric.looks, metric.difference))
        for metric in metrics
    )


_ASPECTS = {"image": VersionField.ENGINE, "code": VersionField.CODE}


def of_one_build(runs: Sequence[HistoryRun], field: VersionField) -> Sequence[HistoryRun]:
    """The runs of one version with the image and the code of its newest run, as far as both are known.

    Runs of several versions, which were named together, are returned as they are."""
    if len({run.version(field) for run in runs} - {""}) > 1:
        return runs
    for aspect in (aspect for aspect in _ASPECTS.values() if aspect is not field):
        newest = next((run.version(aspect) for run in reversed(runs) if run.version(aspect)), "")
        runs = [run for run in runs if run.version(aspect) in ("", newest)]
    return runs


def _find_mixed(field: VersionField, runs: Sequence[HistoryRun]) -> tuple[str, ...]:
    """Which of image and code, unless these are the versions, differ among the runs."""
    return tuple(
        name
        for name, aspect in _ASPECTS.items()
        if aspect is not field and len({run.version(aspect) for run in runs} - {""}) > 1
    )


def _against_build_before(
    tracked: Sequence[Tracked], version: Sequence[HistoryRun], newest: Sequence[HistoryRun], field: VersionField
) -> Iterator[MetricVerdict]:
    # A new image or new code of the same version may be slower, too.
    run_ids = {run.run_id for run in newest}
    before = of_one_build([run for run in version if run.run_id not in run_ids], field)
    metrics = (_compare_metric(metric, before, newest) for metric in tracked)
    return (metric for metric in metrics if metric.p_value is not None)


def _changed_within(tracked: Sequence[Tracked], candidate: Sequence[HistoryRun]) -> Iterator[MetricVerdict]:
    # The mean of all of the candidate's runs hides a drop that began in the middle of them.
    metrics = (_last_level(metric, candidate) for metric in tracked)
    return (metric for metric in metrics if metric.p_value is not None)


def _one_version(runs: Sequence[HistoryRun], field: VersionField) -> str:
    return ", ".join(dict.fromkeys(run.version(field) for run in runs))


def _compare_metric(metric: Tracked, baseline: Sequence[HistoryRun], candidate: Sequence[HistoryRun]) -> MetricVerdict:
    before, after = _list_values(metric, baseline), _list_values(metric, candidate)
    gap = compare_runs(before, after)
    undecided = _make_undecided(metric, _summarize_values(before), _summarize_values(after))
    since = candidate[0].run_id if candidate else ""
    missed = sum(run.has_missed for run in candidate)
    is_trend = gap is not None and gap.test is TTest.TREND
    p_value, looks = gap.p_value if gap else None, count_looks(after)
    return replace(
        undecided, difference=gap, p_value=p_value, looks=looks, since=since, missed=missed, is_trend=is_trend
    )


def _by_level(all_runs: Sequence[HistoryRun], tracked: Sequence[Tracked], field: VersionField) -> RegressionVerdict:
    runs = of_one_build(all_runs, field)
    measured = [metric for metric in tracked if any(metric.name in run.values for run in runs)]
    version = _one_version(runs, field)
    return RegressionVerdict(
        BaselineReason.LEVEL_BEFORE,
        field,
        baseline=version,
        candidate=version,
        baseline_run_ids=tuple(run.run_id for run in runs),
        candidate_run_ids=(),
        metrics=tuple(_last_level(metric, runs) for metric in measured),
        within=tuple(_against_build_before(tracked, all_runs, runs, field)),
        other_builds=len(all_runs) - len(runs),
    )


def _last_level(metric: Tracked, runs: Sequence[HistoryRun]) -> MetricVerdict:
    """The values since the last change of level against those of the level before; without a change, all values."""
    from aisbench_core.domain.statistics import steps  # numpy takes 0.1 s

    measured = [run for run in runs if metric.name in run.values]
    values = _list_values(metric, measured)
    units = to_units(values)
    if len(units) < min(len(values), 2 * steps.MIN_LENGTH):
        return _newest_day(metric, runs, units[-1][0])
    means = [mean for _, mean in units]
    looks = count_looks(values)
    found = steps.find_steps(means, steps.ALPHA / looks)
    changes = [units[step.index][0] for step in found]
    if not changes:
        likeliest = steps.find_likeliest_step(means)
        undecided = _make_undecided(metric, _summarize_values(values), None)
        p_value = likeliest.p_value if likeliest else None
        return replace(undecided, p_value=p_value, looks=looks, is_trend=steps.follows_line(means))
    start, last = (changes[-2] if len(changes) > 1 else 0), changes[-1]
    before, after = values[start:last], values[last:]
    undecided = _make_undecided(metric, _summarize_values(before), _summarize_values(after))
    gap = compare_runs(before, after)
    since = measured[last]
    missed = sum(run.has_missed for run in runs[runs.index(since) :])
    p_value = found[-1].p_value
    return replace(undecided, difference=gap, p_value=p_value, looks=looks, since=since.run_id, missed=missed)


def _newest_day(metric: Tracked, runs: Sequence[HistoryRun], start: int) -> MetricVerdict:
    """The runs of the newest day, of too few to search, against those of the days before."""
    measured = [run for run in runs if metric.name in run.values]
    found = _compare_metric(metric, measured[:start], measured[start:])
    return replace(found, looks=count_looks(_list_values(metric, measured)))


def _list_values(metric: Tracked, runs: Sequence[HistoryRun]) -> list[TimedValue]:
    return [TimedValue(run.values[metric.name], run.at) for run in runs if metric.name in run.values]


def _summarize_values(measured: Sequence[TimedValue]) -> Summary | None:
    return summarize_values([each.value for each in measured])


def _make_undecided(metric: Tracked, baseline: Summary | None, candidate: Summary | None) -> MetricVerdict:
    return MetricVerdict(
        metric.name,
        metric.unit,
        metric.higher_is_better,
        Outcome.NOT_ENOUGH,
        baseline,
        candidate,
    )


def power_of(
    baseline: Summary | None, candidate: Summary | None, tests: float, difference: MeanDifference | None = None
) -> Power | None:
    """The power of one of `tests` tests between these runs; None while no spread is known.

    With a `difference`, by the error that decided; else by the spread of both sides. It is that of a change in this
    metric alone, whose p-value the adjustment multiplies by the number of tests."""
    rule = Reporting(EFFECT, ALPHA / max(1.0, tests))
    if difference and (design := difference.design):
        counts = design.baseline, design.candidate
        return compute_power(design.cv, PLANNED, *counts, rule, design, difference.unit)
    sides = [side for side in (baseline, candidate) if side is not None and side.cv is not None]
    if baseline is None or not sides:
        return None
    freedom = sum(side.count - 1 for side in sides)
    cv = math.sqrt(sum((side.count - 1) * (side.cv or 0) ** 2 for side in sides) / freedom)
    return compute_power(cv, PLANNED, baseline.count, candidate.count if candidate else 0, rule)
