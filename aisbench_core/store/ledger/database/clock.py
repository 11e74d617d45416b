"""The clock of a ledger's database: what machines that share a ledger agree on, whatever their own clocks say."""

import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from time import monotonic

from aisbench_core.base.errors import AisbenchError
from aisbench_core.base.formats import format_duration
from aisbench_core.base.messages import Message
from aisbench_core.model import Clock

AGAIN_SECONDS = 30.0
# This machine's clock was set if it went further than this from the one that cannot be set.
SET = timedelta(seconds=1)

NOTABLE_SKEW = timedelta(seconds=30)
SET_CLOCK = Message("set it by NTP; until then the ledger's clock is used")
THE_LEDGER = Message("the ledger")
SET_BY_REGION = Message("synchronise it with NTP; the region refuses requests when clocks differ by 15 min or more")


class DatabaseClock:
    """How far a database's clock is ahead of this machine's; measured twice a minute. Threads may share it."""

    def __init__(self, ask: Callable[[], datetime], machine: Clock) -> None:
        """`ask`: the database's time; raises AisbenchError while there is none."""
        self._ask, self._machine = ask, machine
        self._guard = threading.Lock()
        self._ahead = timedelta()
        self._measured: tuple[datetime, float] | None = None

    def ahead(self) -> timedelta:
        """Database minus machine; the last one while the database does not answer, and zero before it ever did."""
        if self._is_due() and self._guard.acquire(blocking=self._measured is None):
            try:
                if self._is_due():  # nobody else has measured meanwhile
                    self._measure_offset()
            finally:
                self._guard.release()
        return self._ahead

    def _is_due(self) -> bool:
        if self._measured is None:
            return True
        at, ticks = self._measured
        passed = monotonic() - ticks
        return passed > AGAIN_SECONDS or abs(self._machine() - at - timedelta(seconds=passed)) > SET

    def _measure_offset(self) -> None:
        with suppress(AisbenchError):
            before = self._machine()
            there = self._ask()
            uncertainty = abs(self._machine() - before) / 2
            ahead = there - before - uncertainty
            # A slow answer says little: it does not replace what it does not contradict.
            if self._measured is None or abs(ahead - self._ahead) > uncertainty:
                self._ahead = ahead
        self._measured = self._machine(), monotonic()


def skew_message(whose: Message, ahead: timedelta, other: Message = THE_LEDGER) -> Message | None:
    """That a machine's clock differs notably from the other one, which is `ahead` of it; else None."""
    length = format_duration(abs(ahead).total_seconds())
    if abs(ahead) <= NOTABLE_SKEW:
        return None
    if ahead > timedelta():
        return Message(
            "the clock of {machine} is {length} behind that of {other}", machine=whose, length=length, other=other
        )
    return Message(
        "the clock of {machine} is {length} ahead of that of {other}", machine=whose, length=length, other=other
    )
