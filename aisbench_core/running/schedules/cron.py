"""Times of cron expressions, in a time zone whose clocks may be changed twice a year."""

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice, takewhile
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

from aisbench_core.base.errors import Problem, SpecError
from aisbench_core.base.messages import Message

WHAT = Message("schedule")

FIELDS = 5
WRONG_NUMBER = "Wrong number of fields"


def first_time(cron: str, time_zone: str, after: datetime) -> datetime:
    """As `next_time`, for an expression that somebody enters: CronSim's sixth field, seconds, would launch each second.

    Stored expressions are not checked again."""
    if len(cron.split()) != FIELDS:
        raise _no_expression(cron, WRONG_NUMBER)
    return next_time(cron, time_zone, after)


def next_time(cron: str, time_zone: str, after: datetime) -> datetime:
    """The first time after `after`, in UTC. Raises SpecError for what is no expression, time zone, or never comes.

    As Debian's cron does it: a time that the change to summer time skips comes right after the gap, and one that the
    change back repeats comes once, unless minute or hour are wildcards."""
    found = next(_iterate_times(cron, time_zone, after), None)
    if found is None:
        raise SpecError(WHAT, [Problem("cron", Message("must be a time that comes within 50 years"), cron)])
    return found


def times_until(cron: str, time_zone: str, first: datetime, last: datetime) -> Iterator[datetime]:
    """`first`, which is one of them, and all others until `last`, in UTC."""
    yield first
    yield from takewhile(lambda time: time <= last, _iterate_times(cron, time_zone, first))


def next_times(cron: str, time_zone: str, after: datetime, count: int) -> list[datetime]:
    """The first `count` times after `after`, in UTC."""
    return [*islice(_iterate_times(cron, time_zone, after), count)]


def zone_of(name: str) -> ZoneInfo:
    """A time zone by its name in the IANA database. Raises SpecError."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):  # OSError: a name that is a folder of the database
        reason = Message("must be a time zone such as Asia/Shanghai, Europe/Berlin or UTC")
        raise SpecError(WHAT, [Problem("time_zone", reason, name)]) from None


def _iterate_times(cron: str, time_zone: str, after: datetime) -> Iterator[datetime]:
    try:
        times = CronSim(cron, after.astimezone(zone_of(time_zone)))
    except CronSimError as error:
        raise _no_expression(cron, str(error)) from None
    return (time.astimezone(UTC) for time in times)


def _no_expression(cron: str, why: str) -> SpecError:
    reason = Message("must be minute, hour, day, month and day of the week, such as `0 2 * * 1-5` ({why})", why=why)
    return SpecError(WHAT, [Problem("cron", reason, cron)])
