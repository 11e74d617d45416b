"""How many runs it takes to see a change, and which change so many runs can show."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from aisbench_core.statistics import student

SURE = 0.9
"""The share of cases in which a true change is to be reported."""

LEAST = 2
"""A side with fewer runs is not tested at all."""

MOST_RUNS = 200
"""Whoever would need more runs needs a quieter machine."""


@dataclass(frozen=True, slots=True)
class Power:
    """What is found at a coefficient of variation `cv`: changes of `visible` or more with the runs there are.

    `runs` of the candidate find a change of `change` against the baseline as it is; `runs_each`, where the
    baseline is too small for that, are needed on either side. None beyond MOST_RUNS. All are fractions or counts."""

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
    """For true changes that are to be reported in SURE of all cases. A true change of just `least` never is: half of
    all measurements of it are smaller, however many runs there are."""
    runs = _fewest(lambda count: _sees(change, cv, baseline, count, rule)) if baseline >= LEAST else None
    each = None if runs else _fewest(lambda count: _sees(change, cv, count, count, rule))
    return Power(cv, change, _visible(cv, baseline, candidate, rule), runs, each)


def _sees(change: float, cv: float, baseline: int, candidate: int, rule: Reporting) -> bool:
    if cv == 0:
        return change >= rule.least
    error = cv * math.sqrt(1 / baseline + 1 / candidate)
    return student.power(change / error, rule.least / error, baseline + candidate - 2, rule.alpha) >= SURE


def _fewest(sees: Callable[[int], bool]) -> int | None:
    """The smallest number of runs, from two on, that is enough; more runs never see less."""
    if not sees(MOST_RUNS):
        return None
    low, high = 1, MOST_RUNS
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if sees(middle) else (middle, high)
    return high


def _visible(cv: float, baseline: int, candidate: int, rule: Reporting) -> float | None:
    if min(baseline, candidate) < LEAST:
        return None
    low, high = 0.0, rule.least + 1000 * cv
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if _sees(middle, cv, baseline, candidate, rule) else (middle, high)
    return high
