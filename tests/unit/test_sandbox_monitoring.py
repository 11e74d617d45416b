"""What a pool's monitoring makes of its jobs' measurements."""

import pytest

from aisbench_sandbox.job import Job
from aisbench_sandbox.refusals import Refused
from aisbench_sandbox.service.resources.monitoring import MINUTE, Span, monitor_json, read_span

START = 1_700_000_040_000
NOW = START + 60 * MINUTE


def job(started_at: int, *values: float) -> Job:
    return Job("id", {}, started_at, started_at=started_at, metrics={"worker-0": {"cpuUsage": values}})


def values(jobs: list[Job], span: Span, statistic: str) -> list[float]:
    series = monitor_json("a-pool", jobs, span, statistic)["metrics"][0]
    assert series["metric"]["metricName"] == "cpuUsage"
    return [point["statistics"][0]["value"] for point in series["dataPoints"]]


def test_each_minute_has_what_was_measured_in_it_on_any_job() -> None:
    span = Span(START, START + 4 * MINUTE, MINUTE)
    jobs = [job(START, 10.0, 20.0, -1.0), job(START + MINUTE, 40.0)]

    assert values(jobs, span, "maximum") == [10.0, 40.0, -1, -1]
    assert values(jobs, span, "minimum") == [10.0, 20.0, -1, -1]
    assert values(jobs, span, "average") == [10.0, 30.0, -1, -1]
    assert values(jobs, span, "sum") == [10.0, 60.0, -1, -1]
    assert values(jobs, span, "sampleCount") == [1, 2, -1, -1]


def test_longer_periods_put_minutes_together_and_leave_out_what_was_before() -> None:
    span = Span(START + MINUTE, START + 11 * MINUTE, 5 * MINUTE)

    assert values([job(START, *map(float, range(12)))], span, "maximum") == [5.0, 10.0]


def test_a_job_that_has_not_started_was_not_measured() -> None:
    assert values([job(0, 50.0)], Span(START, START + MINUTE, MINUTE), "maximum") == [-1]


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("", NOW - 60 * MINUTE, NOW),
        ("-1.-1.10", NOW - 10 * MINUTE, NOW),
        (f"{START}.-1.10", START, START + 10 * MINUTE),
        (f"{NOW - MINUTE}.-1.10", NOW - MINUTE, NOW),
        (f"-1.{START}.10", START - 10 * MINUTE, START),
        (f"{START}.{NOW}.1", START, NOW),
    ],
)
def test_a_time_range_is_read_as_it_is_documented(text: str, start: int, end: int) -> None:
    assert read_span(text, "60", NOW) == Span(start, end, MINUTE)


@pytest.mark.parametrize("text", ["now", "1.2", f"{NOW}.{START}.1", f"0.{NOW}.1", "-1.-1.100000"])
def test_a_time_range_that_cannot_be_is_refused(text: str) -> None:
    with pytest.raises(Refused) as refused:
        read_span(text, "60", NOW)

    assert refused.value.code == "ModelArts.2764"
