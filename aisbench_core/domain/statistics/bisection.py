"""Which of several ordered versions is the first slower one: a Bayesian search for one step in the mean.

The posterior has no tuning: flat priors of both levels, of the logarithm of the spread, and of where the step is. All
runs count for every position, so that each run of a version also sharpens what "fast" and "slow" mean.
"""

import math
from collections.abc import Collection, Sequence
from statistics import fmean

# A version that is this surely on one side of the step needs no run. While no position has 95 %, one is less sure.
SURE = 0.025

# Below this share of all variance, what is left is rounding.
ROUNDING = 1e-12


def locate_step(samples: Sequence[Sequence[float]]) -> list[float]:
    """The probability of each version to be the first of the lower level; 0 for the first version, which is fast.

    `samples`: values above 0 by version, of which the first and the last version have some; three or more in all."""
    logs = [[math.log(value) for value in sample] for sample in samples]
    count = sum(map(len, logs))
    total = _sum_squares([value for sample in logs for value in sample]) or 1.0
    weights = [-math.inf]
    for first in range(1, len(logs)):
        sides = [[value for sample in part for value in sample] for part in (logs[:first], logs[first:])]
        left = max(sum(map(_sum_squares, sides)), ROUNDING * total)
        weights.append(-0.5 * math.log(len(sides[0]) * len(sides[1])) - (count - 2) / 2 * math.log(left))
    highest = max(weights)
    shares = [math.exp(weight - highest) for weight in weights]
    return [share / sum(shares) for share in shares]


def rank_versions(probabilities: Sequence[float], active: Collection[int] = ()) -> list[int]:
    """The versions between the ends whose runs tell something, first the one that is as likely before the step as
    behind it. `active`: versions with a run under way, which come last."""
    below, ranked = 0.0, []
    for version in range(1, len(probabilities) - 1):
        below += probabilities[version]
        if SURE < below < 1 - SURE:
            ranked.append((version in active, abs(below - 0.5), version))
    return [version for *_, version in sorted(ranked)]


def _sum_squares(values: Sequence[float]) -> float:
    mean = fmean(values) if values else 0.0
    return math.fsum((value - mean) ** 2 for value in values)
