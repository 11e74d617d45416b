"""Whether two samples differ, and by how much; which differences a number of runs detects; corrected p-values."""

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean, variance

from aisbench_core.domain.statistics.student import (
    expected_power,
    get_critical_t,
    larger_spread_p,
    power_of_t,
    two_sided_p,
)
from aisbench_core.domain.statistics.summary import log_interval

# Of each side: a single value has no spread.
MIN_VALUES = 2

# P-value below which the smaller side is taken to vary more. Pooled is the rule at every size: Welch's degrees of
# freedom shrink to those of the smaller side, and one that began at 6 runs made the sixth run detect less than the
# fifth.
UNEQUAL_BELOW = 0.02

# The probability with which a true change is to be reported.
TARGET_POWER = 0.9

# Where more runs would be needed, less noise is the better remedy.
MAX_RUNS = 200

# Degrees of freedom of a spread that is assumed.
ASSUMED_DF = 1e6


class TTest(StrEnum):
    """The test behind a p-value: a t test by how its standard error was estimated, or one of ranks."""

    WELCH = "Welch"
    """From the variance of each side, because the smaller one varies more."""
    POOLED = "pooled"
    """From the pooled variance."""
    MODERATED = "moderated"
    """From the pooled variance and those of the other groups of the answer."""
    TREND = "beyond the trend"
    """The runs follow a straight line: of the step beyond it."""
    CORRELATED = "autocorrelated"
    """Each run depends on the one before, which makes the error larger."""
    WITHIN_DAYS = "within days"
    """Both sides ran on the same days, which cancel out."""
    PERMUTATION = "permutation"
    """There are outliers: of cut values, among all arrangements of the runs."""
    RANK_SUM = "rank sum"
    """There are outliers, and many runs: Mann and Whitney's."""
    ASSUMED = "assumed days"
    """Too few days repeat to estimate how much they differ, so that a spread is assumed."""


class Unit(StrEnum):
    """What is repeated, and counts as one value."""

    RUN = "run"
    DAY = "day"


@dataclass(frozen=True, slots=True)
class Design:
    """What the error of a difference is made of; the power of other numbers of units follows from it."""

    cv: float
    """Coefficient of variation of one unit, as a fraction."""
    baseline: int
    """Units of the baseline."""
    candidate: int
    """Units of the candidate."""
    error: float
    """Standard error of the change, as a fraction."""
    df: float
    """Its degrees of freedom."""

    def predict_error(self, baseline: int, candidate: int) -> tuple[float, float]:
        """The standard error, and its degrees of freedom, of other numbers of units: what dependence, a trend or the
        other groups make of both stays as it is."""
        plain = self.cv * math.sqrt(1 / self.baseline + 1 / self.candidate)
        stretch = max(1.0, self.error / plain) if plain and self.df < ASSUMED_DF else 1.0
        own, df = max(1, self.baseline + self.candidate - 2), baseline + candidate - 2.0
        df = df + self.df - own if own < self.df < ASSUMED_DF else df * min(1.0, self.df / own)
        return stretch * self.cv * math.sqrt(1 / baseline + 1 / candidate), max(1.0, df)


@dataclass(frozen=True, slots=True)
class MeanDifference:
    """`change` = mean(candidate) / mean(baseline) - 1, with its 95 % interval; `p_value` is two-sided.

    The interval is symmetric in ln(candidate / baseline), with each side's standard deviation relative to its mean, so
    that a ratio of positive means has no negative end. If a mean is not positive, it is that of the difference."""

    @property
    def ratio(self) -> tuple[float, float, float]:
        """mean(candidate) / mean(baseline), with the ends of its interval."""
        return 1 + self.change, 1 + self.ci_low, 1 + self.ci_high

    change: float
    """mean(candidate) / mean(baseline) - 1, as a fraction: -0.03 is 3 % less."""
    ci_low: float
    """Lower end of the 95 % interval, in the unit of the mean."""
    ci_high: float
    """Upper end of the 95 % interval, in the unit of the mean."""
    p_value: float
    """Two-sided, of `test`."""
    test: TTest
    design: Design | None = None
    """What the error is made of; null where a mean is not above 0."""
    unit: Unit = Unit.RUN
    """What is repeated: runs, or days with several runs."""

    @property
    def is_confounded(self) -> bool:
        """Whether the days may have made the difference: none of them repeats often enough to tell."""
        return self.test is TTest.ASSUMED


def compare_means(baseline: Sequence[float], candidate: Sequence[float]) -> MeanDifference | None:
    """The candidate against the baseline; None with fewer than MIN_VALUES on a side, or a baseline of mean 0.

    Two sides of only zeros do not differ. Pooled unless the smaller side varies more (F test): pooling would
    underestimate the error then."""
    if min(len(baseline), len(candidate)) < MIN_VALUES:
        return None
    if not any((*baseline, *candidate)):
        return MeanDifference(0.0, 0.0, 0.0, 1.0, TTest.POOLED)
    if fmean(baseline) == 0:
        return None
    test = _choose_test(baseline, candidate)
    standard_error = _compute_welch_error if test is TTest.WELCH else _pool_error
    error, df = standard_error(baseline, candidate)
    base = fmean(baseline)
    gap = fmean(candidate) - base
    if math.isclose(gap, 0, abs_tol=1e-12 * abs(base)):  # rounding
        gap = 0.0
    change = gap / base
    p_value = two_sided_p(gap / error, df) if error else float(gap == 0)  # without variance every gap is significant
    if min(base, fmean(candidate)) <= 0:
        margin = abs(get_critical_t(0.05, df) * error / base)
        return MeanDifference(change, change - margin, change + margin, p_value, test)
    shares = [[value / fmean(side) for value in side] for side in (baseline, candidate)]
    error, df = standard_error(*shares)
    return build_difference(change, p_value, test, Design(_pool_cv(*shares), len(baseline), len(candidate), error, df))


def build_difference(
    change: float, p_value: float, test: TTest, design: Design, unit: Unit = Unit.RUN
) -> MeanDifference:
    """With the interval that the error gives."""
    ratio = 1 + change
    low, high = log_interval(ratio, ratio * get_critical_t(0.05, design.df) * design.error)
    return MeanDifference(change, low - 1, high - 1, p_value, test, design, unit)


def _choose_test(one: Sequence[float], other: Sequence[float]) -> TTest:
    small, large = sorted((one, other), key=len)
    wider = larger_spread_p(variance(small), len(small) - 1, variance(large), len(large) - 1)
    return TTest.WELCH if len(small) < len(large) and wider < UNEQUAL_BELOW else TTest.POOLED


def _pool_cv(one: Sequence[float], other: Sequence[float]) -> float:
    squares = variance(one) * (len(one) - 1) + variance(other) * (len(other) - 1)
    return math.sqrt(squares / (len(one) + len(other) - 2))


def _pool_error(one: Sequence[float], other: Sequence[float]) -> tuple[float, float]:
    return _pool_cv(one, other) * math.sqrt(1 / len(one) + 1 / len(other)), len(one) + len(other) - 2


def _compute_welch_error(one: Sequence[float], other: Sequence[float]) -> tuple[float, float]:
    """Standard error and degrees of freedom (Welch-Satterthwaite)."""
    first, second = variance(one) / len(one), variance(other) / len(other)
    if first + second == 0:
        return 0.0, len(one) + len(other) - 2
    share = first / (first + second)  # shares, because squares of values of 1e100 overflow
    return math.sqrt(first + second), 1 / (share**2 / (len(one) - 1) + (1 - share) ** 2 / (len(other) - 1))


def adjust_p_values(p_values: Sequence[float]) -> list[float]:
    """Benjamini-Hochberg adjusted p-values, in the same order.

    Of the tests with a value of at most q, on average at most a share q are false discoveries."""
    count, smallest = len(p_values), 1.0
    adjusted_values = [1.0] * count
    for position, index in enumerate(sorted(range(count), key=p_values.__getitem__, reverse=True)):
        adjusted_values[index] = smallest = min(smallest, p_values[index] * count / (count - position))
    return adjusted_values


@dataclass(frozen=True, slots=True)
class Power:
    """At the coefficient of variation `cv` the existing units (runs, or days) detect changes of `visible` or more.

    Detecting `change` takes `runs` of the candidate against the existing baseline or, if that is too small,
    `runs_each` on both sides; None if more than MAX_RUNS. Changes and `cv` are fractions."""

    cv: float
    change: float
    """mean(candidate) / mean(baseline) - 1, as a fraction: -0.03 is 3 % less."""
    visible: float | None
    """The smallest change that the runs detect, as a fraction."""
    runs: int | None
    """Runs (or days) of the candidate that would detect `change`; null: too many."""
    runs_each: int | None
    """Runs (or days) on both sides that would detect `change`; null: too many."""
    unit: Unit = Unit.RUN
    """What is repeated: runs, or days with several runs."""


@dataclass(frozen=True, slots=True)
class Reporting:
    """A measured change is reported when it is `least` or more, as a fraction, and its p-value `alpha` or less."""

    least: float
    alpha: float


def compute_power(
    cv: float,
    change: float,
    baseline: int,
    candidate: int,
    rule: Reporting,
    design: Design | None = None,
    unit: Unit = Unit.RUN,
) -> Power:
    """The power to report true changes with probability TARGET_POWER: with the error that the `design` has, which is an
    estimate, or by a `cv` that is known.

    A true change of exactly `least` never reaches it: half of its measurements are smaller, however many runs."""

    def is_detected(size: float, before: int, after: int) -> bool:
        return detection_rate(size, cv, before, after, rule, design) >= TARGET_POWER

    runs = _find_fewest_runs(lambda count: is_detected(change, baseline, count)) if baseline >= MIN_VALUES else None
    runs_each = None if runs else _find_fewest_runs(lambda count: is_detected(change, count, count))
    visible = None
    if min(baseline, candidate) >= MIN_VALUES:
        visible = _find_detectable_change(lambda size: is_detected(size, baseline, candidate), rule.least + 1000 * cv)
    return Power(cv, change, visible, runs, runs_each, unit)


def detection_rate(
    change: float, cv: float, baseline: int, candidate: int, rule: Reporting, design: Design | None = None
) -> float:
    """The probability that a true change is reported: with the error that the `design` has, averaged over what it may
    be, or by the test of `compare_means` where both sides vary by a `cv` that is known."""
    assumed = design or Design(cv, 1, 1, cv * math.sqrt(2), ASSUMED_DF)
    if assumed.cv == 0:
        return float(change >= rule.least)
    error, freedom = assumed.predict_error(baseline, candidate)
    df = max(1, round(freedom))
    if assumed.df >= ASSUMED_DF:
        return power_of_t(change / error, rule.least / error, df, rule.alpha)
    return expected_power(change, rule.least, error, df, rule.alpha, assumed.df)


def _find_fewest_runs(detects: Callable[[int], bool]) -> int | None:
    """The smallest sufficient number of runs, by bisection: more runs never detect less."""
    return bisect_left(range(MAX_RUNS), True, lo=MIN_VALUES, key=detects) if detects(MAX_RUNS) else None


def _find_detectable_change(detects: Callable[[float], bool], most: float) -> float:
    low, high = 0.0, most
    for _ in range(25):
        middle = (low + high) / 2
        low, high = (low, middle) if detects(middle) else (middle, high)
    return high
