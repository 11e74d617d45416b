"""Measurement uncertainty (JCGM 100) and conformity with a limit (JCGM 106, ILAC-G8)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean, stdev

from aisbench_core.domain.statistics.student import get_critical_t


@dataclass(frozen=True, slots=True)
class Uncertainty:
    """A mean with its budget: standard uncertainties in its unit. None is a part that was not measured.

    `between_runs`: of the mean of repeats; `between_nodes`: what other nodes of the same kind would change; `clock`: an
    upper bound."""

    value: float
    between_runs: float | None = None
    between_nodes: float | None = None
    clock: float | None = None
    runs_df: int = 0
    nodes_df: int = 0

    @property
    def standard(self) -> float | None:
        """The combined standard uncertainty; None without repeats, of which it is mainly made."""
        if self.between_runs is None:
            return None
        return math.hypot(*(part for part in (self.between_runs, self.between_nodes, self.clock) if part is not None))

    @property
    def df(self) -> float:
        """The effective degrees of freedom (Welch and Satterthwaite); infinite if nothing varies."""
        parts = ((self.between_runs, self.runs_df), (self.between_nodes, self.nodes_df))
        spread = sum(part**4 / df for part, df in parts if part and df)
        combined = self.standard
        return combined**4 / spread if combined and spread else math.inf

    @property
    def coverage_factor(self) -> float:
        """What the standard uncertainty is multiplied by for a coverage of 95 %."""
        return get_critical_t(0.05, self.df)

    @property
    def expanded(self) -> float | None:
        """The expanded uncertainty U, for a coverage of 95 %."""
        return None if self.standard is None else self.coverage_factor * self.standard


def estimate_uncertainty(
    values: Sequence[float], nodes: Sequence[Sequence[float]] = (), clock_share: float | None = None
) -> Uncertainty:
    """The uncertainty of the mean of one or more repeats.

    `nodes`: of each repeat the values of its nodes. `clock_share`: how far, as a share, clocks can make a value wrong,
    each size up to it equally likely."""
    mean, count = fmean(values), len(values)
    measured = [each for each in nodes if len(each) > 1 and fmean(each) > 0]
    shares = [stdev(each) ** 2 / fmean(each) ** 2 / len(each) for each in measured]
    return Uncertainty(
        mean,
        between_runs=stdev(values) / math.sqrt(count) if count > 1 else None,
        between_nodes=abs(mean) * math.sqrt(fmean(shares)) if shares else None,
        clock=None if clock_share is None else abs(mean) * clock_share / math.sqrt(3),
        runs_df=count - 1,
        nodes_df=sum(len(each) - 1 for each in measured),
    )


class DecisionRule(StrEnum):
    """What a statement of conformity rests on."""

    GUARDED = "guarded"
    """A guard band as wide as U: passed if value - U >= limit."""
    SIMPLE = "simple"
    """Simple acceptance: passed if value >= limit."""


class Conformity(StrEnum):
    """What is stated of a value that has to reach a limit; the conditional ones lie in the guard band."""

    PASS = "pass"  # noqa: S105  # no password
    CONDITIONAL_PASS = "conditional_pass"  # noqa: S105  # no password
    CONDITIONAL_FAIL = "conditional_fail"
    FAIL = "fail"

    @property
    def accepts(self) -> bool:
        """Whether the value itself reaches the limit."""
        return self in (Conformity.PASS, Conformity.CONDITIONAL_PASS)


@dataclass(frozen=True, slots=True)
class ConformityStatement:
    """`risk`: the probability, 0 to 1, that the statement is wrong (specific risk of JCGM 106, without a prior)."""

    verdict: Conformity
    risk: float


def decide_conformity(found: Uncertainty, limit: float, rule: DecisionRule) -> ConformityStatement | None:
    """Whether the true value reaches a lower limit; None without an uncertainty."""
    if found.standard is None or found.expanded is None:
        return None
    guard = found.expanded if rule is DecisionRule.GUARDED else 0.0
    if found.value >= limit:
        verdict = Conformity.PASS if found.value - guard >= limit else Conformity.CONDITIONAL_PASS
    else:
        verdict = Conformity.FAIL if found.value + guard < limit else Conformity.CONDITIONAL_FAIL
    return ConformityStatement(verdict, _risk_of(abs(found.value - limit), found.standard, found.df))


def _risk_of(distance: float, standard: float, df: float) -> float:
    """The probability that the true value lies on the other side of the limit."""
    from scipy.special import ndtr, stdtr

    if standard == 0:
        return 0.0
    ratio = -distance / standard
    return float(ndtr(ratio) if math.isinf(df) else stdtr(df, ratio))
