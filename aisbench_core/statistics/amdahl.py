"""How throughput grows with the number of nodes, as one number: the serial share of Amdahl's law."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean
from typing import Any

import numpy as np

from aisbench_core.statistics.student import critical, larger_spread_p

FORMULA_ID = "amdahl/1"

LEAST_SIZES = 3
"""Two unknowns go through any two points: only a third can contradict the law."""

VISIBLE_MISFIT, SURE_MISFIT = 0.01, 0.01
"""The law is refused where a node count lies 1 % or more beside it, and chance does so in less than 1 % of cases."""

UNCONFIRMED_MISFIT = 0.05
"""The same where no node count was measured twice, so that nobody knows how much runs vary by chance."""

DOUBTED_MISFIT = 0.05
"""Below this probability, how far node counts lie beside the law says how sure it is, not how far runs lie apart."""

LARGEST_SHARE = 10.0
"""How far above 1 the serial share is looked for: such runs are slower the more nodes they have."""

Numbers = Any
"""A numpy array of floats; its types say no more than that."""


class Misfit(StrEnum):
    """Why nothing is said about the serial share."""

    TOO_FEW = "fewer than 3 node counts"
    NOT_AMDAHL = "the runs do not follow the law"
    FASTER_THAN_IDEAL = "faster than ideal"
    SLOWER_WITH_NODES = "slower with more nodes"


@dataclass(frozen=True, slots=True)
class SizeRuns:
    """The runs of one node count: how many, the mean of ln(throughput), and the sum of squares around that mean."""

    nodes: int
    runs: int
    log_mean: float
    log_squares: float = 0.0

    @classmethod
    def of(cls, nodes: int, throughputs: Sequence[float]) -> "SizeRuns":
        """From the throughputs themselves, which are above 0."""
        logs = [math.log(value) for value in throughputs]
        mean = fmean(logs)
        return cls(nodes, len(logs), mean, sum((value - mean) ** 2 for value in logs))


@dataclass(frozen=True, slots=True)
class IntervalEstimate:
    """A number between the two ends of its 95 % interval; `high` None: without an upper end."""

    value: float
    low: float
    high: float | None


@dataclass(frozen=True, slots=True)
class AmdahlFit:
    """T(n) = T(1) / (s + (1 - s) / n), fitted to ln T over all runs by least squares: `serial` is s, a share.

    `one_node` is T(1) in the runs' unit. `residuals` are measured / fitted - 1 by node count, of geometric means.
    `misfit_p` is the probability of such residuals by chance, None where no node count was measured twice.
    With `misfit`, `serial` and what follows from it are None; the residuals stay, where there are any."""

    misfit: Misfit | None
    serial: IntervalEstimate | None = None
    one_node: float | None = None
    residuals: tuple[tuple[int, float], ...] = ()
    misfit_p: float | None = None

    def speed_up(self, nodes: int, base: int) -> IntervalEstimate | None:
        """T(nodes) / T(base) by the law. It falls with the serial share, so its interval is that of the share."""
        if self.serial is None or self.serial.high is None:
            return None
        share = self.serial
        return IntervalEstimate(*(_speed_up(each, nodes, base) for each in (share.value, share.high or 0.0, share.low)))

    def limit(self, base: int) -> IntervalEstimate | None:
        """What speed_up comes to with ever more nodes; None where the serial share may be 0 and nothing is known."""
        share = self.serial
        if share is None or not share.value or not share.high:
            return None
        value, low = (_slowness(each, base) / each for each in (share.value, share.high))
        return IntervalEstimate(value, low, _slowness(share.low, base) / share.low if share.low else None)


def amdahl(sizes: Sequence[SizeRuns]) -> AmdahlFit:
    """The fit over runs of different node counts (formula amdahl/1: Amdahl, AFIPS 1967).

    The interval holds every share whose sum of squares is not larger than the best one's by more than t² variances:
    Student's t at 95 %, the variance of single runs around the law, or that of the node counts around it where these
    lie beside it by more than the runs explain."""
    if len({size.nodes for size in sizes}) < LEAST_SIZES:
        return AmdahlFit(Misfit.TOO_FEW)
    cost = _Cost(sizes)
    best = _lowest(cost)
    spare = cost.runs - len(sizes)
    between, within = cost(best), cost.within
    chance = _chance(between, len(sizes) - 2, within, spare) if spare else None
    fitted = [cost.log_one_node(best) - math.log(_slowness(best, size.nodes)) for size in sizes]
    residuals = tuple((each.nodes, math.expm1(each.log_mean - law)) for each, law in zip(sizes, fitted, strict=True))
    if _is_misfit(max(abs(beside) for _, beside in residuals), chance):
        return AmdahlFit(Misfit.NOT_AMDAHL, residuals=residuals, misfit_p=chance)
    doubted = chance is None or chance < DOUBTED_MISFIT
    df = len(sizes) - 2 if doubted else cost.runs - 2
    variance = (between if doubted else between + within) / df
    most = between + critical(0.05, df) ** 2 * variance
    low, high = (_crossing(cost, most, best, end) for end in (cost.smallest, LARGEST_SHARE))
    if high < 0 or low > 1:
        beyond = Misfit.FASTER_THAN_IDEAL if high < 0 else Misfit.SLOWER_WITH_NODES
        return AmdahlFit(beyond, residuals=residuals, misfit_p=chance)
    serial = IntervalEstimate(*(min(1.0, max(0.0, share)) for share in (best, low, high)))
    return AmdahlFit(None, serial, math.exp(cost.log_one_node(best)), residuals, chance)


class _Cost:
    """The sum of squares between node counts and the law, as a function of the serial share; T(1) is the best one."""

    def __init__(self, sizes: Sequence[SizeRuns]) -> None:
        self._nodes = np.array([size.nodes for size in sizes], dtype=float)
        self._weights = np.array([size.runs for size in sizes], dtype=float)
        self._logs = np.array([size.log_mean for size in sizes])
        self.runs = int(self._weights.sum())
        self.within = sum(size.log_squares for size in sizes)
        self.smallest = -(1 - 1e-9) / (float(self._nodes.max()) - 1)  # below, the law would give negative times

    def log_one_node(self, share: float) -> float:
        return float((self._weights * (self._logs + np.log(_slowness(share, self._nodes)))).sum() / self.runs)

    def __call__(self, share: float) -> float:
        apart = self._logs + np.log(_slowness(share, self._nodes))
        apart = apart - (self._weights * apart).sum() / self.runs
        return float((self._weights * apart * apart).sum())


def _slowness(share: float, nodes: Any) -> Any:
    """T(1) / T(n) by the law."""
    return share + (1 - share) / nodes


def _speed_up(share: float, nodes: int, base: int) -> float:
    return float(_slowness(share, base) / _slowness(share, nodes))


def _lowest(cost: _Cost) -> float:
    from scipy.optimize import minimize_scalar

    grid = _grid(cost)
    place = int(np.argmin([cost(share) for share in grid]))
    around = grid[max(0, place - 1)], grid[min(len(grid) - 1, place + 1)]
    return float(minimize_scalar(cost, bounds=around, method="bounded", options={"xatol": 1e-10}).x)


def _grid(cost: _Cost) -> Numbers:
    """Places to begin at: dense around 0, where most clusters are, and wider towards the ends."""
    above = np.concatenate(([0.0], np.geomspace(1e-6, LARGEST_SHARE, 120)))
    return np.concatenate((cost.smallest * np.geomspace(1, 1e-4, 20), above))


def _chance(between: float, between_df: int, within: float, within_df: int) -> float:
    """How likely node counts lie so far beside the law, given how far runs of one node count lie apart."""
    if within <= 1e-12 * between or between == 0:  # 1e-12: rounding is no spread
        return 0.0 if between > 1e-18 else 1.0
    return larger_spread_p(between / between_df, between_df, within / within_df, within_df)


def _is_misfit(worst: float, chance: float | None) -> bool:
    if chance is None:
        return worst > UNCONFIRMED_MISFIT
    return worst > VISIBLE_MISFIT and chance < SURE_MISFIT


def _crossing(cost: Callable[[float], float], most: float, inside: float, outside: float) -> float:
    """Where the cost rises to `most` on the way from the best share outwards, or the end of what is looked at."""
    if cost(outside) <= most:
        return outside
    for _ in range(60):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if cost(middle) <= most else (inside, middle)
    return inside
