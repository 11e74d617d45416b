"""How many runs it takes to see a change, and which change so many runs can show."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from aisbench_core.statistics import student

SURE = 0.9
"""How often a change has to be seen to count as visible."""

LEAST = 2
"""A side with fewer runs is not tested at all."""

MOST_RUNS = 200
"""Whoever would need more runs needs a quieter machine."""


@dataclass(frozen=True, slots=True)
class Power:
    """What can be seen at a coefficient of variation `cv`: changes of `visible` or more with the runs there are.

    `runs` of the candidate would show a change of `change` against the baseline as it is; `runs_each`, where the
    baseline is too small for that, are needed on either side. None beyond MOST_RUNS. All are fractions or counts."""

    cv: float
    change: float
    visible: float | None
    runs: int | None
    runs_each: int | None


def power(cv: float, change: float, baseline: int, candidate: int, alpha: float) -> Power:
    """For a t test at `alpha` that is to see the change in SURE of all cases."""
    runs = _fewest(lambda count: _sees(change, cv, baseline, count, alpha)) if baseline >= LEAST else None
    each = None if runs else _fewest(lambda count: _sees(change, cv, count, count, alpha))
    return Power(cv, change, _visible(cv, baseline, candidate, alpha), runs, each)


def _sees(change: float, cv: float, baseline: int, candidate: int, alpha: float) -> bool:
    if cv == 0:
        return True
    shift = change / (cv * math.sqrt(1 / baseline + 1 / candidate))
    return student.power(shift, baseline + candidate - 2, alpha) >= SURE


def _fewest(sees: Callable[[int], bool]) -> int | None:
    """The smallest number of runs, from two on, that is enough; more runs never see less."""
    if not sees(MOST_RUNS):
        return None
    low, high = 1, MOST_RUNS
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if sees(middle) else (middle, high)
    return high


def _visible(cv: float, baseline: int, candidate: int, alpha: float) -> float | None:
    if min(baseline, candidate) < LEAST:
        return None
    low, high = 0.0, 1000 * cv
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if _sees(middle, cv, baseline, candidate, alpha) else (middle, high)
    return high
