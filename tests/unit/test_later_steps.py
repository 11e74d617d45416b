"""The warm-up of a run is left out afterwards: only steps that all ranks reported count."""

from datetime import UTC, datetime, timedelta

import pytest

from aisbench_core.domain.results.later_steps import find_steps, measure_later_steps
from aisbench_core.model import StepTime

BEGAN = datetime(2026, 3, 1, tzinfo=UTC)


def _steps(
    card: int, seconds: list[float], *, first: int = 1, attempt: int = 0, samples: float = 8.0
) -> list[StepTime]:
    began = BEGAN + timedelta(hours=attempt)
    return [
        StepTime(0, card, card, began, number, began, each, samples, 100.0)
        for number, each in enumerate(seconds, start=first)
    ]


def test_slow_first_steps_no_longer_count() -> None:
    steps = [*_steps(0, [10.0, 10.0, 1.0, 1.0]), *_steps(1, [10.0, 10.0, 2.0, 2.0])]

    whole, later = measure_later_steps(steps, 1), measure_later_steps(steps, 3)

    assert whole
    assert later
    assert whole.samples_per_s == pytest.approx(32 / 22 + 32 / 24)
    assert later.samples_per_s == pytest.approx(8 + 4)
    assert later.tokens_per_s == pytest.approx(100 + 50)
    assert (later.definition, later.ranks) == ("steps/3-4", 2)


def test_only_steps_that_every_rank_reported_count() -> None:
    steps = [*_steps(0, [1.0] * 5), *_steps(1, [1.0] * 3, first=2)]

    assert find_steps(steps) == (2, 4)
    later = measure_later_steps(steps, 1)
    assert later
    assert later.definition == "steps/2-4"
    assert measure_later_steps(steps, 5) is None


def test_of_a_rank_that_was_restarted_the_last_process_counts() -> None:
    steps = [*_steps(0, [9.0] * 4), *_steps(0, [1.0] * 2, first=3, attempt=1)]

    later = measure_later_steps(steps, 1)

    assert later
    assert later.definition == "steps/3-4"
    assert later.samples_per_s == pytest.approx(8)


def test_what_a_rank_did_not_report_is_not_measured() -> None:
    later = measure_later_steps([*_steps(0, [1.0]), *_steps(1, [1.0], samples=0.0)], 1)

    assert later
    assert later.samples_per_s is None
    assert later.tokens_per_s == pytest.approx(200)
    assert find_steps([]) is None
    assert measure_later_steps([], 1) is None
