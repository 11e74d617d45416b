"""The band in which one more run is expected, from runs of the same configuration and of ones like it.

Values are taken as log-normal, so that a band has no end below 0. Three cases, each an exact t interval if its
assumption holds:

* five or more runs of the configuration: their own mean and spread;
* fewer: their own mean, with the spread pooled over the configurations, whose coefficients of variation are one;
* none: the configurations are a sample of such (versions, pools), whose means scatter as well (random effects).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, variance

from aisbench_core.domain.statistics.student import get_critical_t

ALPHA = 0.05

# Runs from which a spread is known well enough, alone or pooled, and configurations likewise.
ENOUGH_RUNS, ENOUGH_CONFIGURATIONS = 5, 4


@dataclass(frozen=True, slots=True)
class Sample:
    """The runs of a configuration: their number, mean above 0 and standard deviation, which is 0 for a single one."""

    count: int
    mean: float
    sd: float = 0.0

    def leave_out(self, value: float) -> "Sample | None":
        """The same without one of its values; None without any other."""
        if self.count < 2:
            return None
        rest = self.count - 1
        mean = (self.count * self.mean - value) / rest
        squares = self.sd**2 * rest - (value - self.mean) * (value - mean)
        return Sample(rest, mean, math.sqrt(max(0.0, squares / (rest - 1)))) if rest > 1 else Sample(1, mean)

    @property
    def log_variance(self) -> float:
        """Of the logarithms."""
        return math.log1p((self.sd / self.mean) ** 2)

    @property
    def log_mean(self) -> float:
        """Of the logarithms."""
        return math.log(self.mean) - self.log_variance / 2


@dataclass(frozen=True, slots=True)
class Band:
    """A 95 % prediction interval of one more value."""

    low: float
    """Lower end, in the unit of the values."""
    middle: float
    """The value in its middle, by ratio, in the unit of the values."""
    high: float
    """Upper end, in the unit of the values."""
    runs: int
    """Runs that it is made of."""
    configurations: int
    """Configurations that these runs are of."""


def predict_band(own: Sample | None, others: Sequence[Sample] = ()) -> Band | None:
    """The band of one more run of a configuration; None without enough data.

    `own`: its runs, if there are any. `others`: those of configurations like it."""
    if own and own.count >= ENOUGH_RUNS:
        return _make_band(own.log_mean, own.log_variance * (1 + 1 / own.count), own.count - 1, [own])
    samples = [*([own] if own else []), *others]
    df = sum(sample.count - 1 for sample in samples)
    within = sum(sample.log_variance * (sample.count - 1) for sample in samples) / df if df else 0.0
    if own and df >= ENOUGH_RUNS - 1:
        return _make_band(own.log_mean, within * (1 + 1 / own.count), df, samples)
    if own or len(others) < ENOUGH_CONFIGURATIONS:
        return None
    means, share = [sample.log_mean for sample in others], fmean(1 / sample.count for sample in others)
    between, beside = variance(means) * (1 + 1 / len(means)), within * (1 - share)
    spread = between**2 / (len(means) - 1) + (beside**2 / df if df else 0.0)
    satterthwaite = (between + beside) ** 2 / spread if spread else math.inf
    return _make_band(fmean(means), between + beside, satterthwaite, others)


def _make_band(centre: float, squared: float, df: float, samples: Sequence[Sample]) -> Band:
    margin = get_critical_t(ALPHA, df) * math.sqrt(squared)
    low, middle, high = (math.exp(centre + side) for side in (-margin, 0.0, margin))
    return Band(low, middle, high, sum(sample.count for sample in samples), len(samples))
