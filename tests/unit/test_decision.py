"""Which test decides on two sets of runs: by the days they ran on, their outliers, trends and dependence."""

from collections.abc import Sequence
from datetime import timedelta

import numpy as np
import pytest

from aisbench_core.domain.statistics.decision import TimedValue, compare_runs, count_looks, to_units
from aisbench_core.domain.statistics.difference import MeanDifference, TTest, Unit, compare_means
from aisbench_core.domain.statistics.pooling import moderate_differences
from aisbench_core.domain.statistics.steps import find_steps, follows_line
from tests.records import T0


def noise(seed: int, count: int, level: float = 100.0, sd: float = 1.0) -> list[float]:
    return list(np.random.default_rng(seed).normal(level, sd, count))


def timed(values: Sequence[float], days: Sequence[int] = (), start: int = 0) -> list[TimedValue]:
    """A minute apart, on these days or on one."""
    where = days or [0] * len(values)
    return [
        TimedValue(value, T0 + timedelta(days=day, minutes=start + place))
        for place, (value, day) in enumerate(zip(values, where, strict=True))
    ]


def compare(old: Sequence[TimedValue], new: Sequence[TimedValue]) -> MeanDifference:
    found = compare_runs(old, new)
    assert found
    return found


def test_independent_runs_of_one_day_are_compared_by_t() -> None:
    old, new = noise(1, 20), noise(2, 3, level=97)

    assert compare(timed(old), timed(new, start=20)) == compare_means(old, new)


def test_every_night_one_run_makes_the_run_the_unit() -> None:
    old, new = noise(1, 20), noise(2, 3, level=97)

    found = compare(timed(old, range(20)), timed(new, range(20, 23)))

    assert (found.test, found.unit) == (TTest.POOLED, Unit.RUN)


def test_days_with_several_runs_are_the_unit() -> None:
    days = [day for day in range(6) for _ in range(5)]
    level = np.repeat(noise(3, 6, level=0, sd=2), 5)
    old, new = np.array(noise(1, 30)) + level, np.array(noise(2, 5)) - 3

    found = compare(timed(list(old), days), timed(list(new), [6] * 5))

    assert found.unit is Unit.DAY
    assert found.design
    assert (found.design.baseline, found.design.candidate) == (6, 1)
    plain = compare_means(list(old), list(new))
    assert plain
    assert found.p_value > 0.1 > plain.p_value


@pytest.mark.parametrize(("drop", "decided"), [(0.03, False), (0.1, True)])
def test_a_day_a_version_decides_only_on_more_than_days_make(drop: float, decided: bool) -> None:
    found = compare(timed(noise(1, 5)), timed(noise(2, 5, level=100 * (1 - drop)), [1] * 5))

    assert found.is_confounded
    assert (found.p_value < 0.01) == decided


def test_versions_that_ran_on_the_same_days_are_told_from_them() -> None:
    days = [0, 0, 1, 1, 2, 2]
    level = np.repeat([0.0, 8.0, -6.0], 2)
    old, new = np.array(noise(1, 6, sd=0.5)) + level, np.array(noise(2, 6, level=97, sd=0.5)) + level

    found = compare(timed(list(old), days), timed(list(new), days, start=10))

    assert found.test is TTest.WITHIN_DAYS
    assert found.p_value < 0.001
    assert found.change == pytest.approx(-0.03, abs=0.01)


def test_outliers_leave_the_word_to_a_rank_test() -> None:
    old, new = noise(1, 20), noise(2, 3, level=97)
    old[3], old[11] = 88.0, 86.0

    found, plain = compare(timed(old), timed(new, start=20)), compare_means(old, new)

    assert plain
    assert plain.p_value > 0.1
    assert found.test is TTest.PERMUTATION
    assert found.p_value <= 0.01
    many = compare(timed(old), timed(noise(2, 10, level=97), start=20))
    assert many.test is TTest.RANK_SUM
    assert many.p_value < 0.001


def test_runs_that_drift_are_compared_beyond_their_line() -> None:
    values = np.array(noise(4, 26)) - 0.3 * np.arange(26)

    found = compare(timed(list(values[:20])), timed(list(values[20:]), start=20))

    assert found.test is TTest.TREND
    assert found.p_value > 0.05


def test_runs_that_depend_on_the_one_before_have_a_larger_error() -> None:
    luck = np.random.default_rng(8)
    values = [0.0]
    for fresh in luck.normal(0, 0.6, 40):
        values.append(0.8 * values[-1] + fresh)
    old, new = [100 + value for value in values[:30]], [100 + value for value in values[30:]]

    found, plain = compare(timed(old), timed(new, start=30)), compare_means(old, new)

    assert plain
    assert plain.design
    assert found.design
    assert found.test is TTest.CORRELATED
    assert found.design.error > 1.5 * plain.design.error


def test_a_line_is_a_trend_and_no_step() -> None:
    drifting = [value - 0.15 * place for place, value in enumerate(noise(5, 40))]

    assert follows_line(drifting)
    assert find_steps(drifting) == ()
    assert not follows_line(noise(5, 40))
    assert not follows_line(noise(5, 20) + noise(6, 20, level=95))


def test_more_days_are_more_looks() -> None:
    assert count_looks(timed(noise(1, 9))) == 1
    assert count_looks(timed(noise(1, 9), range(9))) == pytest.approx(1 + 2 * np.log(9))
    assert count_looks([]) == 1


def test_units_are_runs_unless_several_days_have_several() -> None:
    assert to_units(timed([1.0, 3.0, 5.0], [0, 0, 1])) == [(0, 2.0), (2, 5.0)]
    assert to_units(timed([1.0, 3.0], [0, 1])) == [(0, 1.0), (1, 3.0)]
    assert to_units(timed([1.0, 3.0])) == [(0, 1.0), (1, 3.0)]


def test_groups_that_vary_alike_share_their_spread() -> None:
    luck = np.random.default_rng(9)
    groups = [
        compare_means(list(luck.normal(100, 1, 3)), list(luck.normal(94 if n == 0 else 100, 1, 3))) for n in range(40)
    ]

    shared = moderate_differences(groups)

    assert {each.test for each in shared if each} == {TTest.MODERATED}
    assert shared[0]
    assert shared[0].p_value < 0.01
    cvs = [[each.design.cv for each in found if each and each.design] for found in (groups, shared)]
    assert np.std(cvs[1]) < 0.3 * np.std(cvs[0])
    assert moderate_differences(groups[:7]) == groups[:7], "too few groups tell nothing"


def test_groups_that_vary_differently_keep_their_own() -> None:
    luck = np.random.default_rng(9)
    spreads = [10.0 ** (n / 8 - 2) for n in range(24)]
    groups = [compare_means(list(luck.normal(100, sd, 20)), list(luck.normal(100, sd, 20))) for sd in spreads]

    for before, after in zip(groups, moderate_differences(groups), strict=True):
        assert before
        assert after
        assert before.design
        assert after.design
        assert after.design.cv == pytest.approx(before.design.cv, rel=0.4)
