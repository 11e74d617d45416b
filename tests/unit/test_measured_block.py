"""Power and energy of a run: known shapes integrate right, and what was not read is no zero."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from aisbench_core.domain.results.measured_block import (
    list_phased_keys,
    measure_power,
    with_data_loading,
    with_phases,
    with_power,
    with_utilisation,
)
from aisbench_core.model import CardSample, MetricSample, PhaseName, PhaseSpan
from tests import records as a

MINUTES_10 = 600


def readings(
    watts: Callable[[float], float], *, node: int = 0, card: int = 0, every: float = 10
) -> Iterator[CardSample]:
    """A card that is read for ten minutes, at times that are not quite regular."""
    for number in range(int(MINUTES_10 / every) + 1):
        at = number * every + (0.4 if 0 < number < MINUTES_10 / every else 0) * (-1) ** number
        yield CardSample(a.T0 + timedelta(seconds=at), node, card, "power", watts(at))


@pytest.mark.parametrize(
    ("watts", "joules"),
    [
        pytest.param(lambda _: 300.0, 300 * 600, id="constant"),
        pytest.param(lambda at: at, 600**2 / 2, id="ramp"),
        pytest.param(lambda at: 400.0 if at % 120 < 60 else 100.0, 250 * 600, id="square"),
        pytest.param(lambda _: 0.0, 0, id="idle"),
    ],
)
def test_power_of_a_known_shape_integrates_within_a_percent(watts: Callable[[float], float], joules: float) -> None:
    power = measure_power(readings(watts), cards=1)

    assert power is not None
    assert power.energy == pytest.approx(joules, rel=0.01)
    assert power.average == pytest.approx(joules / 600, rel=0.01)
    assert power.coverage(1, timedelta(seconds=MINUTES_10)) == pytest.approx(1)


def test_cards_of_all_nodes_are_added() -> None:
    samples = [*readings(lambda _: 300.0), *readings(lambda _: 100.0, card=1), *readings(lambda at: at, node=1)]

    power = measure_power(samples, cards=3)

    assert power is not None
    assert power.average == pytest.approx(700)
    assert power.energy == pytest.approx(700 * 600)
    assert power.highest == pytest.approx(1000)


def test_a_gap_of_over_three_periods_is_left_out_and_lowers_the_coverage() -> None:
    whole = list(readings(lambda _: 300.0))
    short, long = (
        [sample for sample in whole if not 105 < (sample.at - a.T0).total_seconds() < until] for until in (125, 395)
    )

    bridged, gap = measure_power(short, cards=1), measure_power(long, cards=1)

    assert bridged is not None
    assert gap is not None
    assert bridged.energy == pytest.approx(300 * 600)
    assert gap.average == pytest.approx(300)
    assert gap.energy == pytest.approx(300 * 300, rel=0.01)
    assert gap.coverage(1, timedelta(seconds=MINUTES_10)) == pytest.approx(0.5, rel=0.01)


@pytest.mark.parametrize("samples", [[], list(readings(lambda _: 90.0))[:1], list(readings(lambda _: 90.0))])
def test_the_power_of_a_run_is_unknown_while_that_of_a_card_is(samples: list[CardSample]) -> None:
    assert measure_power(samples, cards=2) is None


def test_cards_that_the_run_does_not_have_leave_its_power_unknown() -> None:
    samples = [sample for card in range(8) for sample in readings(lambda _: 100.0, card=card)]

    assert measure_power(samples, cards=1) is None


def test_the_block_says_power_energy_and_samples_per_joule() -> None:
    spec = a.spec(node_count=1, cards_per_node=2)
    result = a.result(spec, [120.0, 80.0])
    power = measure_power([*readings(lambda _: 300.0), *readings(lambda _: 100.0, card=1)], cards=2)

    measured = with_power(result, power).info

    assert (measured.average_power, measured.max_power, measured.efficientcy) == pytest.approx((400, 400, 0.5))
    assert measured.energy_consumption == pytest.approx(400 * 600)
    assert with_power(result, None) is result


def test_without_the_throughput_of_each_card_there_are_no_samples_per_joule() -> None:
    result = a.result(a.spec(node_count=1, cards_per_node=2), [120.0])

    assert with_power(result, measure_power(readings(lambda _: 300.0), cards=1)).info.efficientcy is None


def test_the_block_says_the_mean_use_of_the_cards_by_the_platform() -> None:
    result = a.result(a.spec(), [120.0])
    samples = [
        MetricSample(a.T0, 0, name, value) for name, value in (("npuUtil", 80), ("npuUtil", -1), ("cpuUsage", 3))
    ]

    assert with_utilisation(result, samples).info.resource_util_ratio == pytest.approx(0.8)
    assert with_utilisation(result, samples[1:]) is result


def test_the_block_says_when_data_was_loaded_unless_clocks_disagree() -> None:
    run, result = a.run(), a.result(a.spec(), [120.0])
    begin = run.started_at
    assert begin is not None

    def load(second: float, seconds: float = 20) -> PhaseSpan:
        began = begin + timedelta(seconds=second)
        return PhaseSpan(0, 0, 0, begin, PhaseName.DATA, began, began + timedelta(seconds=seconds))

    measured = with_data_loading(result, run, [load(5), load(60)]).info

    assert measured.dataload_start_time == begin + timedelta(seconds=5)
    assert measured.dataload_end_time == begin + timedelta(seconds=25)
    for phases in ([load(-1)], [load(5, seconds=900)], [replace(load(5), ended_at=None)], []):
        assert with_data_loading(result, run, phases) is result


def test_the_block_says_how_long_phases_prepared_and_trained() -> None:
    run, result = a.run(), a.result(a.spec(), [120.0])
    begin = run.started_at
    assert begin is not None

    def second(number: float) -> datetime:
        return begin + timedelta(seconds=number)

    def phase(name: PhaseName, began: float, ended: float | None, rank: int = 0) -> PhaseSpan:
        return PhaseSpan(0, rank, rank, begin, name, second(began), None if ended is None else second(ended))

    init, compiled = phase(PhaseName.INIT, 1, 5), phase(PhaseName.COMPILE, 5, 9)
    trains = [phase(PhaseName.TRAIN, 9, 20), phase(PhaseName.TRAIN, 22, 30)]
    again = phase(PhaseName.COMPILE, 20, 22)
    of_another_rank = phase(PhaseName.INIT, 0, 50, rank=1)

    whole = with_phases(result, run, [init, compiled, *trains, again, of_another_rank])
    open_training = with_phases(result, run, [init, phase(PhaseName.TRAIN, 9, None)])

    assert (whole.info.prepare_start_time, whole.info.prepare_end_time) == (second(1), second(9))
    assert (whole.info.proc_start_time, whole.info.proc_end_time) == (second(9), second(30))
    assert list_phased_keys(result, whole) == ["prepare_*", "proc_*"]
    assert f'"{second(9):%Y-%m-%dT%H:%M:%S}' in whole.raw
    assert list_phased_keys(result, open_training) == ["prepare_*"]
    assert open_training.info.proc_end_time == result.info.proc_end_time
    for phases in ([phase(PhaseName.TRAIN, -1, 9)], [phase(PhaseName.TRAIN, 9, 9000)], []):
        assert list_phased_keys(result, with_phases(result, run, phases)) == []
