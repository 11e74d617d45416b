"""Stopping early costs no honesty: intervals hold at whichever run somebody stops. Few runs find a step."""

import math
import random
from itertools import count
from statistics import fmean

import pytest

from aisbench_core.domain.statistics.bisection import locate_step, rank_versions
from aisbench_core.domain.statistics.sequential import (
    FEWEST,
    anytime_change,
    anytime_margin,
    anytime_t,
    narrow_margin,
)
from aisbench_core.domain.statistics.student import get_critical_t

SERIES = 800


def draw(made: random.Random, cv: float, level: float = 200.0) -> float:
    return level * math.exp(made.gauss(0, cv))


@pytest.mark.parametrize("cv", [0.005, 0.015, 0.02])
def test_an_interval_that_was_run_until_it_is_narrow_still_holds_the_mean(cv: float) -> None:
    made, held = random.Random(3), 0

    for _ in range(SERIES):
        values = [draw(made, cv) for _ in range(FEWEST)]
        while (margin := narrow_margin(values)) and margin > 0.01 and len(values) < 100:
            values.append(draw(made, cv))
        held += abs(fmean(map(math.log, values)) - math.log(200)) <= (margin or 0)

    assert held / SERIES >= 0.94 - 2 * math.sqrt(0.95 * 0.05 / SERIES)


def test_equal_versions_are_rarely_called_different_however_often_one_looks() -> None:
    made, alarms = random.Random(5), 0

    for _ in range(400):
        sides: tuple[list[float], list[float]] = ([], [])
        for _ in range(30):
            for side in sides:
                side.append(draw(made, 0.01))
            found = anytime_change(*sides)
            if found and not found[1] <= 0 <= found[2]:
                alarms += 1
                break

    assert alarms / 400 <= 0.05


def test_a_drop_of_three_percent_is_told_in_few_runs_of_each() -> None:
    made, used = random.Random(5), []

    for _ in range(200):
        sides: tuple[list[float], list[float]] = ([], [])
        for runs in count(1):
            sides[0].append(draw(made, 0.01))
            sides[1].append(draw(made, 0.01, 194.0))
            found = anytime_change(*sides)
            if found and found[2] < 0:
                used.append(runs)
                break

    assert fmean(used) < 6


def test_the_price_of_looking_always_is_a_wider_interval_that_narrows_like_any_other() -> None:
    ratios = [anytime_t(runs, runs - 1) / get_critical_t(0.05, runs - 1) for runs in (5, 10, 30, 100)]

    assert all(1 < ratio < 2.2 for ratio in ratios)
    assert math.isinf(anytime_t(2, 1))
    values = [200.0, 201.0, 199.0, 200.5, 199.5]
    assert (anytime_margin(values) or 0) > (narrow_margin(values) or 0)


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 0.0], [1.0, -1.0]])
def test_there_is_no_margin_without_two_values_above_zero(values: list[float]) -> None:
    assert narrow_margin(values) is None
    assert anytime_margin(values) is None
    assert anytime_change(values, [1.0, 2.0]) is None


def test_all_runs_place_the_step_and_equal_values_do_not_break_it() -> None:
    samples = [[200.0, 201.0, 200.5], [], [200.4], [194.0], [], [194.3, 193.8]]

    chances = locate_step(samples)

    assert sum(chances) == pytest.approx(1)
    assert chances[0] == 0
    assert chances.index(max(chances)) == 3
    assert locate_step([[1.0, 1.0], [1.0], [1.0]]) == pytest.approx([0, 0.5, 0.5], abs=0.1)


def test_the_version_in_the_middle_tells_most_and_those_that_are_sure_tell_nothing() -> None:
    assert rank_versions([0, 0.25, 0.25, 0.25, 0.25])[0] == 2
    assert rank_versions([0, 0.25, 0.25, 0.25, 0.25], active=[2])[-1] == 2
    assert rank_versions([0, 0.01, 0.5, 0.49]) == [2]
