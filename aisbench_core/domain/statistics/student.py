"""Student's t and related distributions, from scipy.

scipy is imported on the first call: it takes 0.2 s, which most commands need not pay.
"""

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# critical(0.05, df) for 1 to 60 degrees of freedom, for SQL, which has no such function.
T95 = (
    12.7062047361747, 4.30265272974946, 3.18244630528371, 2.77644510519779, 2.57058183563631, 2.44691185114498,
    2.36462425159278, 2.30600413520417, 2.2621571627982, 2.22813885198627, 2.20098516009164, 2.17881282966723,
    2.16036865646279, 2.1447866879178, 2.13144954555978, 2.11990529922125, 2.10981557783332, 2.10092204024104,
    2.09302405440831, 2.08596344726586, 2.07961384472768, 2.07387306790403, 2.06865761041905, 2.06389856162802,
    2.0595385527533, 2.05552943864287, 2.05183051648028, 2.04840714179525, 2.0452296421327, 2.04227245630124,
    2.03951344639641, 2.0369333434601, 2.03451529744934, 2.03224450931772, 2.03010792825034, 2.02809400098045,
    2.02619246302911, 2.02439416391197, 2.02269092003676, 2.02107539030627, 2.01954097044138, 2.01808170281844,
    2.01669219922782, 2.01536757444376, 2.01410338888085, 2.01289559891943, 2.01174051372977, 2.01063475762423,
    2.00957523712924, 2.00855911210076, 2.00758377031584, 2.00664680506169, 2.00574599531787, 2.00487928818806,
    2.00404478328915, 2.00324071884787, 2.00246545929101, 2.00171748414524, 2.00099537808827, 2.00029782201426,
)  # fmt: skip

# For more: the first terms of its series in 1 / df (Abramowitz and Stegun, 26.7.5), accurate to 5e-10.
T95_BEYOND = (1.959963984540054, 2.372271230298562, 2.822498615739611, 2.555849679507722, 1.589534053393822)


def two_sided_p(t: float, df: float) -> float:
    """The probability of a value at least as far from 0 as `t`."""
    from scipy.special import stdtr

    return float(2 * stdtr(df, -abs(t)))


def normal_p(z: float) -> float:
    """The probability of a normal value at least as far from 0 as `z`."""
    from scipy.special import ndtr

    return float(2 * ndtr(-abs(z)))


def get_critical_t(alpha: float, df: float) -> float:
    """The two-sided critical value of t."""
    from scipy.special import stdtrit

    return float(stdtrit(df, 1 - alpha / 2))


# Points of the chi-squared distribution over which `power_of_t` averages; accurate to 0.001.
QUADRATURE = 400

# Every so many of them stands for its neighbours where an estimated error is averaged over.
ESTIMATES = 25


def power_of_t(shift: float, least: float, df: int, alpha: float) -> float:
    """The probability that a true difference of `shift` > 0 is measured as `least` or more and significant at `alpha`.

    Differences are in standard errors. Given the estimated standard deviation, both conditions are one bound on a
    normal variable; its probability is averaged over the chi-squared distribution of the estimate."""
    from scipy.special import ndtr

    bounds = _compute_spreads(df) * get_critical_t(alpha, df)
    return float(ndtr(shift - bounds.clip(min=least)).mean())


def expected_power(change: float, least: float, error: float, df: int, alpha: float, error_df: float) -> float:
    """As `power_of_t`, for an error that is an estimate with `error_df` degrees of freedom: averaged over what it may
    truly be."""
    import numpy as np
    from scipy.special import ndtr

    errors = error / _compute_spreads(max(1, round(error_df)))[ESTIMATES // 2 :: ESTIMATES, np.newaxis]
    bounds = _compute_spreads(df)[np.newaxis, :] * get_critical_t(alpha, df)
    return float(ndtr(change / errors - np.maximum(bounds, least / errors)).mean())


@lru_cache(maxsize=512)
def _compute_spreads(df: int) -> "NDArray[np.float64]":
    """Estimated over true standard deviation, at equally probable points."""
    import numpy as np
    from scipy.special import chdtri

    shares = (np.arange(QUADRATURE) + 0.5) / QUADRATURE
    return np.asarray(np.sqrt(chdtri(df, shares) / df))


def larger_spread_p(variance: float, df: float, other: float, other_df: float) -> float:
    """The p-value of `variance` being larger than `other` (one-sided F test)."""
    from scipy.special import fdtrc

    if other == 0:
        return 0.0 if variance > 0 else 1.0
    return float(fdtrc(df, other_df, variance / other))
