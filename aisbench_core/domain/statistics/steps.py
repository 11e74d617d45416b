"""Change points of a series of measurements."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from aisbench_core.domain.statistics.student import two_sided_p

# Values of a level; fewer are outliers.
MIN_LENGTH = 3

# Probability of reporting a step in a series without one.
ALPHA = 0.0075

# Variances times ln(n) by which a step must improve the fit to be a candidate. Low, because the test decides.
PENALTY = 3.0

# How much better two levels must fit than a straight line to be called a step (n times ln of the ratio of squares).
STEP_LEAD = 8.0

# How often the bias of the lag-1 correlation is added to it: more than once, because a step fits to what wanders, too.
BIAS = 4.0

# Standard deviations from the median of its neighbours beyond which a value is an outlier.
SPIKE = 4.0

FloatArray = Any
"""A numpy array of floats."""


@dataclass(frozen=True, slots=True)
class Step:
    """The level changes at `index`. `p_value`: of the best split of the values between the previous and the next step,
    corrected for the search."""

    index: int
    p_value: float


def find_steps(values: Sequence[float], alpha: float = ALPHA) -> tuple[Step, ...]:
    """The steps of the series, in order.

    Candidates come from the best penalised piecewise constant fit (least squares); the least significant one is removed
    until all are significant at `alpha` given their neighbours, with an error for values that depend on the one before,
    and fit better than a straight line. Outliers are replaced first. Takes O(n²) in numpy."""
    if len(values) < 2 * MIN_LENGTH:
        return ()
    scaled = _scale_values(_without_spikes(np.asarray(values, dtype=float)))
    bounds = [0, *_find_candidates(scaled), len(values)]
    slopes: set[int] = set()
    while len(bounds) > 2:
        parts = [(bounds[i - 1], bounds[i], bounds[i + 1]) for i in range(1, len(bounds) - 1)]
        # What a line fits better stays a bound: merged, it would look like dependence to its neighbours.
        slopes |= {part[1] for part in parts if not _leads_line(scaled, *part)}
        candidates = [Step(part[1], _step_p(scaled, *part)) for part in parts if part[1] not in slopes]
        worst = max(candidates, key=lambda step: step.p_value, default=None)
        if worst is None or worst.p_value <= alpha:
            return tuple(candidates)
        bounds.remove(worst.index)
    return ()


def find_likeliest_step(values: Sequence[float]) -> Step | None:
    """The best single split of the whole series, significant or not; None for fewer than twice MIN_LENGTH values."""
    if len(values) < 2 * MIN_LENGTH:
        return None
    scaled = _scale_values(_without_spikes(np.asarray(values, dtype=float)))
    index = _best_split(scaled)
    return Step(index, _p_value(scaled, 0, index, len(values)))


def follows_line(values: Sequence[float]) -> bool:
    """Whether the values drift: a straight line explains them better than one level, and better than two."""
    count = len(values)
    if count < 2 * MIN_LENGTH:
        return False
    scaled = _scale_values(_without_spikes(np.asarray(values, dtype=float)))
    slope = _line_squares(scaled)
    total = _level_squares(scaled)
    if slope >= total * (1 - 1e-12):
        return False
    t = math.sqrt((total - slope) / max(slope / (count - 2), 1e-12))
    return two_sided_p(t, count - 2) <= ALPHA and not _leads_line(scaled, 0, _best_split(scaled), count)


def _step_p(values: FloatArray, start: int, split: int, end: int) -> float:
    return _p_value(values, start, split, end, _estimate_correlation(values[start:split], values[split:end]))


def _leads_line(values: FloatArray, start: int, split: int, end: int) -> bool:
    levels = _level_squares(values[start:split]) + _level_squares(values[split:end])
    line = _line_squares(values[start:end])
    return (end - start) * math.log(max(line, 1e-12) / max(levels, 1e-12)) > STEP_LEAD or levels <= 1e-12 < line


def _level_squares(values: FloatArray) -> float:
    return float(((values - values.mean()) ** 2).sum())


def _line_squares(values: FloatArray) -> float:
    places = np.arange(len(values)) - (len(values) - 1) / 2
    rest = values - values.mean() - places * float(places @ values) / float(places @ places)
    return float(rest @ rest)


def _estimate_correlation(*levels: FloatArray) -> float:
    """Of neighbours around their levels, with the bias that the levels bring; not below 0."""
    rest = np.concatenate([level - level.mean() for level in levels])
    squares = float(rest @ rest)
    if squares <= 1e-12:
        return 0.0
    found = float(rest[1:] @ rest[:-1]) / squares
    return min(0.97, max(0.0, found + BIAS * (1 + 3 * max(found, 0.0)) * len(levels) / len(rest)))


def _without_spikes(values: FloatArray) -> FloatArray:
    """Outliers replaced by the median of the five values around them (Hampel filter).

    A level of MIN_LENGTH values is the median of its own neighbourhood, so it stays."""
    padded = np.pad(values, 2, mode="reflect")
    medians = np.median(np.lib.stride_tricks.sliding_window_view(padded, 5), axis=1)
    return np.where(np.abs(values - medians) > SPIKE * _estimate_noise(values), medians, values)


def _estimate_noise(values: FloatArray) -> float:
    """The standard deviation around the levels, from differences of neighbours, which a few steps hardly affect."""
    gaps = np.abs(np.diff(values))
    return max(1.4826 * float(np.median(gaps)) / math.sqrt(2), 1e-9 * float(np.abs(values).max()), 1e-300)


def _scale_values(values: FloatArray) -> FloatArray:
    return (values - np.median(values)) / _estimate_noise(values)


def _find_candidates(values: FloatArray) -> list[int]:
    """The steps of the fit with the smallest sum of squares plus penalty (optimal partitioning, Jackson 2005)."""
    count = len(values)
    sums = np.concatenate(([0.0], np.cumsum(values)))
    penalty = PENALTY * math.log(count)
    inverse = 1.0 / np.arange(count, 0, -1)
    open_cost = np.full(count + 1, np.inf)  # without the sum of all squares, which is the same for every fit
    open_cost[0] = 0.0
    came_from = np.zeros(count + 1, dtype=int)
    # Computed in place, without temporary arrays: this loop takes nearly all of the time.
    for end in range(MIN_LENGTH, count + 1):
        starts = end - MIN_LENGTH + 1
        gap = sums[end] - sums[:starts]
        gap *= gap
        gap *= inverse[count - end : count - end + starts]
        cost = open_cost[:starts] - gap
        best = int(cost.argmin())
        came_from[end] = best
        open_cost[end] = cost[best] + penalty
    bounds = [int(came_from[-1])]
    while bounds[-1]:
        bounds.append(int(came_from[bounds[-1]]))
    return bounds[-2::-1]


def _best_split(values: FloatArray) -> int:
    count = len(values)
    splits = np.arange(MIN_LENGTH, count - MIN_LENGTH + 1)
    gap = np.cumsum(values)[splits - 1] - splits * values.mean()
    return int(splits[(gap * gap / (splits * (count - splits))).argmax()])


def _p_value(values: FloatArray, start: int, split: int, end: int, correlation: float = 0.0) -> float:
    """Of the best split between `start` and `end`, which is at `split`, where neighbours have this `correlation`.

    The tail of the largest z over all possible splits by the approximation for a Brownian bridge (James, James and
    Siegmund, Biometrika 74, 1987), with the split's t as normal deviate z; at most Bonferroni's bound."""
    one, other = values[start:split], values[split:end]
    count = end - start
    pooled = (one.var() * len(one) + other.var() * len(other)) / (count - 2)
    longer = (1 + correlation) / (1 - correlation)
    error = math.sqrt(pooled * longer * (1 / len(one) + 1 / len(other)))
    gap = abs(float(one.mean() - other.mean()))
    if error <= 1e-9 * gap:
        return 0.0 if gap else 1.0
    single = two_sided_p(gap / error, max(2.0, (count - 2) / longer))
    return min(1.0, single * (count - 2 * MIN_LENGTH + 1), _largest_z_p(single, count))


def _largest_z_p(single: float, count: int) -> float:
    from scipy.special import ndtr, ndtri

    z = -float(ndtri(single / 2)) if single > 0 else math.inf
    if z < 1.5:  # the approximation holds in the tail only
        return 1.0
    if z > 37:
        return 0.0
    positions = np.arange(MIN_LENGTH, count - MIN_LENGTH + 1) / count
    spans = positions * (1 - positions)
    x = z / np.sqrt(count * spans)
    density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    overshoot = (2 / x) * (ndtr(x / 2) - 0.5) / ((x / 2) * ndtr(x / 2) + np.exp(-x * x / 8) / math.sqrt(2 * math.pi))
    return single + float(z * density * np.sum(overshoot / spans) / count)
