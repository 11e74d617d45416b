"""The clock of a region, as the Date headers of its answers say: it times jobs, and requests are checked by it."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TypeVar

from aisbench_core.model import Clock

T = TypeVar("T")

# An answer that takes longer says little about the time at which its header was written.
LONGEST = timedelta(seconds=5)


class ServerClock:
    """How far it is ahead of this machine's. Threads may share it."""

    def __init__(self, machine: Clock) -> None:
        self._machine = machine
        self.ahead: timedelta | None = None
        """Server minus machine as of the last answer, ± 1 s; None before the first with a Date header."""

    def observe(self, send: Callable[[], T], date_of: Callable[[T], str | None]) -> T:
        """Send a request; `date_of` gives the Date header of its answer."""
        before = self._machine()
        answer = send()
        took = self._machine() - before
        if timedelta() <= took <= LONGEST:
            seconds = seconds_ahead(date_of(answer), before + took / 2)
            self.ahead = self.ahead if seconds is None else timedelta(seconds=seconds)
        return answer


def seconds_ahead(date: str | None, middle: datetime) -> float | None:
    """A Date header less the time at which it was written; None if there is none that can be read."""
    if not date:
        return None
    try:
        server = parsedate_to_datetime(date)
    except ValueError:
        return None
    server = server.replace(tzinfo=UTC) if server.tzinfo is None else server
    return (server - middle).total_seconds() + 0.5  # the header has whole seconds, rounded down
