"""Times of schedules, also where the clocks are changed."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from aisbench_core.base.errors import SpecError
from aisbench_core.running.schedules.cron import first_time, next_time, times_until

BERLIN = ZoneInfo("Europe/Berlin")


def at(text: str, zone: str = "UTC") -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone))


def on_the_clock(cron: str, first: str, hours: float, zone: str = "Europe/Berlin") -> list[str]:
    """The times of so many hours, as a clock on the wall shows them, with the offset from UTC."""
    begin = at(first, zone)
    found = list(times_until(cron, zone, begin, begin.astimezone(UTC) + timedelta(hours=hours)))[1:]
    return [f"{time.astimezone(ZoneInfo(zone)):%d %H:%M %z}" for time in found]


def test_a_time_is_that_of_the_time_zone_and_comes_after_the_given_one() -> None:
    assert next_time("0 2 * * *", "Asia/Shanghai", at("2026-03-01T18:00")) == at("2026-03-02T18:00")
    assert next_time("0 2 * * *", "UTC", at("2026-03-01T01:59")) == at("2026-03-01T02:00")


def test_working_days_leave_out_the_weekend() -> None:
    assert on_the_clock("0 6 * * 1-5", "2026-06-05T06:00", 120) == [
        "08 06:00 +0200",
        "09 06:00 +0200",
        "10 06:00 +0200",
    ]


def test_a_time_that_summer_time_skips_comes_once_right_after_the_gap() -> None:
    """On 29 March 2026 in Berlin, 02:00 is 03:00."""
    assert on_the_clock("30 2 * * *", "2026-03-28T02:30", 60) == ["29 03:00 +0200", "30 02:30 +0200"]
    assert on_the_clock("*/30 * * * *", "2026-03-29T01:00", 1.5) == [
        "29 01:30 +0100", "29 03:00 +0200", "29 03:30 +0200",
    ]  # fmt: skip


def test_a_time_that_the_change_back_repeats_comes_once_unless_it_is_each_hour() -> None:
    """On 25 October 2026 in Berlin, 03:00 is 02:00 again."""
    assert on_the_clock("30 2 * * *", "2026-10-24T02:30", 60) == ["25 02:30 +0200", "26 02:30 +0100"]
    assert on_the_clock("30 * * * *", "2026-10-25T01:30", 3) == [
        "25 02:30 +0200", "25 02:30 +0100", "25 03:30 +0100",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("cron", "zone", "says"),
    [
        ("0 2 * *", "UTC", "cron: must be minute, hour, day, month and day of the week"),
        ("61 2 * * *", "UTC", "Bad minute"),
        ("* * */20 * 1L", "UTC", "must be a time that comes within 50 years"),
        ("0 2 * * *", "Mars/Olympus", "time_zone: must be a time zone such as Asia/Shanghai"),
        ("0 2 * * *", "../etc/passwd", "time_zone: must be a time zone"),
        ("0 2 * * *", "Europe", "time_zone: must be a time zone"),
    ],
)
def test_what_is_no_time_is_refused_with_its_field(cron: str, zone: str, says: str) -> None:
    with pytest.raises(SpecError) as refused:
        next_time(cron, zone, at("2026-03-01T00:00"))

    assert says in str(refused.value)
    assert (cron if "cron" in says or "minute" in says or "50" in says else zone) in str(refused.value)


def test_a_sixth_field_would_be_seconds_and_is_refused_when_it_is_entered() -> None:
    for cron in ("* * * * * *", "0 0 2 * * 1-5"):
        with pytest.raises(SpecError, match="cron: must be minute, hour, day, month and day of the week"):
            first_time(cron, "UTC", at("2026-03-01T00:00"))

    assert first_time(" 0  2 * * * ", "UTC", at("2026-03-01T00:00")) == at("2026-03-01T02:00")
