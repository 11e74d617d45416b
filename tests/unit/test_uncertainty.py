"""Measurement uncertainty and conformity, against figures computed by hand and published ones."""

import math
from statistics import stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aisbench_core.domain.statistics.uncertainty import (
    Conformity,
    DecisionRule,
    Uncertainty,
    decide_conformity,
    estimate_uncertainty,
)

VALUES = st.lists(st.floats(1, 1e6), min_size=2, max_size=12)


def test_the_budget_of_four_runs_is_the_one_computed_by_hand() -> None:
    found = estimate_uncertainty([98.0, 100.0, 102.0, 100.0], [[49.0, 51.0]] * 4, clock_share=0.01)

    assert found.value == 100
    assert found.between_runs == pytest.approx(math.sqrt(8 / 3) / 2)
    assert found.between_nodes == pytest.approx(100 * (math.sqrt(2) / 50) / math.sqrt(2))
    assert found.clock == pytest.approx(1 / math.sqrt(3))
    assert found.standard == pytest.approx(math.sqrt(8 / 12 + 4 + 1 / 3))
    # Welch–Satterthwaite: 5² / ((8/12)² / 3 + 4² / 4) with the clock's share of u known exactly.
    assert found.df == pytest.approx(25 / ((8 / 12) ** 2 / 3 + 16 / 4))


def test_without_nodes_and_clock_it_is_students_interval_of_the_mean() -> None:
    values = [7.0, 8.0, 9.5]

    found = estimate_uncertainty(values)

    assert found.expanded == pytest.approx(4.30265273 * stdev(values) / math.sqrt(3))
    assert (found.between_nodes, found.clock) == (None, None)


def test_a_single_run_has_no_uncertainty_and_no_statement() -> None:
    found = estimate_uncertainty([7.0], [[3.0, 4.0]], 0.1)

    assert (found.standard, found.expanded) == (None, None)
    assert decide_conformity(found, 5.0, DecisionRule.GUARDED) is None


@pytest.mark.parametrize(
    ("value", "guarded", "simple"),
    [
        (103.0, Conformity.PASS, Conformity.PASS),
        (101.0, Conformity.CONDITIONAL_PASS, Conformity.PASS),
        (99.0, Conformity.CONDITIONAL_FAIL, Conformity.FAIL),
        (97.0, Conformity.FAIL, Conformity.FAIL),
    ],
)
def test_the_guard_band_is_as_wide_as_u(value: float, guarded: Conformity, simple: Conformity) -> None:
    found = Uncertainty(value, between_runs=1.0, runs_df=10**9)  # U is 1.96

    assert [
        statement.verdict
        for statement in (decide_conformity(found, 100.0, rule) for rule in (DecisionRule.GUARDED, DecisionRule.SIMPLE))
        if statement
    ] == [guarded, simple]


def test_the_risk_is_the_normal_tail_for_many_runs() -> None:
    statement = decide_conformity(Uncertainty(101.0, between_runs=1.0, runs_df=10**9), 100.0, DecisionRule.SIMPLE)

    assert statement
    assert statement.risk == pytest.approx(0.158655, abs=1e-5)


@given(VALUES, st.floats(1, 1e6))
def test_a_guarded_statement_is_wrong_in_at_most_one_of_forty(values: list[float], limit: float) -> None:
    statement = decide_conformity(estimate_uncertainty(values), limit, DecisionRule.GUARDED)

    assert statement
    if statement.verdict in (Conformity.PASS, Conformity.FAIL):
        assert statement.risk <= 0.025 + 1e-9
    assert 0 <= statement.risk <= 0.5
