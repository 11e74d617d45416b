"""The band of one more run: its own runs first, then those of configurations like it, and nothing without enough."""

from statistics import fmean, stdev

import pytest

from aisbench_core.domain.statistics.prediction import Sample, predict_band
from aisbench_core.domain.statistics.summary import prediction_interval

VALUES = [198.0, 203.0, 200.0, 201.0, 199.0, 202.0]


def sample_of(values: list[float]) -> Sample:
    return Sample(len(values), fmean(values), stdev(values) if len(values) > 1 else 0.0)


def test_a_sample_without_one_of_its_values_is_that_of_the_others() -> None:
    for value in VALUES:
        others = [each for each in VALUES if each != value]

        rest = sample_of(VALUES).leave_out(value)

        assert rest
        assert rest.count == 5
        assert (rest.mean, rest.sd) == pytest.approx((fmean(others), stdev(others)))
    assert sample_of([1.0]).leave_out(1.0) is None
    assert sample_of([1.0, 3.0]).leave_out(1.0) == Sample(1, 3.0)


def test_five_runs_of_its_own_decide_alone_and_as_everywhere_else() -> None:
    band = predict_band(sample_of(VALUES), [sample_of([900.0, 950.0])])

    usual = prediction_interval(VALUES)
    assert band
    assert usual
    assert (band.low, band.high) == pytest.approx(usual, rel=1e-3)
    assert (band.runs, band.configurations) == (6, 1)


def test_few_runs_borrow_the_spread_of_others_and_keep_their_own_level() -> None:
    alone = predict_band(sample_of([300.0]))
    band = predict_band(sample_of([300.0]), [sample_of(VALUES)])

    assert alone is None
    assert band
    assert band.low < 300 < band.high
    assert band.high < 312
    assert (band.runs, band.configurations) == (7, 2)


def test_without_runs_of_its_own_it_takes_four_others_and_their_levels_scatter_too() -> None:
    levels = [sample_of([level, level * 1.01]) for level in (190.0, 200.0, 210.0, 205.0)]

    band = predict_band(None, levels)

    assert predict_band(None, levels[:3]) is None
    assert predict_band(None) is None
    assert band
    assert band.low < 180
    assert band.high > 220


def test_equal_values_have_a_band_without_width() -> None:
    band = predict_band(Sample(5, 200.0))

    assert band
    assert band.low == pytest.approx(200) == pytest.approx(band.high)
