"""Acceptances end as often as their plans print, and early: all cells of tests/bench/acceptances.py."""

from tests.bench.acceptances import ALPHA, STEPS, iterate_savings, measure_cells

POINT = 0.01
MOST_SAVED = 0.6


def test_risks_hold_in_every_cell() -> None:
    figures = measure_cells()

    assert figures.apart <= POINT
    assert figures.passed_at_limit[1] <= ALPHA + POINT / 2
    assert figures.failed_at_limit[1] <= ALPHA / STEPS + POINT / 2


def test_a_pool_three_percent_above_the_limit_is_decided_early() -> None:
    assert [cell for cell, fixed, median in iterate_savings() if median > MOST_SAVED * fixed] == []
