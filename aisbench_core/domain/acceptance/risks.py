"""What an acceptance risks, before it is launched: how often it ends how, and after how many runs, by true speed."""

import math
from dataclasses import dataclass, replace
from functools import lru_cache

from aisbench_core.domain.acceptance.decision_rule import (
    FIRST_LOOK,
    LookPlan,
    ReferenceSpeed,
    find_verdicts,
    simulate_looks,
)

# Points below and above the share to reach of which a plan states its rates; 5 % above 95 % is the reference itself.
DISTANCES = (-0.03, -0.02, -0.01, 0.0, 0.01, 0.02, 0.03, 0.05)


@dataclass(frozen=True, slots=True)
class StepRates:
    """How a step ends whose true ratio to the reference is `truth`: shares of acceptances, and the median of runs."""

    truth: float
    passed: float
    failed: float
    median_runs: float

    @property
    def undecided(self) -> float:
        """The share that the planned runs do not decide."""
        return max(0.0, 1 - self.passed - self.failed)


def list_rates(plan: LookPlan, reference: ReferenceSpeed) -> list[StepRates]:
    """The rates at each of DISTANCES from the share, with the expected coefficient of variation."""
    return [compute_rates(plan, reference, round(plan.share + distance, 9)) for distance in DISTANCES]


@lru_cache(maxsize=1024)
def compute_rates(plan: LookPlan, reference: ReferenceSpeed, truth: float) -> StepRates:
    """The rates at a true ratio of ours to the reference."""
    import numpy as np

    shift = math.log(truth / plan.share) / plan.cv
    looks = simulate_looks(plan.runs, round(reference.uncertainty / plan.cv, 6), reference.freedom)
    verdicts, ends = find_verdicts(replace(looks, estimate=looks.estimate + shift), plan)
    return StepRates(
        truth, float((verdicts == 1).mean()), float((verdicts == -1).mean()), float(np.median(ends)) + FIRST_LOOK
    )
