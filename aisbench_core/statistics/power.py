"""Statistical power: how many runs detect a change, and which change a number of runs detects."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from aisbench_core.statistics import student

# The probability with which a true change is to be reported.
TARGET_POWER = 0.9

# A side with fewer runs is not tested.
MIN_RUNS = 2

# Where more runs would be needed, less noise is the better remedy.
MAX_RUNS = 200


@dataclass(frozen=True, slots=True)
class Power:
    """At the coefficient of variation `cv` the existing runs detect changes of `visible` or more.

    Detecting `change` takes `runs` of the candidate against the existing baseline or, if that is too small,
    `runs_each` on both sides; None if more than MAX_RUNS. Changes and `cv` are fractions."""

    cv: float
    change: float
    visible: float | None
    runs: int | None
    runs_each: int | None


@dataclass(frozen=True, slots=True)
class Reporting:
    """A measured change is reported when it is `least` or more, as a fraction, and its p-value `alpha` or less."""

    least: float
    alpha: float


def power(cv: float, change: float, baseline: int, candidate: int, rule: Reporting) -> Power:
    """The power to report true changes with probability TARGET_POWER.

    A true change of exactly `least` never reaches it: half of its measurements are smaller, however many runs."""
    runs = _fewest(lambda count: _detects(change, cv, baseline, count, rule)) if baseline >= MIN_RUNS else None
    runs_each = None if runs else _fewest(lambda count: _detects(change, cv, count, count, rule))
    return Power(cv, change, _visible(cv, baseline, candidate, rule), runs, runs_each)


def _detects(change: float, cv: float, baseline: int, candidate: int, rule: Reporting) -> bool:
    if cv == 0:
        return change >= rule.least
    error = cv * math.sqrt(1 / baseline + 1 / candidate)
    return student.power(change / error, rule.least / error, baseline + candidate - 2, rule.alpha) >= TARGET_POWER


def _fewest(detects: Callable[[int], bool]) -> int | None:
    """The smallest sufficient number of runs, by bisection: more runs never detect less."""
    if not detects(MAX_RUNS):
        return None
    low, high = 1, MAX_RUNS
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if detects(middle) else (middle, high)
    return high


def _visible(cv: float, baseline: int, candidate: int, rule: Reporting) -> float | None:
    if min(baseline, candidate) < MIN_RUNS:
        return None
    low, high = 0.0, rule.least + 1000 * cv
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if _detects(middle, cv, baseline, candidate, rule) else (middle, high)
    return high
