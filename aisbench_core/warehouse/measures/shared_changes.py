"""Configurations that changed together, as one answer: a new version that is slower is so on all node counts.

Pure functions of verdicts.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from aisbench_core.warehouse.measures.outcomes import SEVERITY
from aisbench_core.warehouse.values.histories import MetricVerdict, Outcome
from aisbench_core.warehouse.values.trend_verdicts import TrendVerdict


@dataclass(frozen=True, slots=True)
class SharedChange:
    """Configurations of one model and dataset whose metric changed between the same versions, in the same direction
    and at overlapping times; the largest change first. `outcome` of all: NOT_ENOUGH while more runs would decide."""

    groups: tuple[TrendVerdict, ...]

    @property
    def first(self) -> TrendVerdict:
        """The configuration that changed most."""
        return self.groups[0]

    @property
    def outcome(self) -> Outcome:
        return self.first.verdict.outcome

    @property
    def metric(self) -> MetricVerdict | None:
        """Of the configuration that changed most."""
        return metric_of(self.first)

    @property
    def changes(self) -> tuple[float, float] | None:
        """The smallest and the largest of the changes, as fractions; None while none is known."""
        known = sorted((metric.difference.change for metric in self._metrics() if metric.difference), key=abs)
        return (known[0], known[-1]) if known else None

    @property
    def node_counts(self) -> tuple[int, ...]:
        return tuple(sorted({group.row.group.node_count for group in self.groups}))

    @property
    def since(self) -> datetime | None:
        """When the first run of a candidate began; None while there is none."""
        return min((at for group in self.groups if (at := _began_at(group))), default=None)

    @property
    def runs_missing(self) -> tuple[int, int] | None:
        """How many more runs each configuration takes for an answer, at least and at most; None if it has one."""
        missing = [group.verdict.runs_missing or 0 for group in self.groups]
        return (min(missing), max(missing)) if self.outcome is Outcome.NOT_ENOUGH else None

    def _metrics(self) -> Iterator[MetricVerdict]:
        return (metric for group in self.groups if (metric := metric_of(group)))


def metric_of(group: TrendVerdict) -> MetricVerdict | None:
    """The metric that a verdict is about; of one that needs more runs, those runs are for the first."""
    if group.verdict.outcome is Outcome.NOT_ENOUGH:
        return next(iter(group.verdict.metrics), None)
    return group.verdict.decisive


def group_changes(verdicts: Sequence[TrendVerdict]) -> tuple[SharedChange, ...]:
    """What changed, and what needs more runs: the worst outcome first, and of one outcome the largest change."""
    alike: defaultdict[Hashable, list[TrendVerdict]] = defaultdict(list)
    for group in verdicts:
        if _is_news(group):
            alike[_build_key(group)].append(group)
    found = [SharedChange(together) for groups in alike.values() for together in _split_by_time(groups)]
    return tuple(sorted(found, key=lambda each: (SEVERITY.index(each.outcome), -_size_of(each.first))))


def _is_news(group: TrendVerdict) -> bool:
    if group.verdict.outcome is Outcome.NOT_ENOUGH:
        return group.verdict.runs_missing is not None
    return group.verdict.outcome is not Outcome.NO_CHANGE


def _build_key(group: TrendVerdict) -> Hashable:
    row, verdict, metric = group.row, group.verdict, metric_of(group)
    is_decided = verdict.outcome is not Outcome.NOT_ENOUGH
    is_higher = metric.difference.change > 0 if metric and metric.difference and is_decided else None
    measured = row.model, row.workload, row.dataset, row.mode, row.group.synthetic_data, row.group.throughput_unit
    versions = verdict.rule, verdict.field, verdict.baseline, verdict.candidate
    return row.group.origin, *measured, *versions, verdict.outcome, metric and metric.name, is_higher


def _split_by_time(groups: Sequence[TrendVerdict]) -> Iterator[tuple[TrendVerdict, ...]]:
    """Those whose times overlap, directly or by way of others. A time lasts from the change until the newest run."""
    together: list[TrendVerdict] = []
    until: datetime | None = None
    for group in sorted(groups, key=lambda group: _began_at(group) or group.row.latest_at):
        began, ended = _began_at(group) or group.row.latest_at, group.row.latest_at
        if until and began > until:
            yield _by_size(together)
            together, until = [], None
        together.append(group)
        until = max(until or ended, ended)
    yield _by_size(together)


def _by_size(groups: Sequence[TrendVerdict]) -> tuple[TrendVerdict, ...]:
    return tuple(sorted(groups, key=lambda group: (-_size_of(group), group.row.group.node_count)))


def _size_of(group: TrendVerdict) -> float:
    metric = metric_of(group)
    return abs(metric.difference.change) if metric and metric.difference else 0.0


def _began_at(group: TrendVerdict) -> datetime | None:
    metric = metric_of(group)
    return group.began.get(metric.since) if metric else None
