"""The region's clock, which an injected fault may offset for a request."""

from collections.abc import MutableMapping
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

_OFF = "clock_off_s"

Scope = MutableMapping[str, Any]


def set_clock_offset(scope: Scope, seconds: float) -> None:
    """Set the clock's offset in seconds for this request; positive is late."""
    # In the scope, because the fault is found before the request is read, and the date is checked by the service
    # behind it.
    scope.setdefault("state", {})[_OFF] = seconds


def clock_offset_s(scope: Scope) -> float:
    """The clock's offset in seconds for this request."""
    return float(scope.get("state", {}).get(_OFF, 0.0))


def http_date(scope: Scope) -> bytes:
    """The time in the format of the Date header."""
    instant = datetime.now(UTC) + timedelta(seconds=clock_offset_s(scope))
    return format_datetime(instant.replace(microsecond=0), usegmt=True).encode()
