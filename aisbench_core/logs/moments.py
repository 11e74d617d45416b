"""Times as people type them to find them in logs."""

import re
from datetime import datetime, timedelta

from aisbench_core.errors import ConfigError
from aisbench_core.messages import Message

_MOMENT = re.compile(
    r"(?:(\d{4})[-/](\d{1,2})[-/](\d{1,2})[T ]+)?(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,]\d{1,9})?)?", re.ASCII
)


class LogTimeError(ConfigError):
    """A time that cannot be found in the logs."""


def moment_of(text: str, latest: datetime | None) -> datetime:
    """`2026-01-02 03:04:05`, or `03:04`, which is the last such time up to the `latest` line. Raises LogTimeError."""
    if latest is None:
        raise LogTimeError(Message("no line of these logs carries a time"))
    found = _MOMENT.fullmatch(text.strip())
    try:
        *day, hour, minute, second = (int(part) if part else None for part in found.groups()) if found else [None] * 6
        dated = latest.replace(year=day[0], month=day[1], day=day[2]) if day[0] else latest  # type: ignore[arg-type]
        moment = dated.replace(hour=hour or 0, minute=minute or 0, second=second or 0, microsecond=0)
        found = found if hour is not None else None
    except ValueError:
        found = None
    if found is None:
        raise LogTimeError(
            Message("{text} is no time", text=repr(text[:40])),
            Message("write a time as the lines do, such as 03:04 or 2026-01-02 03:04:05"),
        )
    return moment - timedelta(days=1) if not day[0] and moment > latest else moment
