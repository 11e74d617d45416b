"""Intervals that hold although somebody looks after every run and stops as soon as they are narrow or decisive enough.

Two rules, because they stop for different reasons:

* *narrow enough* (Chow and Robbins): when it stops depends on the spread alone, which of normal values is independent
  of the mean. So the mean stays unbiased, and only spreads that happen to be small stop too early. A critical value
  that is WIDER times Student's, and FEWEST values, make up for it whatever the spread: simulated coverage is at least
  95 %. No rule that also allows for chosen means is as narrow.
* *told apart*: the stop depends on the difference itself. How often is looked cannot be fixed beforehand, as budgets
  are raised, cells lost and runs killed, so the interval is an anytime-valid one rather than group-sequential: the
  t-test's likelihood ratio, averaged over effects of N(0, SCALE²) standard deviations, is a martingale without a
  difference (Lai 1976; Wang and Ramdas 2023) and reaches 1 / alpha with probability alpha at most, over all looks.
"""

import math
from collections.abc import Sequence
from statistics import fmean, variance

from aisbench_core.domain.statistics.student import get_critical_t

ALPHA = 0.05

# Of the rule "narrow enough": see above; tests/bench/test_sequential.py simulates it.
FEWEST, WIDER = 5, 1.15

# Effects, in standard deviations of a run, at which the anytime-valid interval is narrowest.
SCALE = 2.0


def narrow_margin(values: Sequence[float]) -> float | None:
    """Half the width of the 95 % interval of the mean of logarithms: 0.01 is ± 1 %; None for fewer than two values,
    or values that are not above 0."""
    if len(values) < 2 or min(values) <= 0:
        return None
    logs = [math.log(value) for value in values]
    return WIDER * get_critical_t(ALPHA, len(logs) - 1) * math.sqrt(variance(logs) / len(logs))


def anytime_t(weight: float, df: int, alpha: float = ALPHA) -> float:
    """The two-sided critical value of t that holds at every look; infinite for too few values.

    `weight`: number of values of one sample, or n·m / (n + m) of two."""
    gain = 1 + weight * SCALE**2
    bound = math.exp(2 / (df + 1) * math.log(math.sqrt(gain) / alpha))
    return math.sqrt(df * (bound - 1) / (1 - bound / gain)) if bound < gain else math.inf


def anytime_margin(values: Sequence[float]) -> float | None:
    """As `narrow_margin`, for a series that stops for what it measured; None also where it is infinite."""
    if len(values) < 2 or min(values) <= 0:
        return None
    logs = [math.log(value) for value in values]
    margin = anytime_t(len(logs), len(logs) - 1) * math.sqrt(variance(logs) / len(logs))
    return margin if math.isfinite(margin) else None


def anytime_change(baseline: Sequence[float], candidate: Sequence[float]) -> tuple[float, float, float] | None:
    """Candidate ÷ baseline - 1 of the means of logarithms, and the ends of its 95 % interval, which holds at every
    look. None while it has no ends, and for values that are not above 0."""
    if min(len(baseline), len(candidate)) < 2 or min(*baseline, *candidate) <= 0:
        return None
    old, new = ([math.log(value) for value in side] for side in (baseline, candidate))
    df, weight = len(old) + len(new) - 2, len(old) * len(new) / (len(old) + len(new))
    critical = anytime_t(weight, df)
    if math.isinf(critical):
        return None
    pooled = (variance(old) * (len(old) - 1) + variance(new) * (len(new) - 1)) / df
    gap, margin = fmean(new) - fmean(old), critical * math.sqrt(pooled / weight)
    return math.expm1(gap), math.expm1(gap - margin), math.expm1(gap + margin)
