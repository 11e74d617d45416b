"""Summary statistics of repeated measurements."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from aisbench_core.statistics.student import critical

# The fewest runs of which the best and the worst may be dropped.
OLYMPIC_RUNS = 5


@dataclass(frozen=True, slots=True)
class Summary:
    """Mean, sample standard deviation, coefficient of variation (a fraction) and 95 % interval of the mean.

    `sd`, `cv`, `ci_low` and `ci_high` are None for a single value, `olympic_mean` for fewer than OLYMPIC_RUNS, `cv`
    also if the mean is not above 0."""

    count: int
    mean: float
    sd: float | None = None
    cv: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    olympic_mean: float | None = None


def summary(values: Sequence[float]) -> Summary | None:
    """The summary of finite numbers; None for no numbers."""
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


def prediction_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """The 95 % prediction interval of one more value (normal distribution); None for fewer than two values."""
    if len(values) < 2:
        return None
    count = len(values)
    margin = critical(0.05, count - 1) * stdev(values) * math.sqrt(1 + 1 / count)
    return fmean(values) - margin, fmean(values) + margin


def olympic_mean(values: Sequence[float]) -> float | None:
    """The mean without the best and the worst; None for fewer than OLYMPIC_RUNS values."""
    return fmean(sorted(values)[1:-1]) if len(values) >= OLYMPIC_RUNS else None
