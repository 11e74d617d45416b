"""Summary statistics of repeated measurements."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev

from aisbench_core.domain.statistics.student import get_critical_t
from aisbench_core.model.columns.statistics import OLYMPIC_RUNS

# Keeps an interval finite for runs that differ by a factor of a million.
MAX_EXPONENT = 600.0

# From this coefficient of variation on, a mean says little: the values are hardly repeats of each other.
SCATTERED_CV = 0.25


@dataclass(frozen=True, slots=True)
class Summary:
    """Mean, sample standard deviation, coefficient of variation (a fraction) and 95 % interval of the mean.

    `sd`, `cv`, `ci_low` and `ci_high` are None for a single value, `olympic_mean` for fewer than OLYMPIC_RUNS, `cv`
    also if the mean is not above 0."""

    count: int
    """Number of values."""
    mean: float
    """Arithmetic mean, in the unit of the values."""
    sd: float | None = None
    cv: float | None = None
    ci_low: float | None = None
    """Lower end of the 95 % interval, in the unit of the mean."""
    ci_high: float | None = None
    """Upper end of the 95 % interval, in the unit of the mean."""
    olympic_mean: float | None = None

    @property
    def is_scattered(self) -> bool:
        """Whether the values scatter too much for their mean to say much."""
        return self.cv is not None and self.cv >= SCATTERED_CV

    @property
    def without_interval(self) -> "Summary":
        """The same for values that may not repeat one measurement: their mean has no interval."""
        return replace(self, ci_low=None, ci_high=None)


def summarize_values(values: Sequence[float]) -> Summary | None:
    """The summary of finite numbers; None for no numbers."""
    if not values:
        return None
    count, mean = len(values), fmean(values)
    if count == 1:
        return Summary(count, mean)
    sd = stdev(values)
    low, high = mean_interval(mean, sd, count)
    return Summary(
        count,
        mean,
        sd,
        cv=sd / mean if mean > 0 else None,
        ci_low=low,
        ci_high=high,
        olympic_mean=olympic_mean(values),
    )


def mean_interval(mean: float, sd: float, count: int) -> tuple[float, float]:
    """The 95 % interval of the mean of `count` values, two or more (Student's t on a log scale).

    The leaderboard computes the same in SQL: `mean_interval_sql`."""
    return log_interval(mean, get_critical_t(0.05, count - 1) * sd / math.sqrt(count))


def prediction_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """The 95 % prediction interval of one more value (likewise); None for fewer than two values."""
    if len(values) < 2:
        return None
    count = len(values)
    return log_interval(fmean(values), get_critical_t(0.05, count - 1) * stdev(values) * math.sqrt(1 + 1 / count))


def log_interval(centre: float, margin: float) -> tuple[float, float]:
    """From centre ÷ f to centre × f with ln f = margin ÷ centre, so that what is above 0 has no end below it.

    Around a centre that is not above 0: centre ± margin."""
    if centre <= 0:
        return centre - margin, centre + margin
    factor = math.exp(min(margin / centre, MAX_EXPONENT))
    return centre / factor, centre * factor


def olympic_mean(values: Sequence[float]) -> float | None:
    """The mean without the best and the worst; None for fewer than OLYMPIC_RUNS values."""
    return fmean(sorted(values)[1:-1]) if len(values) >= OLYMPIC_RUNS else None
