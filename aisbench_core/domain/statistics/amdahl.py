"""Scaling over nodes as one number: the serial share of Amdahl's law."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean
from typing import Any

from aisbench_core.domain.statistics.student import get_critical_t, larger_spread_p

# The law has two unknowns, so it fits any two points exactly; only a third can contradict it.
MIN_NODE_COUNTS = 3

# The law is rejected when a residual is larger than 1 % and its p-value is below 1 %.
MAX_RESIDUAL, REJECTED_BELOW = 0.01, 0.01

# The same without repeated runs, when there is no p-value because the noise is unknown.
MAX_UNTESTED_RESIDUAL = 0.05

# Below this p-value the variance around the law, not that within node counts, decides the interval.
DOUBTED_BELOW = 0.05

# Upper end of the search. Shares above 1 mean that throughput falls with more nodes.
MAX_SHARE = 10.0


class FitProblem(StrEnum):
    """Why there is no serial share."""

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
        """From throughputs, which must be above 0."""
        logs = [math.log(value) for value in throughputs]
        mean = fmean(logs)
        return cls(nodes, len(logs), mean, sum((value - mean) ** 2 for value in logs))


@dataclass(frozen=True, slots=True)
class IntervalEstimate:
    """A number with its 95 % interval; `high` None: unbounded."""

    value: float
    low: float
    high: float | None


@dataclass(frozen=True, slots=True)
class AmdahlFit:
    """T(n) = T(1) / (s + (1 - s) / n), fitted to ln T over all runs by least squares: `serial` is s, a share.

    `one_node` is T(1) in the runs' unit. `residuals` are measured / fitted - 1 by node count, of geometric means.
    With `problem`, `serial` and `one_node` are None."""

    problem: FitProblem | None
    serial: IntervalEstimate | None = None
    one_node: float | None = None
    residuals: tuple[tuple[int, float], ...] = ()

    def speed_up(self, nodes: int, base: int) -> IntervalEstimate | None:
        """T(nodes) / T(base) by the law. It decreases with the serial share, so the ends of the interval swap."""
        if self.serial is None or self.serial.high is None:
            return None
        share = self.serial
        shares = (share.value, share.high or 0.0, share.low)
        return IntervalEstimate(
            *(float(_compute_slowness(serial, base) / _compute_slowness(serial, nodes)) for serial in shares)
        )

    def limit(self, base: int) -> IntervalEstimate | None:
        """The limit of speed_up for infinitely many nodes; None where the serial share is 0 or unbounded."""
        share = self.serial
        if share is None or not share.value or not share.high:
            return None
        value, low = (_compute_slowness(serial, base) / serial for serial in (share.value, share.high))
        return IntervalEstimate(value, low, _compute_slowness(share.low, base) / share.low if share.low else None)


def fit_amdahl(sizes: Sequence[SizeRuns]) -> AmdahlFit:
    """The fit over runs of different node counts (formula amdahl/1: Amdahl, AFIPS 1967).

    The interval contains every share whose sum of squares exceeds the best one's by at most t² variances: Student's t
    at 95 %; the variance of single runs around the law, or that of the node counts around it where their residuals are
    larger than the noise of runs explains."""
    if len({size.nodes for size in sizes}) < MIN_NODE_COUNTS:
        return AmdahlFit(FitProblem.TOO_FEW)
    cost = _Cost(sizes)
    best = _minimize_cost(cost)
    within_df = cost.runs - len(sizes)
    between, within = cost(best), cost.within
    p_value = _p_value(between, len(sizes) - 2, within, within_df) if within_df else None
    fitted = [cost.log_one_node(best) - math.log(_compute_slowness(best, size.nodes)) for size in sizes]
    residuals = tuple((size.nodes, math.expm1(size.log_mean - law)) for size, law in zip(sizes, fitted, strict=True))
    worst = max(abs(residual) for _, residual in residuals)
    tolerated = MAX_UNTESTED_RESIDUAL if p_value is None else MAX_RESIDUAL
    if worst > tolerated and (p_value is None or p_value < REJECTED_BELOW):
        return AmdahlFit(FitProblem.NOT_AMDAHL, residuals=residuals)
    doubted = p_value is None or p_value < DOUBTED_BELOW
    df = len(sizes) - 2 if doubted else cost.runs - 2
    variance = (between if doubted else between + within) / df
    limit = between + get_critical_t(0.05, df) ** 2 * variance
    low, high = (_find_crossing(cost, limit, best, end) for end in (cost.smallest, MAX_SHARE))
    if high < 0 or low > 1:
        problem = FitProblem.FASTER_THAN_IDEAL if high < 0 else FitProblem.SLOWER_WITH_NODES
        return AmdahlFit(problem, residuals=residuals)
    serial = IntervalEstimate(*(min(1.0, max(0.0, share)) for share in (best, low, high)))
    return AmdahlFit(None, serial, math.exp(cost.log_one_node(best)), residuals)


class _Cost:
    """The sum of squared residuals of node counts as a function of the serial share, with the best T(1) for it."""

    def __init__(self, sizes: Sequence[SizeRuns]) -> None:
        import numpy as np  # takes 0.1 s, which only those wait for who fit

        self._nodes = np.array([size.nodes for size in sizes], dtype=float)
        self._weights = np.array([size.runs for size in sizes], dtype=float)
        self._logs = np.array([size.log_mean for size in sizes])
        self.runs = int(self._weights.sum())
        self.within = sum(size.log_squares for size in sizes)
        self.smallest = -(1 - 1e-9) / (float(self._nodes.max()) - 1)  # below it the law gives negative times

    def log_one_node(self, share: float) -> float:
        import numpy as np

        return float((self._weights * (self._logs + np.log(_compute_slowness(share, self._nodes)))).sum() / self.runs)

    def __call__(self, share: float) -> float:
        import numpy as np

        residuals = self._logs + np.log(_compute_slowness(share, self._nodes))
        residuals = residuals - (self._weights * residuals).sum() / self.runs
        return float((self._weights * residuals * residuals).sum())


def _compute_slowness(share: float, nodes: Any) -> Any:
    """T(1) / T(n) by the law."""
    return share + (1 - share) / nodes


def _minimize_cost(cost: _Cost) -> float:
    import numpy as np
    from scipy.optimize import minimize_scalar

    # Shares to try, dense around 0, where most clusters are: minimize_scalar only finds a local minimum.
    above = np.concatenate(([0.0], np.geomspace(1e-6, MAX_SHARE, 120)))
    grid = np.concatenate((cost.smallest * np.geomspace(1, 1e-4, 20), above))
    best = int(np.argmin([cost(share) for share in grid]))
    bounds = grid[max(0, best - 1)], grid[min(len(grid) - 1, best + 1)]
    return float(minimize_scalar(cost, bounds=bounds, method="bounded", options={"xatol": 1e-10}).x)


def _p_value(between: float, between_df: int, within: float, within_df: int) -> float:
    """Of the node counts' residuals, given the variance of runs within node counts (lack-of-fit F test)."""
    if within <= 1e-12 * between or between == 0:  # a variance this small is rounding
        return 0.0 if between > 1e-18 else 1.0
    return larger_spread_p(between / between_df, between_df, within / within_df, within_df)


def _find_crossing(cost: Callable[[float], float], limit: float, inside: float, outside: float) -> float:
    """Where the cost reaches `limit` between the best share and the end of the search, by bisection; else that end."""
    if cost(outside) <= limit:
        return outside
    for _ in range(60):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if cost(middle) <= limit else (inside, middle)
    return inside
