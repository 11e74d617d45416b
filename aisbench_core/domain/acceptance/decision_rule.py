"""Whether a pool reaches a share of a reference's speed: a group-sequential test, and the levels of its looks.

Speeds are compared as logarithms: of k runs, the mean less the reference's, with a standard error in which the
uncertainty of the reference counts, has Student's t-distribution (Welch and Satterthwaite). After each run from the
third on the rule looks twice, once in either direction:

* passed when the lower one-sided bound of ours ÷ reference is at least the share,
* failed when the upper one is below it.

To look often is to err often, unless the error is spread over the looks. It is spent as alpha x t² (Kim and DeMets,
1987), t being the share of the planned information, which the reference's uncertainty limits. O'Brien and Fleming's
spending keeps nearly everything for the last look, and Student's t with few runs asks for more again, so that it ends
no acceptance early; Pocock's ends early and pays with a tenth of the power. An e-process needs no planned number of
runs, which a budget gives anyway, and more of them for the same risks.

Levels come from 200,000 simulated acceptances at the very limit, with a fixed seed: what happens there depends on
neither speed nor spread, so that no approximation for large samples is needed. A plan keeps its levels."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING

from aisbench_core.base.messages import Message

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

# Fewer runs say nothing about their spread.
FIRST_LOOK = 3

PATHS = 200_000
_SEED = 2026


class StepVerdict(StrEnum):
    """What a measured step comes to."""

    PASSED = "passed"
    FAILED = "failed"
    UNDECIDED = "not decided"

    @property
    def label(self) -> Message:
        """As a text."""
        return _LABELS[self]


_LABELS = {
    StepVerdict.PASSED: Message("passed"),
    StepVerdict.FAILED: Message("failed"),
    StepVerdict.UNDECIDED: Message("not decided"),
}


@dataclass(frozen=True, slots=True)
class ReferenceSpeed:
    """What the pool is compared with, in the unit of its runs.

    `uncertainty`: the standard one as a share of the value, 0 if none is stated.

    `df`: from how many degrees of freedom; None of a stated one, which counts as exact."""

    value: float
    uncertainty: float = 0.0
    df: int | None = None

    @property
    def freedom(self) -> float:
        """The degrees of freedom as a number."""
        return math.inf if self.df is None else self.df

    @classmethod
    def from_runs(cls, values: Sequence[float]) -> "ReferenceSpeed":
        """The geometric mean of two or more runs, which are above 0."""
        from statistics import fmean, stdev

        logs = [math.log(value) for value in values]
        return cls(math.exp(fmean(logs)), stdev(logs) / math.sqrt(len(logs)), len(logs) - 1)


@dataclass(frozen=True, slots=True)
class LookPlan:
    """The looks at a step, from FIRST_LOOK to `runs`. `cv`: the expected one between runs.

    `pass_levels`, `fail_levels`: the one-sided error of the bounds at each look."""

    runs: int
    cv: float
    share: float
    pass_levels: tuple[float, ...]
    fail_levels: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class SpeedDecision:
    """What the runs of a step say: `ratio` of ours to the reference, with its one-sided bounds at the last look.

    None before the first look. After the deciding run, further ones change nothing."""

    verdict: StepVerdict
    runs: int
    ratio: float | None = None
    lower: float | None = None
    upper: float | None = None


@dataclass(frozen=True, slots=True)
class Looks:
    """Statistics at each look (columns) of acceptances (rows): log ratio to the limit, its error and its df."""

    estimate: "Floats"
    error: "Floats"
    df: "Floats"

    @property
    def p_values(self) -> "Floats":
        """The probability of a log ratio as high or higher at the very limit; 1 minus it is that of one as low."""
        import numpy as np
        from scipy.special import stdtr

        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.nan_to_num(self.estimate / self.error, nan=0.0)
        return np.asarray(stdtr(self.df, -t))

    def get_margins(self, levels: Sequence[float]) -> "Floats":
        """How far the one-sided bounds of these levels, one a look, are from the estimates."""
        import numpy as np

        columns = [_get_critical_t(self.df[:, look], levels[look]) for look in range(self.df.shape[1])]
        return np.stack(columns, axis=1) * self.error


def _get_critical_t(df: "Floats", level: float) -> "Floats":
    import numpy as np
    from scipy.special import stdtrit

    least, most = float(df.min()), float(df.max())
    if least == most:
        return np.full(len(df), -float(stdtrit(least, level)))
    # The inverse is slow, and smooth in df: between 1,000 points it is right to six digits.
    points = np.geomspace(least, most, 1000)
    return np.asarray(np.interp(df, points, -stdtrit(points, level)))


def plan_looks(
    runs: int, cv: float, share: float, reference: ReferenceSpeed, pass_alpha: float, fail_alpha: float
) -> LookPlan:
    """The looks at a step of FIRST_LOOK runs or more. `pass_alpha`, `fail_alpha`: the error of each verdict."""
    ratio = round(reference.uncertainty / cv, 6)
    levels = [compute_levels(runs, alpha, ratio, reference.freedom) for alpha in (pass_alpha, fail_alpha)]
    return LookPlan(runs, cv, share, *levels)


def decide_speed(values: Sequence[float], reference: ReferenceSpeed, plan: LookPlan) -> SpeedDecision:
    """What the runs of a step say by the plan, in the order in which they were launched. They are above 0."""
    import numpy as np

    values = values[: plan.runs]
    if len(values) < FIRST_LOOK:
        return SpeedDecision(StepVerdict.UNDECIDED, len(values))
    logs = np.log(np.array([values])) - math.log(reference.value * plan.share)
    looks = compute_looks(logs, reference.uncertainty**2, reference.freedom)
    verdicts, ends = find_verdicts(looks, plan)
    last = int(ends[0])
    below, above = (float(looks.get_margins(levels)[0, last]) for levels in (plan.pass_levels, plan.fail_levels))
    centre = float(looks.estimate[0, last])
    ratios = (plan.share * math.exp(value) for value in (centre, centre - below, centre + above))
    return SpeedDecision(_NAMES[int(verdicts[0])], last + FIRST_LOOK, *ratios)


_NAMES = {1: StepVerdict.PASSED, -1: StepVerdict.FAILED, 0: StepVerdict.UNDECIDED}


def compute_looks(logs: "Floats", variance: "Floats | float", df: float) -> Looks:
    """The looks at log ratios: a row for each acceptance, a column for each run. `variance`: of the reference."""
    import numpy as np

    count = np.arange(1, logs.shape[1] + 1)
    mean = logs.cumsum(axis=1) / count
    # Deviations from the first run, not from 0, keep the digits that squares of large numbers would lose.
    shifted = logs - logs[:, :1]
    squares = (shifted**2).cumsum(axis=1) - shifted.cumsum(axis=1) ** 2 / count
    looks, count = slice(FIRST_LOOK - 1, None), count[FIRST_LOOK - 1 :]
    own = squares[:, looks].clip(min=0) / (count - 1) / count
    foreign = np.reshape(variance, (-1, 1))
    both = own + foreign
    with np.errstate(divide="ignore", invalid="ignore"):
        effective = both**2 / (own**2 / (count - 1) + foreign**2 / df)
    return Looks(mean[:, looks], np.sqrt(both), np.where(both > 0, effective, count - 1))


def find_verdicts(looks: Looks, plan: LookPlan) -> "tuple[NDArray[np.int8], NDArray[np.intp]]":
    """1 passed, -1 failed, 0 not decided; and the look that decided, or else the last one."""
    import numpy as np

    passed = looks.estimate >= looks.get_margins(plan.pass_levels)
    failed = looks.estimate < -looks.get_margins(plan.fail_levels)
    decided = passed | failed
    ends = np.where(decided.any(axis=1), decided.argmax(axis=1), decided.shape[1] - 1)
    rows = np.arange(len(ends))
    return passed[rows, ends].astype(np.int8) - failed[rows, ends].astype(np.int8), ends


@lru_cache(maxsize=64)
def compute_levels(runs: int, alpha: float, ratio: float, df: float) -> tuple[float, ...]:
    """The one-sided level of each look, so that all of them together err with `alpha` at the very limit.

    `ratio`: the reference's standard uncertainty, as a share of the standard deviation of runs."""
    import numpy as np

    p_values = simulate_looks(runs, ratio, df).p_values
    # Mirrored, an acceptance is another one, equally likely.
    p_values = np.concatenate([p_values, 1 - p_values])
    information = 1 / (1 / np.arange(FIRST_LOOK, runs + 1) + ratio**2)
    spent = np.rint(alpha * (information / information[-1]) ** 2 * len(p_values)).astype(int)
    levels = []
    for look, count in enumerate(np.diff(spent, prepend=0)):
        level = float(np.partition(p_values[:, look], count)[count])
        levels.append(level)
        p_values = p_values[p_values[:, look] > level]
    return tuple(levels)


@lru_cache(maxsize=2)
def simulate_looks(runs: int, ratio: float, df: float) -> Looks:
    """Looks at simulated acceptances of pools that are exactly at the limit, in standard deviations of a run."""
    import numpy as np

    random = np.random.default_rng(_SEED)
    logs = random.standard_normal((PATHS // 2, runs))
    variance: Floats | float = 0.0
    if ratio:
        logs -= random.standard_normal((PATHS // 2, 1)) * ratio
        variance = ratio**2 * (random.chisquare(df, PATHS // 2) / df if math.isfinite(df) else 1.0)
    return compute_looks(logs, variance, df)
