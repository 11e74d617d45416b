"""Asks the ledger about each request, in threads of its own: pages, web sockets and API share one loop.

A ledger that does not answer is left alone for a while, or each visitor would wait for as long as one connection takes.
"""

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

from aisbench_core.base.errors import AisbenchError, DamagedLedger, LedgerUnavailable
from aisbench_core.base.messages import Message

T = TypeVar("T")

LOG = logging.getLogger(__name__)

AT_ONCE = 8
PAUSE_SECONDS = 3.0


class LedgerCheck(Generic[T]):
    """One question to the ledger, about whatever a request names."""

    def __init__(self, ask: Callable[[str], T]) -> None:
        self._ask = ask
        self._threads = ThreadPoolExecutor(AT_ONCE, "ledger-check")
        self._guard = threading.Lock()
        self._fails = False
        self._quiet_until = 0.0

    async def answer(self, subject: str) -> T:
        """The answer about `subject`. Raises LedgerUnavailable, with a sentence for people who are not signed in."""
        if self._fails and time.monotonic() < self._quiet_until:
            raise no_ledger()
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._ask_ledger, subject)

    def _ask_ledger(self, subject: str) -> T:
        if not self._may_ask():
            raise no_ledger()
        try:
            found = self._ask(subject)
        except AisbenchError as error:
            if isinstance(error, LedgerUnavailable | DamagedLedger):
                self._fails, self._quiet_until = True, time.monotonic() + PAUSE_SECONDS
            LOG.warning("requests cannot be checked: %s", error)
            raise no_ledger() from None
        self._fails = False
        return found

    def _may_ask(self) -> bool:
        """Always, while the ledger answers; else one request after each pause."""
        with self._guard:
            if not self._fails:
                return True
            now = time.monotonic()
            if now < self._quiet_until:
                return False
            self._quiet_until = now + PAUSE_SECONDS
            return True


def no_ledger() -> LedgerUnavailable:
    """What anybody may read: the cause can name hosts and accounts, and is in the log."""
    return LedgerUnavailable(
        Message("the console cannot read its ledger"),
        Message("try again in a minute; data/console.log on the server has the cause"),
    )
