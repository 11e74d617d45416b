"""Verdicts: do the newest runs differ from the baseline, and is that a regression. Pure functions of runs.

A change is reported when it is both large enough to matter (EFFECT) and too sure to be chance (ALPHA), after
Benjamini-Hochberg over every test of one answer.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from aisbench_core.statistics import steps
from aisbench_core.statistics.difference import difference
from aisbench_core.statistics.discovery import adjusted
from aisbench_core.statistics.power import Power, Reporting, power
from aisbench_core.statistics.summary import Summary, summary
from aisbench_core.warehouse.answers.histories import (
    BaselineReason,
    HistoryRun,
    Judgement,
    MetricVerdict,
    Outcome,
    VersionField,
)

EFFECT = 0.01
"""A smaller relative change is no news."""

PLANNED = 2 * EFFECT
"""The true change for which runs are planned: of one of just EFFECT, half of all measurements are smaller."""

ALPHA = 0.01
"""A change that is likelier by chance is no news either."""

THROUGHPUT = "the workload's unit"


class Tracked(NamedTuple):
    """A number of a run that is followed over time. Time in the queue is not: it tells of the pool, not of the run.

    `is_share`: it is a share of the throughput already, so its difference, not its ratio, has to be large enough."""

    name: str
    unit: str
    higher_is_better: bool
    is_share: bool = False


TRACKED = (
    Tracked("throughput", THROUGHPUT, higher_is_better=True),
    Tracked("accuracy", "", higher_is_better=True),
    Tracked("duration_s", "s", higher_is_better=False),
    Tracked("rank_cv", "", higher_is_better=False, is_share=True),
    Tracked("energy_consumption", "", higher_is_better=False),
)

_SHARES = frozenset(metric.name for metric in TRACKED if metric.is_share)

GRAVEST = tuple(Outcome)


def judgement(
    runs: Sequence[HistoryRun], unit: str, field: VersionField, names: Sequence[str], rule: BaselineReason
) -> Judgement:
    """The newest runs of a group, in the order of time, against its baseline; not yet settled.

    `names`: the baseline as versions or run ids. Without any it is the version before the newest one; and while there
    is one version only, each metric's level before its last change. Runs without a value that counts are passed over.
    """
    counted = [run for run in runs if run.values]
    if names:
        return _against(unit, field, rule, *_named(counted, field, names))
    versions = versions_of(counted, field)
    if len(versions) < 2:
        return _by_level(counted, unit, field)
    before, newest = versions[-2:]
    baseline = [run for run in counted if run.version(field) == before]
    candidate = [run for run in counted if run.version(field) == newest]
    return _against(unit, field, BaselineReason.VERSION_BEFORE, baseline, candidate)


def settled(judgements: Sequence[Judgement]) -> tuple[Judgement, ...]:
    """The judgements of one answer with adjusted p-values and outcomes."""
    tests = [
        metric.p_value for each in judgements for metric in (*each.metrics, *each.within) if metric.p_value is not None
    ]
    chances = iter(adjusted(tests))
    return tuple(_settled(each, chances, len(tests)) for each in judgements)


def gravest(outcomes: Iterable[Outcome]) -> Outcome:
    """The outcome that speaks for all of them."""
    return min(outcomes, key=GRAVEST.index, default=Outcome.NOT_ENOUGH)


def field_of(runs: Sequence[HistoryRun], asked: VersionField | None) -> VersionField:
    """The field along which versions are told apart: as asked, or the first one that tells any apart."""
    if asked is not None:
        return asked
    return next((field for field in VersionField if len(versions_of(runs, field)) > 1), VersionField.FRAMEWORK)


def versions_of(runs: Sequence[HistoryRun], field: VersionField) -> list[str]:
    """The versions of runs that count, by their first run; a version that is run again later keeps its place."""
    return list(dict.fromkeys(run.version(field) for run in runs if run.values and run.version(field)))


def _named(
    runs: Sequence[HistoryRun], field: VersionField, names: Sequence[str]
) -> tuple[list[HistoryRun], list[HistoryRun]]:
    """The runs that the names mean; and those of the newest version, as far as they came after single runs."""
    baseline = [run for run in runs if run.run_id in names or run.version(field) in names]
    newest = versions_of(runs, field)[-1:]
    if not baseline or not newest or newest[0] in names:  # nobody may know a version of any run
        return baseline, []
    start = max((index + 1 for index, run in enumerate(runs) if run.run_id in names), default=0)
    return baseline, [run for run in runs[start:] if run.version(field) == newest[0]]


def _against(
    unit: str,
    field: VersionField,
    rule: BaselineReason,
    baseline: Sequence[HistoryRun],
    candidate: Sequence[HistoryRun],
) -> Judgement:
    every, newest = len(baseline) + len(candidate), candidate
    baseline, candidate = of_one_build(baseline, field), of_one_build(newest, field)
    mixed = _mixed(field, baseline)
    measured = [each for each in TRACKED if any(each.name in run.values for run in (*baseline, *candidate))]
    return Judgement(
        rule=rule,
        field=field,
        baseline=_one_version(baseline, field),
        candidate=_one_version(candidate, field),
        baseline_run_ids=tuple(run.run_id for run in baseline),
        candidate_run_ids=tuple(run.run_id for run in candidate),
        metrics=() if mixed else tuple(_compared(each, unit, baseline, candidate) for each in measured),
        within=(*_against_build_before(unit, newest, candidate, field), *_changed_within(unit, candidate)),
        mixed=mixed,
        other_builds=every - len(baseline) - len(candidate),
    )


_ASPECTS = {"image": VersionField.ENGINE, "code": VersionField.CODE}


def of_one_build(runs: Sequence[HistoryRun], field: VersionField) -> Sequence[HistoryRun]:
    """Of one version's runs those with the image and the code of its newest run, as far as both are known.

    Runs of several versions, which somebody named together, stay as they are."""
    if len({run.version(field) for run in runs} - {""}) > 1:
        return runs
    for aspect in (aspect for aspect in _ASPECTS.values() if aspect is not field):
        newest = next((run.version(aspect) for run in reversed(runs) if run.version(aspect)), "")
        runs = [run for run in runs if run.version(aspect) in ("", newest)]
    return runs


def _mixed(field: VersionField, runs: Sequence[HistoryRun]) -> tuple[str, ...]:
    """In which of image and code, unless these are the versions, the runs differ among themselves."""
    return tuple(
        name
        for name, aspect in _ASPECTS.items()
        if aspect is not field and len({run.version(aspect) for run in runs} - {""}) > 1
    )


def _against_build_before(
    unit: str, version: Sequence[HistoryRun], newest: Sequence[HistoryRun], field: VersionField
) -> Iterator[MetricVerdict]:
    """The newest image and code of a version against those that it had before: a new image may bring a drop, too."""
    run_ids = {run.run_id for run in newest}
    before = of_one_build([run for run in version if run.run_id not in run_ids], field)
    for metric in TRACKED:
        found = _compared(metric, unit, before, newest)
        if found.p_value is not None:
            yield found


def _changed_within(unit: str, candidate: Sequence[HistoryRun]) -> Iterator[MetricVerdict]:
    """Each metric whose level may have changed since the candidate's first run: its mean against the baseline hides
    a drop that began in the middle of it."""
    for metric in TRACKED:
        found = _last_level(metric, unit, candidate)
        if found.p_value is not None:
            yield found


def _one_version(runs: Sequence[HistoryRun], field: VersionField) -> str:
    return ", ".join(dict.fromkeys(run.version(field) for run in runs))


def _compared(
    metric: Tracked, unit: str, baseline: Sequence[HistoryRun], candidate: Sequence[HistoryRun]
) -> MetricVerdict:
    before, after = _values(metric, baseline), _values(metric, candidate)
    found = difference(before, after)
    blank = _blank(metric, unit, summary(before), summary(after))
    since = candidate[0].run_id if candidate else ""
    if found is None:
        return replace(blank, since=since)
    return replace(blank, difference=found, p_value=found.p_value, since=since)


def _by_level(every: Sequence[HistoryRun], unit: str, field: VersionField) -> Judgement:
    runs = of_one_build(every, field)
    measured = [each for each in TRACKED if any(each.name in run.values for run in runs)]
    version = _one_version(runs, field)
    ids = tuple(run.run_id for run in runs)
    metrics = tuple(_last_level(each, unit, runs) for each in measured)
    return Judgement(
        BaselineReason.LEVEL_BEFORE,
        field,
        version,
        version,
        ids,
        (),
        metrics,
        within=tuple(_against_build_before(unit, every, runs, field)),
        other_builds=len(every) - len(runs),
    )


def _last_level(metric: Tracked, unit: str, runs: Sequence[HistoryRun]) -> MetricVerdict:
    """The values since the last change of level against those of the level before; without one, all of them."""
    having = [run for run in runs if metric.name in run.values]
    values = _values(metric, having)
    found = steps.steps(values)
    if not found:
        likeliest = steps.likeliest(values)
        blank = _blank(metric, unit, summary(values), None)
        return replace(blank, p_value=likeliest.p_value if likeliest else None)
    start, last = (found[-2].index if len(found) > 1 else 0), found[-1]
    before, after = values[start : last.index], values[last.index :]
    blank = _blank(metric, unit, summary(before), summary(after))
    changed = difference(before, after)
    return replace(blank, difference=changed, p_value=last.p_value, since=having[last.index].run_id)


def _values(metric: Tracked, runs: Sequence[HistoryRun]) -> list[float]:
    return [run.values[metric.name] for run in runs if metric.name in run.values]


def _blank(metric: Tracked, unit: str, baseline: Summary | None, candidate: Summary | None) -> MetricVerdict:
    return MetricVerdict(
        metric.name,
        unit if metric.unit == THROUGHPUT else metric.unit,
        metric.higher_is_better,
        Outcome.NOT_ENOUGH,
        baseline,
        candidate,
        power=power_of(baseline, candidate),
    )


def power_of(baseline: Summary | None, candidate: Summary | None) -> Power | None:
    """What the runs can show at their own spread, both sides' taken together; None while that is not known."""
    sides = [side for side in (baseline, candidate) if side is not None and side.cv is not None]
    if baseline is None or not sides:
        return None
    freedom = sum(side.count - 1 for side in sides)
    cv = math.sqrt(sum((side.count - 1) * (side.cv or 0) ** 2 for side in sides) / freedom)
    return power(cv, PLANNED, baseline.count, candidate.count if candidate else 0, Reporting(EFFECT, ALPHA))


def _settled(one: Judgement, chances: Iterator[float], tests: int) -> Judgement:
    metrics, within = (
        tuple(_decided(each, next(chances)) if each.p_value is not None else each for each in some)
        for some in (one.metrics, one.within)
    )
    # That nothing changed within the candidate says nothing of how it compares.
    changed = (each for each in within if each.outcome in (Outcome.REGRESSION, Outcome.IMPROVEMENT))
    outcome = gravest(metric.outcome for metric in (*metrics, *changed))
    return replace(one, metrics=metrics, within=within, outcome=outcome, tests=tests)


def _decided(metric: MetricVerdict, chance: float) -> MetricVerdict:
    change = _size(metric)
    outcome = Outcome.NO_CHANGE
    if chance <= ALPHA and abs(change) >= EFFECT:
        outcome = Outcome.IMPROVEMENT if (change > 0) is metric.higher_is_better else Outcome.REGRESSION
    return replace(metric, adjusted_p=chance, outcome=outcome)


def _size(metric: MetricVerdict) -> float:
    """The change that has to be EFFECT or more."""
    if metric.difference is None or metric.baseline is None or metric.candidate is None:
        return 0.0
    return metric.candidate.mean - metric.baseline.mean if metric.name in _SHARES else metric.difference.change
