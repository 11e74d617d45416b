"""Intervals of ratios: positive, whatever the noise, and right as often as they promise."""

import numpy as np
import pytest

from aisbench_core.domain.statistics.difference import compare_means


def test_a_ratio_of_throughputs_is_never_negative_however_few_runs_there_are() -> None:
    found = compare_means([8000.0, 9500.0], [3000.0, 6000.0])

    assert found
    ratio, low, high = found.ratio
    assert 0 < low < ratio < high
    assert low * high == pytest.approx(ratio**2)


def test_a_candidate_of_mean_zero_has_an_interval_too() -> None:
    found = compare_means([0.02, 0.03, 0.02], [0.0, 0.0, 0.0])

    assert found
    assert (found.change, found.ci_low < -1 < found.ci_high) == (-1, True)


@pytest.mark.slow
@pytest.mark.parametrize(("cv", "runs"), [(0.01, 3), (0.05, 5), (0.15, 8)])
def test_the_interval_of_a_ratio_holds_the_true_one_in_95_of_100_cases(cv: float, runs: int) -> None:
    luck = np.random.default_rng(11)
    held = 0
    for _ in range(1000):
        found = compare_means(luck.normal(100, 100 * cv, runs).tolist(), luck.normal(90, 90 * cv, runs).tolist())
        assert found
        _, low, high = found.ratio
        held += low < 0.9 < high

    assert 925 <= held <= 975
