"""Times as people type them to find them in logs."""

import re
from datetime import datetime, timedelta

from aisbench_core.base.errors import ConfigError
from aisbench_core.base.messages import Message

_MOMENT = re.compile(
    r"(?:(\d{4})[-/](\d{1,2})[-/](\d{1,2})[T ]+)?(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,6})\d{0,3})?)?", re.ASCII
)


class LogTimeError(ConfigError):
    """A time that cannot be found in the logs."""


def moment_of(text: str, latest: datetime | None) -> datetime:
    """`2026-01-02 03:04:05`, or `03:04`, which is the last such time up to the `latest` line. Raises LogTimeError."""
    if latest is None:
        raise LogTimeError(Message("no line of these logs carries a time"))
    found = _MOMENT.fullmatch(text.strip())
    try:
        if found:
            return _to_moment(found, latest)
    except ValueError:  # such as 25:00
        pass
    raise LogTimeError(
        Message("{text} is not a time", text=repr(text[:40])),
        Message("write a time as in the log, such as 03:04 or 2026-01-02 03:04:05"),
    )


def _to_moment(found: re.Match[str], latest: datetime) -> datetime:
    year, month, day, hour, minute, second, fraction = (part or "0" for part in found.groups())
    moment = latest.replace(hour=int(hour), minute=int(minute), second=int(second))
    moment = moment.replace(microsecond=int(fraction.ljust(6, "0")))
    if int(year):
        return moment.replace(int(year), int(month), int(day))
    return moment - timedelta(days=1) if moment > latest else moment
