"""What groups that are judged together tell of each other's spread: moderated t (Smyth, 2004, as in limma)."""

import math
from collections.abc import Sequence
from dataclasses import replace

from aisbench_core.domain.statistics.difference import MeanDifference, TTest, build_difference
from aisbench_core.domain.statistics.student import two_sided_p

# Groups from which their common spread is estimated.
MIN_GROUPS = 8

# As many degrees of freedom as a common spread adds at most.
MAX_PRIOR_DF = 1000.0


def moderate_differences(differences: Sequence[MeanDifference | None]) -> list[MeanDifference | None]:
    """The differences of one metric in many groups, in the same order; those of a pooled t test with the spread between
    their own and the common one. The more alike the groups vary, the more the common one counts."""
    pooled = [each for each in differences if each and _is_pooled(each)]
    if len(pooled) < MIN_GROUPS:
        return list(differences)
    variance, df = _estimate_prior(pooled)
    return [_moderate_difference(each, variance, df) if each and _is_pooled(each) else each for each in differences]


def _is_pooled(difference: MeanDifference) -> bool:
    return difference.test is TTest.POOLED and difference.design is not None and difference.design.cv > 0


def _estimate_prior(pooled: Sequence[MeanDifference]) -> tuple[float, float]:
    """The common variance of one unit, and how many degrees of freedom it is worth: by the moments of ln variance."""
    import numpy as np
    from scipy.optimize import brentq
    from scipy.special import digamma, polygamma

    designs = [each.design for each in pooled if each.design]
    half = np.array([design.df / 2 for design in designs])
    logs = np.log([design.cv**2 for design in designs]) - digamma(half) + np.log(half)
    between = float(logs.var(ddof=1) - polygamma(1, half).mean())
    df = MAX_PRIOR_DF
    if between > polygamma(1, MAX_PRIOR_DF / 2):
        df = 2 * float(brentq(lambda each: polygamma(1, each) - between, 1e-3, MAX_PRIOR_DF / 2))
    return math.exp(float(logs.mean()) + float(digamma(df / 2)) - math.log(df / 2)), df


def _moderate_difference(difference: MeanDifference, variance: float, prior_df: float) -> MeanDifference:
    own = difference.design
    if own is None:
        return difference
    df = own.df + prior_df
    cv = math.sqrt((own.df * own.cv**2 + prior_df * variance) / df)
    design = replace(own, cv=cv, error=own.error * cv / own.cv, df=df)
    p_value = two_sided_p(difference.change / design.error, df)
    return build_difference(difference.change, p_value, TTest.MODERATED, design, difference.unit)
