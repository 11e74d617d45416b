"""Cards that are hardly used for ten minutes are told, with a likely reason; what was not measured is not low."""

from collections.abc import Sequence
from datetime import timedelta

import pytest

from aisbench_core.domain.results.utilisation import low_utilisation
from aisbench_core.model import MetricSample
from tests import records as a


def samples(name: str, values: Sequence[float], node: int = 0, gap_after: int = -1) -> list[MetricSample]:
    """One value a minute; after the sample `gap_after`, ten minutes are missing."""
    return [
        MetricSample(a.T0 + timedelta(minutes=minute + (10 if 0 <= gap_after < minute else 0)), node, name, value)
        for minute, value in enumerate(values)
    ]


def test_ten_minutes_below_half_are_told_by_node_and_time() -> None:
    measured = [*samples("npuUtil", [90] * 20), *samples("npuUtil", [90] * 3 + [20] * 11 + [90] * 6, node=1)]

    (low,) = low_utilisation(measured)

    assert (low.node, low.metric, low.mean) == (1, "npuUtil", 20)
    assert (low.since, low.until) == (a.T0 + timedelta(minutes=3), a.T0 + timedelta(minutes=13))


@pytest.mark.parametrize(
    "values",
    [
        [20] * 10 + [90],  # nine minutes from the first to the last
        [20] * 5 + [50] + [20] * 5,
        [-1] * 30,
        [20] * 8 + [-1] + [20] * 8,
        [],
    ],
)
def test_shorter_times_and_what_was_not_measured_are_not_told(values: list[float]) -> None:
    assert low_utilisation(samples("npuUtil", values)) == []


def test_nobody_knows_what_happened_in_a_gap() -> None:
    assert low_utilisation(samples("npuUtil", [20] * 12, gap_after=6)) == []


def test_samples_may_come_in_any_order_and_the_longest_time_counts() -> None:
    measured = samples("gpuUtil", [10] * 11 + [90] + [30] * 15)

    (low,) = low_utilisation(measured[::-1])

    assert (low.metric, low.mean) == ("gpuUtil", 30)


@pytest.mark.parametrize(
    ("used", "others", "says"),
    [
        (0.2, {"cpuUsage": 90}, "compute nothing"),
        (30, {"cpuUsage": 85, "npuMemUsage": 20}, "the processor is busy (85 %)"),
        (30, {"cpuUsage": 20, "npuMemUsage": 31}, "only 31 % of the cards' memory is used"),
        (30, {"cpuUsage": 20, "npuMemUsage": 90}, "saving checkpoints"),
        (30, {"cpuUsage": -1}, "saving checkpoints"),
        (30, {}, "saving checkpoints"),
    ],
)
def test_the_likely_reason_comes_from_what_else_was_measured_then(
    used: float, others: dict[str, float], says: str
) -> None:
    measured = samples("npuUtil", [used] * 12)
    for name, value in others.items():
        measured += samples(name, [value] * 12) + samples(name, [99] * 12, node=5)

    (low,) = low_utilisation(measured)

    assert says in low.reason
