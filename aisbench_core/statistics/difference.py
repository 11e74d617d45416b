"""Whether two samples differ, and by how much: a t test that fits how many values there are."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean, variance

from aisbench_core.statistics.student import critical, larger_spread_p, two_sided_p

LEAST = 2
"""Each side needs so many values: one alone cannot be confirmed by any other."""

OWN_SPREAD = 6
"""From so many values on a side's own spread is known well enough for Welch's test.

Below, Welch's degrees of freedom shrink to those of the smaller side, and a drop of three standard deviations in 3 runs
is found in one case of four instead of 99 of 100."""

MOST_EXPONENT = 600.0
"""Two runs of which one is a million times the other say nothing: the interval ends where numbers do."""

CLEARLY = 0.01
"""With a probability below this, the smaller side does not only by chance vary more than the larger one."""


class TTest(StrEnum):
    """How the standard error was formed: of each side's own spread, or of both taken together."""

    WELCH = "Welch"
    POOLED = "pooled"


@dataclass(frozen=True, slots=True)
class MeanDifference:
    """`change` = mean(candidate) / mean(baseline) - 1, with its 95 % interval; `p_value` is two-sided.

    The interval is formed on the scale of ln(candidate / baseline), each side's spread as a share of its own mean: a
    ratio of positive means has no negative end. Where a mean is not positive it is that of the difference."""

    @property
    def ratio(self) -> tuple[float, float, float]:
        """mean(candidate) / mean(baseline), and both ends of its interval."""
        return 1 + self.change, 1 + self.ci_low, 1 + self.ci_high

    change: float
    ci_low: float
    ci_high: float
    p_value: float
    test: TTest


def difference(baseline: Sequence[float], candidate: Sequence[float]) -> MeanDifference | None:
    """The candidate against the baseline; None with fewer than LEAST values on a side, or a baseline of mean 0.

    Zeros on both sides are no difference.

    Pooled while a side has fewer than OWN_SPREAD values, unless the smaller side clearly varies more: then pooling
    would promise too much, and Welch's test is taken."""
    if min(len(baseline), len(candidate)) < LEAST:
        return None
    if not any((*baseline, *candidate)):
        return MeanDifference(0.0, 0.0, 0.0, 1.0, TTest.POOLED)
    if fmean(baseline) == 0:
        return None
    test = _fitting(baseline, candidate)
    error, df = _welch(baseline, candidate) if test is TTest.WELCH else _pooled(baseline, candidate)
    base = fmean(baseline)
    gap = fmean(candidate) - base
    if math.isclose(gap, 0, abs_tol=1e-12 * abs(base)):
        gap = 0.0
    change, p_value = gap / base, _p_value(gap, error, df)
    if min(base, fmean(candidate)) <= 0:
        margin = abs(critical(0.05, df) * error / base)
        return MeanDifference(change, change - margin, change + margin, p_value, test)
    factor = _factor(baseline, candidate, test)
    return MeanDifference(change, (1 + change) / factor - 1, (1 + change) * factor - 1, p_value, test)


def _factor(baseline: Sequence[float], candidate: Sequence[float], test: TTest) -> float:
    """By how much the ratio of the means may be smaller or larger than it is, at 95 %."""
    shares = [[value / fmean(side) for value in side] for side in (baseline, candidate)]
    error, df = _welch(*shares) if test is TTest.WELCH else _pooled(*shares)
    return math.exp(min(critical(0.05, df) * error, MOST_EXPONENT))


def _p_value(gap: float, error: float, df: float) -> float:
    """Without any spread every gap is beyond chance, and no gap is none."""
    if error == 0:
        return 0.0 if gap else 1.0
    return two_sided_p(gap / error, df)


def _fitting(one: Sequence[float], other: Sequence[float]) -> TTest:
    small, large = sorted((one, other), key=len)
    if len(small) >= OWN_SPREAD:
        return TTest.WELCH
    wider = larger_spread_p(variance(small), len(small) - 1, variance(large), len(large) - 1)
    return TTest.WELCH if len(large) > len(small) and wider < CLEARLY else TTest.POOLED


def _pooled(one: Sequence[float], other: Sequence[float]) -> tuple[float, float]:
    df = len(one) + len(other) - 2
    shared = (variance(one) * (len(one) - 1) + variance(other) * (len(other) - 1)) / df
    return math.sqrt(shared * (1 / len(one) + 1 / len(other))), df


def _welch(one: Sequence[float], other: Sequence[float]) -> tuple[float, float]:
    """Standard error and degrees of freedom (Welch-Satterthwaite)."""
    first, second = variance(one) / len(one), variance(other) / len(other)
    if first + second == 0:
        return 0.0, len(one) + len(other) - 2
    share = first / (first + second)  # shares instead of squares: numbers of 1e100 are allowed
    return math.sqrt(first + second), 1 / (share**2 / (len(one) - 1) + (1 - share) ** 2 / (len(other) - 1))
