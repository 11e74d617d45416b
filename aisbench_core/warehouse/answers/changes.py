"""A group's runs over time: where versions begin, which levels a metric had, and where it changed. Pure functions."""

from collections.abc import Sequence
from itertools import pairwise

from aisbench_core.statistics import steps
from aisbench_core.statistics.summary import Summary, summary
from aisbench_core.warehouse.answers.histories import (
    Boundary,
    Change,
    HistoryRun,
    MetricHistory,
    RunLevel,
    VersionField,
)
from aisbench_core.warehouse.answers.regression import THROUGHPUT, TRACKED, Tracked, of_one_build, versions_of


def boundaries(runs: Sequence[HistoryRun]) -> tuple[Boundary, ...]:
    """Each first run with a new framework version, engine version or code; the very first run has nothing new."""
    found = []
    for field in VersionField:
        known = {runs[0].version(field)} if runs else set()
        for run in runs[1:]:
            value = run.version(field)
            if value and value not in known:
                found.append(Boundary(run.run_id, run.at, field, value))
                known.add(value)
    place = {run.run_id: index for index, run in enumerate(runs)}
    return tuple(sorted(found, key=lambda each: place[each.run_id]))


def metric_histories(runs: Sequence[HistoryRun], unit: str, field: VersionField) -> tuple[MetricHistory, ...]:
    """Every metric that any run has."""
    news = boundaries(runs)
    measured = [metric for metric in TRACKED if any(metric.name in run.values for run in runs)]
    return tuple(_metric_history(metric, unit, runs, field, news) for metric in measured)


def _metric_history(
    metric: Tracked, unit: str, runs: Sequence[HistoryRun], field: VersionField, news: Sequence[Boundary]
) -> MetricHistory:
    having = [run for run in runs if metric.name in run.values]
    found = steps.steps([run.values[metric.name] for run in having])
    bounds = [0, *(step.index for step in found), len(having)]
    parts = [having[start:end] for start, end in pairwise(bounds)]
    versions = [
        of_one_build([run for run in having if run.version(field) == version], field)
        for version in versions_of(having, field)
    ]
    return MetricHistory(
        metric.name,
        unit if metric.unit == THROUGHPUT else metric.unit,
        metric.higher_is_better,
        levels=tuple(_level(metric, part, field) for part in parts),
        versions=tuple(_level(metric, part, field) for part in versions),
        changes=tuple(
            _change(metric, step, before, after, _near(having, step.index, news))
            for step, (before, after) in zip(found, pairwise(parts), strict=True)
        ),
    )


def _level(metric: Tracked, runs: Sequence[HistoryRun], field: VersionField) -> RunLevel:
    label = ", ".join(dict.fromkeys(run.version(field) for run in runs))
    return RunLevel(label, runs[0].at, runs[-1].at, _summary(metric, runs))


def _change(
    metric: Tracked, step: steps.Step, before: Sequence[HistoryRun], after: Sequence[HistoryRun], news: list[Boundary]
) -> Change:
    old, new = _summary(metric, before), _summary(metric, after)
    return Change(
        run_id=after[0].run_id,
        at=after[0].at,
        before=old,
        after=new,
        change=new.mean / old.mean - 1 if old.mean else None,
        p_value=step.p_value,
        worse=(new.mean < old.mean) is metric.higher_is_better,
        boundaries=tuple(news),
    )


def _near(runs: Sequence[HistoryRun], index: int, news: Sequence[Boundary]) -> list[Boundary]:
    """What was new at the change or one run beside it: noise may move the best place by one."""
    near = {run.run_id for run in runs[max(0, index - 1) : index + 2]}
    return [each for each in news if each.run_id in near]


def _summary(metric: Tracked, runs: Sequence[HistoryRun]) -> Summary:
    found = summary([run.values[metric.name] for run in runs])
    assert found is not None, "a level has at least one run"  # noqa: S101  # for the types: no level is empty
    return found
