"""A trend's runs over time: where versions begin, which levels a metric had, and where it changed. Pure functions."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from aisbench_core.domain.statistics.decision import TimedValue, count_looks, to_units
from aisbench_core.domain.statistics.summary import Summary, summarize_values
from aisbench_core.warehouse.measures.regression import TRACKED, Tracked, in_unit, of_one_build, versions_of
from aisbench_core.warehouse.values.histories import Boundary, Change, HistoryRun, MetricHistory, RunLevel, VersionField

if TYPE_CHECKING:
    from aisbench_core.domain.statistics.steps import Step


def find_boundaries(runs: Sequence[HistoryRun]) -> tuple[Boundary, ...]:
    """The first run with each new framework version, engine version or code; nothing is new in the very first run."""
    firsts: dict[tuple[VersionField, str], int] = {}
    for index, run in enumerate(runs):
        for field in VersionField:
            firsts.setdefault((field, run.version(field)), index)
    return tuple(
        Boundary(runs[index].run_id, runs[index].at, field, value)
        for (field, value), index in firsts.items()
        if index and value
    )


def metric_histories(
    runs: Sequence[HistoryRun], unit: str, field: VersionField, tracked: Sequence[Tracked] = TRACKED
) -> tuple[MetricHistory, ...]:
    """The history of each metric that any run has; levels and changes are of runs that are compared."""
    bounds = find_boundaries(runs)
    measured = [metric for metric in in_unit(tracked, unit) if any(metric.name in run.drawn for run in runs)]
    return tuple(_metric_history(metric, runs, field, bounds) for metric in measured)


def _metric_history(
    metric: Tracked, runs: Sequence[HistoryRun], field: VersionField, bounds: Sequence[Boundary]
) -> MetricHistory:
    from aisbench_core.domain.statistics import steps  # numpy takes 0.1 s

    measured = [run for run in runs if metric.name in run.values]
    values = [TimedValue(run.values[metric.name], run.at) for run in measured]
    units = to_units(values)
    found = steps.find_steps([mean for _, mean in units], steps.ALPHA / count_looks(values))
    changes = [replace(step, index=units[step.index][0]) for step in found]
    starts = [0, *(step.index for step in changes), len(measured)]
    parts = [measured[start:end] for start, end in pairwise(starts)]
    versions = [
        of_one_build([run for run in measured if run.version(field) == version], field)
        for version in versions_of(measured, field)
    ]
    return MetricHistory(
        metric.name,
        metric.unit,
        metric.higher_is_better,
        levels=tuple(_build_level(metric, part, field) for part in parts if part),
        versions=tuple(_build_level(metric, part, field) for part in versions),
        changes=tuple(
            _build_change(metric, step, before, after, _filter_near(measured, step.index, bounds))
            for step, (before, after) in zip(changes, pairwise(parts), strict=True)
        ),
    )


def _build_level(metric: Tracked, runs: Sequence[HistoryRun], field: VersionField) -> RunLevel:
    label = ", ".join(dict.fromkeys(run.version(field) for run in runs))
    return RunLevel(label, runs[0].at, runs[-1].at, _summarize_runs(metric, runs))


def _build_change(
    metric: Tracked, step: "Step", before: Sequence[HistoryRun], after: Sequence[HistoryRun], near: list[Boundary]
) -> Change:
    old, new = _summarize_runs(metric, before), _summarize_runs(metric, after)
    return Change(
        run_id=after[0].run_id,
        at=after[0].at,
        before=old,
        after=new,
        change=new.mean / old.mean - 1 if old.mean else None,
        p_value=step.p_value,
        worse=None if metric.higher_is_better is None else (new.mean < old.mean) is metric.higher_is_better,
        boundaries=tuple(near),
    )


def _filter_near(runs: Sequence[HistoryRun], index: int, bounds: Sequence[Boundary]) -> list[Boundary]:
    # Noise may move the most likely position of a change by one run.
    near = {run.run_id for run in runs[max(0, index - 1) : index + 2]}
    return [boundary for boundary in bounds if boundary.run_id in near]


def _summarize_runs(metric: Tracked, runs: Sequence[HistoryRun]) -> Summary:
    result = summarize_values([run.values[metric.name] for run in runs])
    assert result is not None  # noqa: S101  # for the types: a level has at least one run
    return result
