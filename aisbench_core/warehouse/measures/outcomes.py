"""The verdicts of one answer: the spread that groups share, adjusted p-values, and outcomes. Pure functions."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from aisbench_core.domain.statistics.difference import adjust_p_values
from aisbench_core.domain.statistics.pooling import moderate_differences
from aisbench_core.warehouse.measures.regression import ALPHA, EFFECT, TRACKED
from aisbench_core.warehouse.values.histories import MetricVerdict, Outcome, RegressionVerdict

SEVERITY = tuple(Outcome)

_SHARES = frozenset(metric.name for metric in TRACKED if metric.is_share)


def with_outcomes(regression_verdicts: Sequence[RegressionVerdict]) -> tuple[RegressionVerdict, ...]:
    """The verdicts of one answer with the spread that groups share, adjusted p-values and outcomes.

    Tests against baselines are adjusted together, and so are those within versions."""
    moderated = _share_spread(regression_verdicts)
    metrics = _adjust_metrics([metric for regression in moderated for metric in regression.metrics])
    within = _adjust_metrics([metric for regression in moderated for metric in regression.within])
    tested = [metric for regression in moderated for metric in (*regression.metrics, *regression.within)]
    tests = sum(metric.p_value is not None for metric in tested)
    return tuple(
        _decide_outcome(each, [next(metrics) for _ in each.metrics], [next(within) for _ in each.within], tests)
        for each in moderated
    )


def _adjust_metrics(metrics: Sequence[MetricVerdict]) -> Iterator[MetricVerdict]:
    """The metrics with adjusted p-values and outcomes."""
    p_values = [min(1.0, metric.p_value * metric.looks) for metric in metrics if metric.p_value is not None]
    adjusted_p = iter(adjust_p_values(p_values))
    return (_with_outcome(metric, next(adjusted_p)) if metric.p_value is not None else metric for metric in metrics)


def _share_spread(verdicts: Sequence[RegressionVerdict]) -> list[RegressionVerdict]:
    """The verdicts with what the groups tell of each other's spread, metric by metric."""
    places = [(row, column) for row, verdict in enumerate(verdicts) for column in range(len(verdict.metrics))]
    metrics = {place: verdicts[place[0]].metrics[place[1]] for place in places}
    for name in {metric.name for metric in metrics.values()}:
        named = [place for place in places if metrics[place].name == name]
        shared = moderate_differences([metrics[place].difference for place in named])
        for place, difference in zip(named, shared, strict=True):
            if difference is not metrics[place].difference and difference:
                metrics[place] = replace(metrics[place], difference=difference, p_value=difference.p_value)
    return [
        replace(verdict, metrics=tuple(metrics[row, column] for column in range(len(verdict.metrics))))
        for row, verdict in enumerate(verdicts)
    ]


def get_worst(outcomes: Iterable[Outcome]) -> Outcome:
    """The worst of these outcomes of metrics: one that could not be tested leaves the word to the others."""
    return min(outcomes, key=SEVERITY.index, default=Outcome.NOT_ENOUGH)


def sum_up(outcomes: Iterable[Outcome]) -> Outcome:
    """The outcome of an answer on several groups: unless one regressed, a group without a verdict leaves it open."""
    found = set(outcomes)
    if Outcome.REGRESSION not in found and Outcome.NOT_ENOUGH in found:
        return Outcome.NOT_ENOUGH
    return get_worst(found)


def _decide_outcome(
    regression: RegressionVerdict, metrics: Sequence[MetricVerdict], within: Sequence[MetricVerdict], tests: int
) -> RegressionVerdict:
    # No change within the candidate does not mean that there is none against the baseline.
    changed = (metric for metric in within if metric.outcome in (Outcome.REGRESSION, Outcome.IMPROVEMENT))
    outcome = get_worst(metric.outcome for metric in (*metrics, *changed))
    if outcome is Outcome.NO_CHANGE and any(metric.is_confounded for metric in metrics):
        outcome = Outcome.NOT_ENOUGH
    return replace(regression, metrics=tuple(metrics), within=tuple(within), outcome=outcome, tests=tests)


def _with_outcome(metric: MetricVerdict, adjusted_p: float) -> MetricVerdict:
    if metric.higher_is_better is None:
        return replace(metric, adjusted_p=adjusted_p)
    change = _compute_change(metric)
    outcome = Outcome.NO_CHANGE
    if adjusted_p <= ALPHA and abs(change) >= EFFECT:
        is_better = (change > 0) is metric.higher_is_better
        # What misses its target has not improved, however fast or much more accurate it became.
        outcome = Outcome.REGRESSION if not is_better else Outcome.NO_CHANGE if metric.missed else Outcome.IMPROVEMENT
    elif metric.is_confounded:
        outcome = Outcome.NOT_ENOUGH
    return replace(metric, adjusted_p=adjusted_p, outcome=outcome)


def _compute_change(metric: MetricVerdict) -> float:
    if metric.difference is None or metric.baseline is None or metric.candidate is None:
        return 0.0
    if metric.name in _SHARES:
        return metric.candidate.mean - metric.baseline.mean
    return math.copysign(1, metric.baseline.mean) * metric.difference.change  # named metrics may be negative
