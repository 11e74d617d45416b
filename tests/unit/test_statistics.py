"""Summaries, tests, power and steps: what they say, checked against scipy's own tests and by simulation."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from aisbench_core.domain.statistics.difference import (
    MAX_RUNS,
    TARGET_POWER,
    Reporting,
    TTest,
    adjust_p_values,
    compare_means,
    compute_power,
)
from aisbench_core.domain.statistics.steps import find_likeliest_step, find_steps
from aisbench_core.domain.statistics.summary import Summary, olympic_mean, prediction_interval, summarize_values

QUIET = (100.0, 101.0, 99.0, 100.5, 99.5, 100.2, 99.8)
measured = st.floats(50, 150, allow_subnormal=False)


def noise(seed: int, count: int, level: float = 100.0, sd: float = 1.0) -> list[float]:
    """Measurements around a level."""
    return list(np.random.default_rng(seed).normal(level, sd, count))


# --- summaries --------------------------------------------------------------------------------------


def test_a_summary_is_mean_spread_and_interval() -> None:
    found = summarize_values(QUIET)

    assert found
    low, high = np.exp(stats.t.interval(0.95, len(QUIET) - 1, 0, stats.sem(QUIET) / np.mean(QUIET))) * np.mean(QUIET)
    assert found.count == 7
    assert found.mean == pytest.approx(100)
    assert [found.ci_low, found.ci_high] == pytest.approx([low, high])
    assert found.cv == pytest.approx(np.std(QUIET, ddof=1) / 100)


def test_one_value_has_no_spread_and_none_has_no_summary() -> None:
    one = summarize_values([8000.0])

    assert one
    assert (one.mean, one.sd, one.cv, one.ci_low, one.olympic_mean) == (8000, None, None, None, None)
    assert summarize_values([]) is None


def test_the_olympic_mean_drops_the_best_and_the_worst_from_five_values_on() -> None:
    assert olympic_mean([1, 100, 101, 102, 900]) == 101
    assert olympic_mean([1, 2, 3, 4]) is None


def test_values_without_spread_and_a_mean_of_nothing_are_no_trouble() -> None:
    same, zero = summarize_values([5.0, 5.0]), summarize_values([0.0, 0.0])

    assert same
    assert (same.sd, same.cv, same.ci_low, same.ci_high) == (0, 0, 5, 5)
    assert zero
    assert zero.cv is None


# --- differences ------------------------------------------------------------------------------------


@settings(deadline=None)
@given(st.lists(measured, min_size=3, max_size=12), st.lists(measured, min_size=3, max_size=12))
def test_samples_are_compared_as_student_or_welch_do(one: list[float], other: list[float]) -> None:
    found = compare_means(one, other)

    assert found
    is_pooled = found.test is TTest.POOLED
    if min(np.var(one), np.var(other)) > 1e-3:
        theirs = stats.ttest_ind(other, one, equal_var=is_pooled)
        assert found.p_value == pytest.approx(theirs.pvalue, abs=1e-9)
        shares = stats.ttest_ind(
            np.divide(other, np.mean(other)), np.divide(one, np.mean(one)), equal_var=is_pooled
        ).confidence_interval(0.95)
        ratio, low, high = found.ratio
        assert low == pytest.approx(ratio * np.exp(shares.low), abs=1e-9)
        assert high == pytest.approx(ratio * np.exp(shares.high), abs=1e-9)


def test_few_values_that_clearly_vary_more_do_not_borrow_the_calm_of_many() -> None:
    wild = [80.0, 100.0, 97.0]

    found = compare_means(QUIET * 3, wild)

    assert found
    assert found.test is TTest.WELCH
    assert found.p_value > 0.3


def test_three_runs_that_drop_three_standard_deviations_are_a_difference() -> None:
    found = compare_means(noise(1, 20), [97.0, 96.5, 97.8])

    assert found
    assert found.test is TTest.POOLED
    assert found.p_value < 0.001
    assert found.ci_low < found.change < found.ci_high < 0


def test_values_without_any_spread_differ_surely_or_not_at_all() -> None:
    equal, other = compare_means([5.0] * 3, [5.0] * 3), compare_means([5.0] * 3, [4.0] * 3)

    assert equal
    assert (equal.change, equal.p_value) == (0, 1)
    assert other
    assert other.change == pytest.approx(-0.2)
    assert other.p_value == 0


def test_zeros_everywhere_are_no_difference() -> None:
    found = compare_means([0.0] * 3, [0.0] * 2)

    assert found
    assert (found.change, found.p_value) == (0, 1)


@pytest.mark.parametrize(("one", "other"), [((1.0,), (1.0, 2.0)), ((1.0, 2.0), ()), ((-1.0, 1.0), (1.0, 2.0))])
def test_one_value_or_a_baseline_of_zero_cannot_be_compared(one: Sequence[float], other: Sequence[float]) -> None:
    assert compare_means(one, other) is None


@pytest.mark.parametrize("scale", [1e-90, 1e90])
def test_no_scale_of_numbers_leaves_floating_point(scale: float) -> None:
    found = compare_means([value * scale for value in QUIET], [value * scale * 0.9 for value in QUIET])

    assert found
    assert found.change == pytest.approx(-0.1)
    assert found.p_value < 1e-6


# --- many tests -------------------------------------------------------------------------------------


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_adjusted_p_values_are_benjamini_and_hochbergs(p_values: list[float]) -> None:
    assert adjust_p_values(p_values) == pytest.approx(list(stats.false_discovery_control(p_values)))


def test_nothing_tested_is_nothing_adjusted() -> None:
    assert adjust_p_values([]) == []


@given(st.lists(st.floats(1e-6, 1e6), min_size=2, max_size=12))
def test_a_mean_above_zero_has_no_end_below_it(values: list[float]) -> None:
    found, predicted = summarize_values(values), prediction_interval(values)

    assert found
    assert predicted
    assert found.ci_low is not None
    assert found.ci_high is not None
    assert 0 < found.ci_low <= found.mean * (1 + 1e-12)
    assert found.mean <= found.ci_high * (1 + 1e-12)
    assert 0 < predicted[0] <= found.ci_low * (1 + 1e-12)


def test_an_interval_around_zero_is_symmetric() -> None:
    found = summarize_values([-2.0, 2.0])

    assert found
    assert found.ci_low == pytest.approx(-(found.ci_high or 0))
    assert summarize_values([0.0, 0.0]) == Summary(2, 0.0, 0.0, None, 0.0, 0.0)


def test_values_that_are_hardly_repeats_are_called_scattered() -> None:
    quiet, loud = summarize_values([99.0, 101.0]), summarize_values([30.0, 100.0])

    assert quiet
    assert loud
    assert (quiet.is_scattered, loud.is_scattered) == (False, True)


# --- power ------------------------------------------------------------------------------------------


RULE = Reporting(least=0.01, alpha=0.01)


def test_at_a_spread_of_four_per_mille_two_runs_find_two_percent() -> None:
    found = compute_power(0.004, 0.02, baseline=20, candidate=3, rule=RULE)

    assert (found.runs, found.runs_each) == (2, None)
    assert found.visible
    assert 0.013 < found.visible < 0.014


def test_a_true_change_that_lies_on_the_threshold_is_found_in_half_of_all_cases_only() -> None:
    assert compute_power(0.001, 0.01, baseline=100, candidate=100, rule=RULE).runs is None
    assert 0.48 < _simulated(0.001, 0.01, 100, 100) < 0.52


@pytest.mark.parametrize(("cv", "baseline", "candidate"), [(0.004, 20, 3), (0.01, 8, 8), (0.02, 4, 3)])
def test_what_the_runs_find_is_found_in_ninety_of_a_hundred_cases(cv: float, baseline: int, candidate: int) -> None:
    found = compute_power(cv, 0.02, baseline, candidate, rule=RULE)

    assert found.visible
    assert abs(_simulated(cv, found.visible, baseline, candidate) - TARGET_POWER) < 0.02


@pytest.mark.parametrize(("cv", "baseline"), [(0.008, 20), (0.01, 100), (0.012, 60)])
def test_so_many_runs_find_the_change_and_one_fewer_would_miss_it(cv: float, baseline: int) -> None:
    runs = compute_power(cv, 0.02, baseline, 2, RULE).runs

    assert runs
    assert _simulated(cv, 0.02, baseline, runs) > TARGET_POWER - 0.02
    assert _simulated(cv, 0.02, baseline, runs - 1) < TARGET_POWER + 0.02


def test_a_small_baseline_must_grow_with_the_candidate() -> None:
    found = compute_power(0.02, 0.02, baseline=3, candidate=3, rule=RULE)

    assert found.runs is None
    assert found.runs_each
    assert 30 < found.runs_each < 60


@pytest.mark.parametrize(("baseline", "candidate"), [(1, 20), (20, 1), (0, 5), (5, 0)])
def test_a_side_that_is_not_tested_shows_nothing(baseline: int, candidate: int) -> None:
    assert compute_power(0.001, 0.02, baseline, candidate, RULE).visible is None


def test_one_run_before_is_tested_against_nothing_however_many_come_after() -> None:
    found = compute_power(0.0005, 0.02, baseline=1, candidate=9, rule=RULE)

    assert (found.runs, found.runs_each) == (None, 2)


def test_a_machine_that_is_too_loud_shows_nothing() -> None:
    found = compute_power(0.5, 0.02, baseline=3, candidate=3, rule=RULE)

    assert (found.runs, found.runs_each) == (None, None)
    assert MAX_RUNS < 10_000


def test_a_machine_without_noise_finds_everything_that_is_reported() -> None:
    found = compute_power(0.0, 0.02, baseline=2, candidate=2, rule=RULE)

    assert found.runs == 2
    assert found.visible == pytest.approx(RULE.least)


def _simulated(cv: float, change: float, baseline: int, candidate: int) -> float:
    """How often the change is measured as 1 % or more, and scipy's pooled test finds it significant."""
    made = np.random.default_rng(3)
    one = made.normal(1, cv, (4000, baseline))
    other = made.normal(1 - change, cv, (4000, candidate))
    measured = 1 - other.mean(axis=1) / one.mean(axis=1)
    return float(np.mean((stats.ttest_ind(one, other, axis=1).pvalue <= 0.01) & (measured >= 0.01)))


# --- steps ------------------------------------------------------------------------------------------


def test_a_step_is_found_where_it_is() -> None:
    found = find_steps(noise(5, 40) + noise(6, 12, level=96))

    assert [step.index for step in found] == [40]
    assert found[0].p_value < 1e-6


def test_a_dip_is_two_steps() -> None:
    found = find_steps(noise(5, 30) + noise(6, 6, level=94) + noise(7, 30))

    assert [step.index for step in found] == [30, 36]


@pytest.mark.parametrize("count", [6, 23, 60, 200])
def test_noise_alone_has_steps_in_about_one_series_of_a_hundred(count: int) -> None:
    found = sum(bool(find_steps(noise(seed, count))) for seed in range(300))

    assert found <= 11


def test_the_p_value_of_the_best_split_counts_the_search_for_it() -> None:
    found = [step.p_value for seed in range(400) if (step := find_likeliest_step(noise(seed, 30)))]

    assert len(found) == 400
    assert 4 <= sum(p_value < 0.05 for p_value in found) <= 36


def test_one_outlier_is_no_step() -> None:
    values = noise(2, 40)
    values[20] = 60.0
    values[39] = 150.0

    assert find_steps(values) == ()


def test_values_without_spread_step_where_they_change() -> None:
    assert [step.index for step in find_steps([5.0] * 10 + [4.0] * 4)] == [10]
    assert find_steps([5.0] * 20) == ()
    assert find_steps([0.0] * 20) == ()


@pytest.mark.parametrize("count", range(6))
def test_a_short_series_has_no_steps(count: int) -> None:
    assert find_steps(noise(1, count)) == ()
    assert find_likeliest_step(noise(1, count)) is None


@settings(deadline=None, max_examples=60)
@given(st.lists(st.floats(-1e100, 1e100), max_size=30))
def test_no_numbers_break_the_search(values: list[float]) -> None:
    found = find_steps(values)

    assert all(0 <= step.p_value <= 0.01 and 3 <= step.index <= len(values) - 3 for step in found)
    assert not any(math.isnan(step.p_value) for step in found)
