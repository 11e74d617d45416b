"""Where a series of measurements changes its level, when nobody knows of a reason."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from aisbench_core.statistics.student import two_sided_p

LEAST = 3
"""A level lasts at least so many values; fewer are outliers."""

ALPHA = 0.01
"""How often a series without any step may be said to have one."""

PENALTY = 3.0
"""Variances times ln(n) by which a further step has to improve the fit to be a candidate; the test decides then."""

SPIKE = 4.0
"""Standard deviations by which a value may stand out from its neighbours."""

Numbers = Any
"""A numpy array of floats; its types say no more than that."""


@dataclass(frozen=True, slots=True)
class Step:
    """From the value at `index` on there is another level. `p_value`: that the best split of the values from the
    step before to the step after looks so good by chance, the search for it included."""

    index: int
    p_value: float


def steps(values: Sequence[float], alpha: float = ALPHA) -> tuple[Step, ...]:
    """Every step of the series, in order.

    The best piecewise constant fit (least squares, each step at a price) proposes them; the least sure one is taken
    back until each of the others is surer than `alpha` given its neighbours. Single outliers are smoothed away first.
    Takes O(n²) operations, all but n of them in numpy."""
    if len(values) < 2 * LEAST:
        return ()
    scaled = _scaled(_without_spikes(np.asarray(values, dtype=float)))
    bounds = [0, *_proposed(scaled), len(values)]
    while len(bounds) > 2:
        found = [Step(bounds[i], _chance(scaled, *bounds[i - 1 : i + 2])) for i in range(1, len(bounds) - 1)]
        worst = max(found, key=lambda step: step.p_value)
        if worst.p_value <= alpha:
            return tuple(found)
        bounds.remove(worst.index)
    return ()


def likeliest(values: Sequence[float]) -> Step | None:
    """The best single split of the whole series, however unsure; None for fewer than twice LEAST values."""
    if len(values) < 2 * LEAST:
        return None
    scaled = _scaled(_without_spikes(np.asarray(values, dtype=float)))
    index = _best_split(scaled)
    return Step(index, _chance(scaled, 0, index, len(values)))


def _without_spikes(values: Numbers) -> Numbers:
    """A value that stands out from the median of the five around it is brought back to it (Hampel's filter).

    Levels of LEAST values and more are the median of their own neighbourhood, and stay."""
    padded = np.pad(values, 2, mode="reflect")
    around = np.median(np.lib.stride_tricks.sliding_window_view(padded, 5), axis=1)
    return np.where(np.abs(values - around) > SPIKE * _noise(values), around, values)


def _noise(values: Numbers) -> float:
    """The standard deviation around the levels, from the differences of neighbours, which steps hardly change."""
    gaps = np.abs(np.diff(values))
    return max(1.4826 * float(np.median(gaps)) / math.sqrt(2), 1e-9 * float(np.abs(values).max()), 1e-300)


def _scaled(values: Numbers) -> Numbers:
    return (values - np.median(values)) / _noise(values)


def _proposed(values: Numbers) -> list[int]:
    """The steps of the fit with the least sum of squares plus price (optimal partitioning, Jackson 2005)."""
    count = len(values)
    sums = np.concatenate(([0.0], np.cumsum(values)))
    price = PENALTY * math.log(count)
    inverse = 1.0 / np.arange(count, 0, -1)
    open_cost = np.full(count + 1, np.inf)  # the sum of all squares is the same for every fit, and left out
    open_cost[0] = 0.0
    came_from = np.zeros(count + 1, dtype=int)
    for end in range(LEAST, count + 1):
        starts = end - LEAST + 1
        gap = sums[end] - sums[:starts]
        gap *= gap
        gap *= inverse[count - end : count - end + starts]
        cost = open_cost[:starts] - gap
        best = int(cost.argmin())
        came_from[end] = best
        open_cost[end] = cost[best] + price
    return _traced(came_from)


def _traced(came_from: Numbers) -> list[int]:
    bounds: list[int] = []
    here = int(came_from[-1])
    while here:
        bounds.append(here)
        here = int(came_from[here])
    return bounds[::-1]


def _best_split(values: Numbers) -> int:
    count = len(values)
    splits = np.arange(LEAST, count - LEAST + 1)
    gap = np.cumsum(values)[splits - 1] - splits * values.mean()
    return int(splits[(gap * gap / (splits * (count - splits))).argmax()])


def _chance(values: Numbers, start: int, split: int, end: int) -> float:
    """The probability of a split as good as this one at the best of all places between `start` and `end`.

    The t of the split as a normal deviate z, and the tail of the largest z over all places by the approximation for
    a Brownian bridge (James, James and Siegmund, Biometrika 74, 1987); never more than Bonferroni's bound."""
    one, other = values[start:split], values[split:end]
    count = end - start
    error = math.sqrt((one.var() * len(one) + other.var() * len(other)) / (count - 2) * (1 / len(one) + 1 / len(other)))
    gap = abs(float(one.mean() - other.mean()))
    if error <= 1e-9 * gap:
        return 0.0 if gap else 1.0
    single = two_sided_p(gap / error, count - 2)
    return min(1.0, single * (count - 2 * LEAST + 1), _largest_of_all(single, count))


def _largest_of_all(single: float, count: int) -> float:
    from scipy.special import ndtr, ndtri

    z = -float(ndtri(single / 2)) if single > 0 else math.inf
    if z < 1.5:  # the approximation is one of the tail
        return 1.0
    if z > 37:
        return 0.0
    places = np.arange(LEAST, count - LEAST + 1) / count
    spans = places * (1 - places)
    x = z / np.sqrt(count * spans)
    density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    overshoot = (2 / x) * (ndtr(x / 2) - 0.5) / ((x / 2) * ndtr(x / 2) + np.exp(-x * x / 8) / math.sqrt(2 * math.pi))
    return single + float(z * density * np.sum(overshoot / spans) / count)
