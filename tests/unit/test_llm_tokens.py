"""Rates and percentiles over a declared window of steps, and real tokens beside nominal ones."""

import statistics

import pytest

from aisbench_core.domain.llm.tokens import (
    Devices,
    TokenRate,
    TrainingStep,
    Window,
    choose_counted,
    compute_rate,
    summarize_times,
)

STEPS = [TrainingStep(number, 1.0 + number / 100, 1000.0) for number in range(1, 51)]


def test_a_window_has_its_first_and_its_last_step() -> None:
    inside = Window(11, 50).select(STEPS)

    assert (inside[0].number, inside[-1].number, len(inside)) == (11, 50, 40)


def test_a_window_without_an_end_goes_to_the_last_step() -> None:
    assert Window(49, None).select(STEPS) == tuple(STEPS[48:])


def test_a_step_that_was_trained_again_counts_once_as_it_was_the_last_time() -> None:
    again = TrainingStep(12, 9.0)

    inside = Window(11, 13).select([*STEPS[:14], again])

    assert inside == (STEPS[10], again, STEPS[12])


def test_percentiles_are_linear_between_ranks() -> None:
    times = summarize_times(Window(11, 50).select(STEPS))
    seconds = [step.seconds for step in STEPS[10:]]

    assert times
    hundredths = statistics.quantiles(seconds, n=100, method="inclusive")
    assert [times.p50_s, times.p95_s, times.p99_s] == pytest.approx([hundredths[each - 1] for each in (50, 95, 99)])
    assert times.jitter == pytest.approx(statistics.stdev(seconds) / statistics.fmean(seconds))
    assert (times.first, times.last, times.count) == (11, 50, 40)


def test_nothing_is_said_of_no_step_and_no_jitter_of_one() -> None:
    one = summarize_times(STEPS[:1])

    assert summarize_times([]) is None
    assert compute_rate([], 1000) is None
    assert one
    assert one.jitter is None


def test_tokens_a_second_are_all_tokens_over_all_seconds() -> None:
    rate = compute_rate([TrainingStep(1, 1.0, 100), TrainingStep(2, 3.0, 500)], nominal_tokens=400)

    assert rate == TokenRate(counted=150, nominal=200)
    assert rate.value == 150


def test_steps_of_which_some_have_a_count_have_no_rate() -> None:
    rate = compute_rate([TrainingStep(1, 1.0, 100), TrainingStep(2, 1.0)], nominal_tokens=400)

    assert rate == TokenRate(None, 400, is_partly_counted=True)
    assert rate.value is None


def test_a_few_steps_without_a_count_are_left_out() -> None:
    steps = [*STEPS[:9], TrainingStep(10, 1.0)]

    assert choose_counted(steps) == STEPS[:9]
    assert choose_counted(steps[1:]) == steps[1:], "one of nine is too many"


@pytest.mark.parametrize(
    ("counted", "nominal", "excess"),
    [(1000, 1009, None), (1000, 1011, 0.011), (1000, 900, -0.1), (None, 1000, None), (1000, None, None)],
)
def test_real_and_nominal_tokens_that_differ_by_more_than_1_percent_are_noticed(
    counted: float | None, nominal: float | None, excess: float | None
) -> None:
    assert TokenRate(counted, nominal).excess == (None if excess is None else pytest.approx(excess))


def test_sequences_that_are_neither_packed_nor_padded_make_nominal_tokens_43_times_the_real_ones() -> None:
    """A step of MindSpeed-LLM's own example: 756 tokens in 981 ms, global batch 8, cut-off 4,096."""
    rate = compute_rate([TrainingStep(3, 0.981, 756)], nominal_tokens=8 * 4096)

    assert rate
    assert rate.counted == pytest.approx(771, abs=1)
    assert rate.excess == pytest.approx(42.3, abs=0.1)


@pytest.mark.parametrize(("dies", "per_card", "cards"), [(8, 1, 8), (16, 2, 8), (3, 2, 2)])
def test_a_card_has_its_dies(dies: int, per_card: int, cards: int) -> None:
    assert Devices(dies, per_card).cards == cards
