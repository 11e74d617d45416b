"""Student's t distribution, as scipy has it.

scipy is loaded on the first call: it takes a fifth of a second, which commands that test nothing should not pay.
"""

import math


def two_sided_p(t: float, df: float) -> float:
    """How likely a value at least as far from 0 as `t` is, by chance alone."""
    from scipy.special import stdtr

    return float(2 * stdtr(df, -abs(t)))


def critical(alpha: float, df: float) -> float:
    """The t beyond which, on both sides together, a share `alpha` of all values lies."""
    from scipy.special import stdtrit

    return float(stdtrit(df, 1 - alpha / 2))


def power(shift: float, df: float, alpha: float) -> float:
    """How often a two-sided test at `alpha` sees a true difference of `shift` > 0 standard errors (noncentral t)."""
    from scipy.special import nctdtr

    missed = float(nctdtr(df, shift, critical(alpha, df)))
    return 1.0 if math.isnan(missed) else 1 - missed  # scipy gives up where next to nothing is missed


def larger_spread_p(variance: float, df: float, other: float, other_df: float) -> float:
    """How likely a variance is so much larger than another by chance alone (one-sided F test)."""
    from scipy.special import fdtrc

    if other == 0:
        return 0.0 if variance > 0 else 1.0
    return float(fdtrc(df, other_df, variance / other))
