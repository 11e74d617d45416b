"""Whether two sets of runs differ: the unit that repeats, and what outliers, a trend or dependence make of the error.

History, `aisbench regress`, Compare, series and reports decide here; the power line promises with the same error.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import combinations
from statistics import fmean
from typing import Any

from aisbench_core.domain.statistics.difference import (
    ASSUMED_DF,
    MIN_VALUES,
    Design,
    MeanDifference,
    TTest,
    Unit,
    build_difference,
    compare_means,
)
from aisbench_core.domain.statistics.student import normal_p, two_sided_p

# Runs from which outliers and dependence can be told from noise.
MIN_RUNS = 12

# Runs of the baseline from which a trend can be told from noise.
MIN_TREND = 8

# Repeats of days (days less one, of both sides) from which their spread is estimated from themselves.
MIN_DAYS = 3

# The coefficient of variation between days that is assumed while too few repeat.
DAY_CV = 0.0165

# Standard deviations from the median of its side beyond which a value is an outlier, and where it is cut then.
OUTLIER, CUT = 4.0, 2.0

# How much better a straight line must fit than two levels to be called a trend (n times ln of the ratio of squares).
TREND_LEAD = 2.0

# Of the lag-1 correlation: the standard errors from which it counts, and how often its bias is added.
CORRELATED, BIAS = 1.2, 3.0

# Arrangements of runs that are counted one by one; with more the rank sum is as good as normal.
MOST_ARRANGEMENTS = 20_000

FloatArray = Any
"""A numpy array of floats."""


@dataclass(frozen=True, slots=True)
class TimedValue:
    """A value of a run, and when the run began."""

    value: float
    at: datetime

    @property
    def day(self) -> date:
        """In UTC."""
        return self.at.date()


def compare_runs(baseline: Sequence[TimedValue], candidate: Sequence[TimedValue]) -> MeanDifference | None:
    """The candidate against the baseline, as `compare_means`, with the unit of repetition that the days of runs give.

    The unit is the run if no day has two runs of a side, and if both sides have the same days, which cancel out; else
    the day. While too few days repeat, a CV of DAY_CV between days is assumed."""
    sides = [[one.value for one in side] for side in (baseline, candidate)]
    plain = compare_means(*sides)
    if plain is None or min(fmean(side) for side in sides) <= 0 or plain.p_value == 0:
        return plain
    days = [_group_by_day(side) for side in (baseline, candidate)]
    if days[0].keys() == days[1].keys():
        return plain if len(days[0]) == 1 and _has_few(sides) else _compare_within_days(plain, baseline, candidate)
    if all(len(values) == 1 for side in days for values in side.values()):
        return _refine_difference(plain, baseline, candidate, Unit.RUN)
    if sum(len(side) - 1 for side in days) >= MIN_DAYS:
        return _compare_days(plain, days)
    shared = days[0].keys() & days[1].keys()
    common = [[one for one in side if one.day in shared] for side in (baseline, candidate)]
    if shared and min(map(len, common)) >= MIN_VALUES:
        return _compare_within_days(plain, *common)
    return _assume_days(plain, days)


def to_units(runs: Sequence[TimedValue]) -> list[tuple[int, float]]:
    """The units of runs in time order, each with the place of its first run: means of days if several days have
    several runs, else the runs."""
    days = _group_by_day(runs)
    if len(days) in (1, len(runs)):
        return [(place, run.value) for place, run in enumerate(runs)]
    firsts: dict[date, int] = {}
    for place, run in enumerate(runs):
        firsts.setdefault(run.day, place)
    return [(place, fmean(days[day])) for day, place in firsts.items()]


def count_looks(runs: Sequence[TimedValue]) -> float:
    """What a p-value is multiplied by, because runs that come day after day are looked at every day: 1 + 2 ln(days).

    Looks at the same growing runs are alike, so that the chance of any false alarm grows with their logarithm only."""
    return 1 + 2 * math.log(max(1, len({run.day for run in runs})))


def _has_few(sides: Sequence[Sequence[float]]) -> bool:
    return sum(map(len, sides)) < MIN_RUNS


def _group_by_day(runs: Sequence[TimedValue]) -> Mapping[date, list[float]]:
    days: defaultdict[date, list[float]] = defaultdict(list)
    for run in runs:
        days[run.day].append(run.value)
    return days


# --- the day as the unit ----------------------------------------------------------------------------


def _compare_days(plain: MeanDifference, days: Sequence[Mapping[date, list[float]]]) -> MeanDifference:
    """Means of days as if they were runs, with the larger error of days that have fewer runs than others."""
    means = [[(day, fmean(values)) for day, values in side.items()] for side in days]
    units = [[TimedValue(value, datetime.combine(day, datetime.min.time())) for day, value in side] for side in means]
    shares = [fmean([1 / len(values) for values in side.values()]) for side in days]
    freedom = [len(side) - 1 for side in days]
    expected = sum(share * df for share, df in zip(shares, freedom, strict=True)) / sum(freedom)
    within = _variance_within(days)
    extra = sum((share - expected) / len(side) for share, side in zip(shares, days, strict=True)) * within
    return _refine_difference(plain, units[0], units[1], Unit.DAY, max(extra, 0.0))


def _variance_within(days: Sequence[Mapping[date, list[float]]]) -> float:
    """Of runs within days, relative to the squared mean of their side."""
    squares, freedom = 0.0, 0
    for side in days:
        mean = fmean([value for values in side.values() for value in values])
        squares += sum((value - fmean(values)) ** 2 for values in side.values() for value in values) / mean**2
        freedom += sum(len(values) - 1 for values in side.values())
    return squares / freedom if freedom else 0.0


def _assume_days(plain: MeanDifference, days: Sequence[Mapping[date, list[float]]]) -> MeanDifference:
    """A difference that the days may have made: only one that days of DAY_CV hardly make is more than a guess."""
    counts = [len(side) for side in days]
    runs_error = plain.design.error if plain.design else 0.0
    error = math.hypot(DAY_CV * math.sqrt(sum(1 / count for count in counts)), runs_error)
    design = Design(DAY_CV, counts[0], counts[1], error, ASSUMED_DF)
    p_value = max(plain.p_value, normal_p(math.log1p(plain.change) / error))
    return build_difference(plain.change, p_value, TTest.ASSUMED, design, Unit.DAY)


def _compare_within_days(
    plain: MeanDifference, baseline: Sequence[TimedValue], candidate: Sequence[TimedValue]
) -> MeanDifference:
    """Runs of both sides on the same days: the days cancel out."""
    if len({run.day for run in baseline}) == 1:
        return _refine_difference(plain, baseline, candidate, Unit.RUN)
    import numpy as np

    values, side = _stack_values(baseline, candidate)
    days = np.array([run.day.toordinal() for run in (*baseline, *candidate)])
    columns = np.column_stack([*(days == day for day in np.unique(days)), side]).astype(float)
    fit = _Fit.of(values, columns)
    if fit.df < 1:
        return plain
    return _from_fit(fit, fit.error, fit.df, TTest.WITHIN_DAYS, Unit.RUN, (len(baseline), len(candidate)))


# --- outliers, trends, dependence -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Fit:
    """Least squares; the last column is the candidate's."""

    columns: FloatArray
    inverse: FloatArray
    step: float
    residuals: FloatArray

    @classmethod
    def of(cls, values: FloatArray, columns: FloatArray) -> "_Fit":
        import numpy as np

        inverse = np.linalg.pinv(columns)
        factors = inverse @ values
        return cls(columns, inverse, float(factors[-1]), values - columns @ factors)

    @property
    def squares(self) -> float:
        return float(self.residuals @ self.residuals)

    @property
    def df(self) -> int:
        return len(self.residuals) - int(self.columns.shape[1])

    @property
    def error(self) -> float:
        weights = self.inverse[-1]
        return math.sqrt(self.squares / self.df * float(weights @ weights))


def _stack_values(baseline: Sequence[TimedValue], candidate: Sequence[TimedValue]) -> tuple[FloatArray, FloatArray]:
    """The values over the baseline's mean, and 1 for those of the candidate."""
    import numpy as np

    values = np.array([run.value for run in (*baseline, *candidate)]) / fmean(run.value for run in baseline)
    return values, np.repeat([0.0, 1.0], [len(baseline), len(candidate)])


def _refine_difference(
    plain: MeanDifference,
    baseline: Sequence[TimedValue],
    candidate: Sequence[TimedValue],
    unit: Unit,
    extra: float = 0.0,
) -> MeanDifference:
    """The difference of units (runs, or means of days) in time order, by the test that suits them.

    `extra`: what the variance of the difference grows by, because days have unequal numbers of runs."""
    import numpy as np

    counts = (len(baseline), len(candidate))
    if unit is Unit.RUN and sum(counts) < MIN_RUNS:
        return plain
    values, side = _stack_values(baseline, candidate)
    order = np.argsort([run.at.timestamp() for run in (*baseline, *candidate)], kind="stable")
    values, side = values[order], side[order]
    cut = _cut_outliers(values, side)
    has_outliers = cut is not values
    one = np.ones(len(values))
    fit = _Fit.of(cut, np.column_stack([one, side]))
    test = TTest.POOLED
    line = np.arange(len(values)) - (len(values) - 1) / 2
    if counts[0] >= MIN_TREND and _leads_levels(_Fit.of(cut, np.column_stack([one, line])), fit):
        fit, test = _Fit.of(cut, np.column_stack([one, line, side])), TTest.TREND
    error, df = fit.error, float(fit.df)
    if correlation := _estimate_correlation(fit):
        error, df = _estimate_error(fit, correlation)
        test = TTest.TREND if test is TTest.TREND else TTest.CORRELATED
    if test is TTest.POOLED and has_outliers:
        test, p_value = _test_ranks(values, side)
        return _from_fit(fit, math.hypot(error, math.sqrt(extra)), df, test, unit, counts, p_value)
    if test is TTest.POOLED and unit is Unit.RUN:
        return plain
    return _from_fit(fit, math.hypot(error, math.sqrt(extra)), df, test, unit, counts)


def _cut_outliers(values: FloatArray, side: FloatArray) -> FloatArray:
    """The values, cut at CUT standard deviations from the median of their side if there are outliers."""
    import numpy as np

    if len(values) < MIN_RUNS:
        return values
    centre = np.where(side == 1, np.median(values[side == 1]), np.median(values[side == 0]))
    rest = values - centre
    sd = 1.4826 * float(np.median(np.abs(rest))) * math.sqrt(len(values) / (len(values) - 2))
    if sd == 0 or (np.abs(rest) <= OUTLIER * sd).all():
        return values
    return centre + np.clip(rest, -CUT * sd, CUT * sd)


def _leads_levels(line: _Fit, levels: _Fit) -> bool:
    """Whether a straight line fits clearly better than two levels."""
    if levels.squares <= 1e-24 or line.squares <= 1e-24:
        return line.squares < levels.squares
    return len(line.residuals) * math.log(levels.squares / line.squares) > TREND_LEAD


def _estimate_correlation(fit: _Fit) -> float:
    """Of neighbours in time, without the bias that the fit brings; 0 where it may be chance."""
    count, rest, squares = len(fit.residuals), fit.residuals, fit.squares
    if count < MIN_RUNS or squares <= 1e-24:
        return 0.0
    found = float(rest[1:] @ rest[:-1]) / squares * count / (count - 1)
    if found <= CORRELATED / math.sqrt(count):
        return 0.0
    return min(0.95, found + BIAS * (1 + 3 * found) / count * (int(fit.columns.shape[1]) - 1))


def _estimate_error(fit: _Fit, correlation: float) -> tuple[float, float]:
    """The error and its degrees of freedom if each value depends on the one before (AR(1))."""
    import numpy as np

    places = np.arange(len(fit.residuals))
    matrix = correlation ** np.abs(np.subtract.outer(places, places))
    rest = np.eye(len(places)) - fit.columns @ fit.inverse
    spread = rest @ matrix
    trace = float(np.trace(spread))
    weights = fit.inverse[-1]
    error = math.sqrt(fit.squares / trace * float(weights @ matrix @ weights))
    return error, max(1.0, trace**2 / float((spread * spread.T).sum()))


def _test_ranks(values: FloatArray, side: FloatArray) -> tuple[TTest, float]:
    """Two-sided, of the sum of the smaller side's scores among all arrangements: cut values, or ranks of many."""
    import numpy as np
    from scipy.stats import rankdata

    small = side == (1.0 if side.sum() <= len(side) / 2 else 0.0)
    count, picked = len(values), int(small.sum())
    if math.comb(count, picked) > MOST_ARRANGEMENTS:
        scores = rankdata(values) - (count + 1) / 2
        variance = picked * (count - picked) / (count * (count - 1)) * float(scores @ scores)
        return TTest.RANK_SUM, normal_p(float(scores[small].sum()) / math.sqrt(variance)) if variance else 1.0
    rest = values - np.median(values)
    sd = 1.4826 * float(np.median(np.abs(rest)))
    scores = np.clip(rest / sd, -CUT, CUT) if sd else np.sign(rest)
    scores = scores - scores.mean()
    sums = np.abs(scores[np.array(list(combinations(range(count), picked)))].sum(axis=1))
    return TTest.PERMUTATION, float((sums >= abs(float(scores[small].sum())) - 1e-9).mean())


# --- the answer -------------------------------------------------------------------------------------


def _from_fit(
    fit: _Fit,
    error: float,
    df: float,
    test: TTest,
    unit: Unit,
    counts: tuple[int, int],
    p_value: float | None = None,
) -> MeanDifference:
    """The change as a share of the baseline's mean; `p_value` is of t if none is given."""
    cv = math.sqrt(fit.squares / fit.df)
    if p_value is None:
        p_value = two_sided_p(fit.step / error, df) if error else float(fit.step == 0)
    return build_difference(max(fit.step, -0.999), p_value, test, Design(cv, *counts, error, df), unit)
