"""How simulated acceptances end, beside what their plans print: `python -m tests.bench.acceptances`.

Each one measures speeds and, in a third of the cells, its reference, run by run. The rule is written down once more
here, look by look, as docs/acceptance.md has it; what the product prints comes from its own code."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.stats import nct, t

from aisbench_core.domain.acceptance.decision_rule import FIRST_LOOK, LookPlan, ReferenceSpeed, plan_looks
from aisbench_core.domain.acceptance.risks import StepRates, compute_rates

SHARE, ALPHA, STEPS = 0.95, 0.05, 2
TRUTHS = tuple(round(0.9 + 0.01 * step, 2) for step in range(11))
CVS = (0.005, 0.01, 0.02, 0.03, 0.04)
RUNS = (3, 5, 8, 12, 20)
# Runs that the reference was measured with; 0: a stated number.
REFERENCE_RUNS = (0, 5)
ACCEPTANCES = 60_000
SPEED = 1234.5

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Cell:
    """Acceptances of one kind."""

    truth: float
    cv: float
    runs: int
    reference_runs: int

    @property
    def reference(self) -> ReferenceSpeed:
        """The reference, as a plan has it."""
        count = self.reference_runs
        return ReferenceSpeed(SPEED, self.cv / math.sqrt(count), count - 1) if count else ReferenceSpeed(SPEED)

    @property
    def plan(self) -> LookPlan:
        """The plan of one of STEPS steps."""
        return plan_looks(self.runs, self.cv, SHARE, self.reference, ALPHA, ALPHA / STEPS)

    @property
    def printed(self) -> StepRates:
        """What is printed before launch."""
        return compute_rates(self.plan, self.reference, self.truth)


def simulate_cell(cell: Cell, acceptances: int = ACCEPTANCES, seed: int = 1, cv: float | None = None) -> StepRates:
    """How acceptances end. `cv`: the true one, where it is not the planned one."""
    random, spread, plan = np.random.default_rng(seed), cv or cell.cv, cell.plan
    speeds = SPEED * cell.truth * np.exp(random.normal(0, spread, (acceptances, cell.runs)))
    centre, variance, df = np.full(acceptances, math.log(SPEED)), np.zeros(acceptances), math.inf
    if cell.reference_runs:
        measured = np.log(SPEED * np.exp(random.normal(0, spread, (acceptances, cell.reference_runs))))
        centre, df = measured.mean(axis=1), cell.reference_runs - 1
        variance = measured.var(axis=1, ddof=1) / cell.reference_runs
    passed = failed = 0
    ends: list[int] = []
    for look, runs in enumerate(range(FIRST_LOOK, cell.runs + 1)):
        logs = np.log(speeds[:, :runs])
        own = logs.var(axis=1, ddof=1) / runs
        both = own + variance
        freedom = both**2 / (own**2 / (runs - 1) + variance**2 / df)
        ratio, error = logs.mean(axis=1) - centre, np.sqrt(both)
        passes = ratio - t.isf(plan.pass_levels[look], freedom) * error >= math.log(SHARE)
        fails = ratio + t.isf(plan.fail_levels[look], freedom) * error < math.log(SHARE)
        passed, failed, on = passed + int(passes.sum()), failed + int(fails.sum()), ~(passes | fails)
        ends += [runs] * int((~on).sum() if runs < cell.runs else len(on))
        speeds, centre, variance = speeds[on], centre[on], variance[on]
    return StepRates(cell.truth, passed / acceptances, failed / acceptances, float(np.median(ends)))


def find_fixed_runs(cell: Cell) -> int:
    """The fewest runs of one look at their end that decide pools 1, 2 and 3 % above the limit as often."""
    rates = [(truth, compute_rates(cell.plan, cell.reference, truth).passed) for truth in (0.96, 0.97, 0.98)]
    return next(
        runs
        for runs in range(2, 200)
        if all(_power_of_fixed(runs, truth, cell.cv) >= round(rate, 3) - 0.0005 for truth, rate in rates)
    )


def _power_of_fixed(runs: int, truth: float, cv: float) -> float:
    return float(nct.sf(t.isf(ALPHA, runs - 1), runs - 1, math.log(truth / SHARE) / cv * math.sqrt(runs)))


def iterate_savings() -> Iterator[tuple[Cell, int, float]]:
    """Plans that pass nine of ten pools 2 % above the limit: fixed runs of the same risks, median where it is 3 %."""
    for cv, runs in product(CVS, RUNS):
        cell = Cell(0.98, cv, runs, 0)
        if runs > FIRST_LOOK and compute_rates(cell.plan, cell.reference, 0.97).passed >= 0.9:
            yield cell, find_fixed_runs(cell), simulate_cell(cell).median_runs


@dataclass(frozen=True, slots=True)
class Figures:
    """What all cells come to, as shares. `apart`: the largest distance from what was printed."""

    cells: int
    apart: float
    passed_at_limit: tuple[float, float]
    failed_at_limit: tuple[float, float]


def measure_cells() -> Figures:
    """Simulate every cell."""
    cells = [Cell(*values) for values in product(TRUTHS, CVS, RUNS, REFERENCE_RUNS)]
    found = {cell: simulate_cell(cell, seed=number) for number, cell in enumerate(cells)}
    apart = max(
        max(abs(rates.passed - cell.printed.passed), abs(rates.failed - cell.printed.failed))
        for cell, rates in found.items()
    )
    at_limit = [rates for cell, rates in found.items() if cell.truth == SHARE]
    passed, failed = [one.passed for one in at_limit], [one.failed for one in at_limit]
    return Figures(len(cells), apart, (min(passed), max(passed)), (min(failed), max(failed)))


def main() -> None:
    """Print the largest distance from what was printed, and what looking early saves."""
    figures = measure_cells()
    print(f"{figures.cells} cells of {ACCEPTANCES:,} acceptances; at most {figures.apart:.2%} from the printed rates")
    for verdict, most, (low, high) in (
        ("passed", ALPHA, figures.passed_at_limit),
        ("failed", ALPHA / STEPS, figures.failed_at_limit),
    ):
        print(f"at the limit: {verdict} {low:.2%} to {high:.2%} (planned: {most:.1%})")
    for cell, fixed, median in iterate_savings():
        print(f"CV {cell.cv:.1%}, {cell.runs} runs planned: {median:g} instead of {fixed} ({median / fixed:.0%})")


if __name__ == "__main__":
    main()
