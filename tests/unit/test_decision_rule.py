"""The decision rule of acceptances: what it decides, when, and that it errs as often as it says."""

import math
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aisbench_core.domain.acceptance.decision_rule import (
    FIRST_LOOK,
    ReferenceSpeed,
    StepVerdict,
    decide_speed,
    plan_looks,
)
from aisbench_core.domain.acceptance.risks import DISTANCES, compute_rates, list_rates
from tests.bench.acceptances import SHARE, Cell, find_fixed_runs, simulate_cell

STATED = ReferenceSpeed(100.0)
PLAN = plan_looks(8, 0.01, SHARE, STATED, 0.05, 0.05)
SIMULATED = 60_000
POINT = 0.01

speeds = st.lists(st.floats(80, 120), min_size=1, max_size=8)


def test_a_pool_as_fast_as_the_reference_passes_after_three_runs() -> None:
    decision = decide_speed([99.8, 100.4, 100.1], STATED, PLAN)

    assert (decision.verdict, decision.runs) == (StepVerdict.PASSED, 3)
    assert decision.lower
    assert SHARE <= decision.lower < 1


def test_a_pool_that_is_a_tenth_too_slow_fails() -> None:
    decision = decide_speed([90.2, 89.8, 90.1], STATED, PLAN)

    assert decision.verdict is StepVerdict.FAILED
    assert decision.upper
    assert decision.upper < SHARE


def test_near_the_limit_nothing_is_decided_however_many_runs_there_are() -> None:
    decision = decide_speed([95.1, 94.8, 95.4, 94.9, 95.2, 94.7, 95.0, 95.1], STATED, PLAN)

    assert (decision.verdict, decision.runs) == (StepVerdict.UNDECIDED, 8)


def test_one_or_two_runs_say_nothing() -> None:
    for values in ([], [120.0], [120.0, 121.0]):
        assert decide_speed(values, STATED, PLAN).verdict is StepVerdict.UNDECIDED
        assert decide_speed(values, STATED, PLAN).lower is None


def test_what_comes_after_the_deciding_run_changes_nothing() -> None:
    first = [99.8, 100.4, 100.1]

    assert decide_speed([*first, 60.0, 50.0], STATED, PLAN) == decide_speed(first, STATED, PLAN)


def test_a_reference_that_is_not_sure_itself_decides_less() -> None:
    values = [97.9, 98.3, 98.1]
    unsure = ReferenceSpeed(100.0, uncertainty=0.02)
    plan = plan_looks(8, 0.01, SHARE, unsure, 0.05, 0.05)

    assert decide_speed(values, STATED, PLAN).verdict is StepVerdict.PASSED
    assert decide_speed(values, unsure, plan).verdict is StepVerdict.UNDECIDED


def test_the_reference_of_runs_is_their_geometric_mean_with_its_standard_error() -> None:
    reference = ReferenceSpeed.from_runs([99.0, 101.0, 100.0, 100.0])

    assert reference.value == pytest.approx(99.9975, abs=1e-4)
    assert reference.uncertainty == pytest.approx(0.008165 / 2, abs=1e-5)
    assert reference.df == 3


@given(speeds)
def test_the_bounds_and_the_verdict_say_the_same(values: list[float]) -> None:
    decision = decide_speed(values, STATED, PLAN)

    if decision.lower is None or decision.upper is None or decision.ratio is None:
        assert len(values) < FIRST_LOOK
        return
    assert decision.lower <= decision.ratio <= decision.upper
    rounding = 1e-12
    if decision.verdict is StepVerdict.PASSED:
        assert decision.lower >= SHARE - rounding
    elif decision.verdict is StepVerdict.FAILED:
        assert decision.upper < SHARE + rounding
    else:
        assert decision.lower < SHARE + rounding
        assert decision.upper >= SHARE - rounding


@given(speeds, st.floats(1.0, 1.2))
def test_faster_runs_never_turn_a_pass_into_a_failure(values: list[float], factor: float) -> None:
    faster = [value * factor for value in values]

    if decide_speed(values, STATED, PLAN).verdict is StepVerdict.PASSED:
        assert decide_speed(faster, STATED, PLAN).verdict is not StepVerdict.FAILED


def test_looking_early_costs_no_honesty() -> None:
    """At the very limit all looks together err as often as one."""
    plan = plan_looks(20, 0.02, SHARE, STATED, 0.05, 0.025)
    rates = compute_rates(plan, STATED, SHARE)

    assert rates.passed == pytest.approx(0.05, abs=0.002)
    assert rates.failed == pytest.approx(0.025, abs=0.002)
    spent = list(accumulate(plan.pass_levels))
    assert spent[0] < 0.05 < spent[-1]  # looks overlap, so that their levels add up to more


@pytest.mark.parametrize("reference_runs", [0, 5])
@pytest.mark.parametrize(("cv", "runs"), [(0.01, 3), (0.02, 8)])
@pytest.mark.parametrize("truth", [0.94, 0.95, 0.98])
def test_acceptances_end_as_often_as_their_plan_prints(truth: float, cv: float, runs: int, reference_runs: int) -> None:
    cell = Cell(truth, cv, runs, reference_runs)

    found, printed = simulate_cell(cell, SIMULATED), cell.printed

    assert found.passed == pytest.approx(printed.passed, abs=POINT)
    assert found.failed == pytest.approx(printed.failed, abs=POINT)


@pytest.mark.parametrize("cv", [0.005, 0.04])
@pytest.mark.parametrize("reference_runs", [0, 5])
def test_the_risk_of_a_pool_at_the_limit_holds_whatever_its_spread(cv: float, reference_runs: int) -> None:
    found = simulate_cell(Cell(SHARE, 0.02, 8, reference_runs), SIMULATED, cv=cv)

    assert found.passed < 0.05 + POINT / 2
    assert found.failed < 0.025 + POINT / 2


def test_a_single_acceptance_is_decided_as_the_simulated_ones_are() -> None:
    cell, random = Cell(0.97, 0.02, 12, 0), np.random.default_rng(3)
    plan, reference = cell.plan, cell.reference

    verdicts = [
        decide_speed(list(reference.value * 0.97 * np.exp(random.normal(0, 0.02, 12))), reference, plan)
        for _ in range(1000)
    ]

    passed = sum(one.verdict is StepVerdict.PASSED for one in verdicts) / len(verdicts)
    assert passed == pytest.approx(cell.printed.passed, abs=0.05)


@pytest.mark.parametrize(("cv", "runs"), [(0.01, 8), (0.02, 20)])
def test_a_pool_three_percent_from_the_limit_is_decided_in_sixty_percent_of_the_fixed_runs(
    cv: float, runs: int
) -> None:
    cell = Cell(0.98, cv, runs, 0)

    assert simulate_cell(cell, SIMULATED).median_runs <= 0.6 * find_fixed_runs(cell)


def test_rates_are_printed_for_pools_too_slow_and_good_ones() -> None:
    rates = list_rates(PLAN, STATED)

    assert [round(rate.truth - SHARE, 3) for rate in rates] == list(DISTANCES)
    assert [rate.passed for rate in rates] == sorted(rate.passed for rate in rates)
    assert all(math.isclose(rate.passed + rate.failed + rate.undecided, 1) for rate in rates)
