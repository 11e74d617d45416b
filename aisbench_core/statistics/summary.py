"""Repeated measurements of one thing, in a few numbers."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from aisbench_core.statistics.student import critical

OLYMPIC_RUNS = 5
"""From so many runs on the best and the worst may be dropped."""


@dataclass(frozen=True, slots=True)
class Summary:
    """`count` values by mean, sample standard deviation, coefficient of variation and 95 % interval of the mean.

    `sd`, `cv`, `ci_low` and `ci_high` need two values, `olympic_mean` needs OLYMPIC_RUNS; `cv` needs a mean above 0.
    None where there are fewer."""

    count: int
    mean: float
    sd: float | None = None
    cv: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    olympic_mean: float | None = None


def summary(values: Sequence[float]) -> Summary | None:
    """The summary of finite numbers; None when there are none."""
    if not values:
        return None
    count, mean = len(values), fmean(values)
    if count == 1:
        return Summary(count, mean)
    sd = stdev(values)
    margin = critical(0.05, count - 1) * sd / math.sqrt(count)
    return Summary(
        count,
        mean,
        sd,
        cv=sd / mean if mean > 0 else None,
        ci_low=mean - margin,
        ci_high=mean + margin,
        olympic_mean=olympic_mean(values),
    )


def expected_of_one(values: Sequence[float]) -> tuple[float, float] | None:
    """Where one more value of the same kind lies in 95 % of all cases (prediction interval, normal distribution).

    None for fewer than two values."""
    if len(values) < 2:
        return None
    count = len(values)
    margin = critical(0.05, count - 1) * stdev(values) * math.sqrt(1 + 1 / count)
    return fmean(values) - margin, fmean(values) + margin


def olympic_mean(values: Sequence[float]) -> float | None:
    """The mean without the best and the worst; None for fewer than OLYMPIC_RUNS values."""
    return fmean(sorted(values)[1:-1]) if len(values) >= OLYMPIC_RUNS else None
