"""Whose request is answered now: a few at once of each person, so that nobody waits for what somebody else asked."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aisbench_core.base.errors import AisbenchError
from aisbench_core.base.messages import Message
from aisbench_core.interfaces.api.problems import ServerBusy, TooManyRequests

# How long a request waits for its turn. A client that hears nothing for much longer gives up, and sends another one.
TURN_SECONDS = 10.0
# Requests of a person that arrive, wait or are answered. Each may hold its body in memory.
MOST_UNDER_WAY = 16

_TRY_AGAIN = Message("try again in a moment")


class Slots:
    """Requests of one kind that are answered at once: `most` of all people, `most_of_person` of each.

    All methods belong to one event loop."""

    def __init__(self, most: int, most_of_person: int) -> None:
        self.in_use = 0
        self._most = most
        self._most_of_person = most_of_person
        self._free = asyncio.Semaphore(most)
        # One for each name that ever had a token: too few to be worth forgetting.
        self._free_of_person: dict[str, asyncio.Semaphore] = {}

    @asynccontextmanager
    async def slot(self, person: str) -> AsyncIterator[None]:
        """A context in which a request is answered. Raises TooManyRequests or ServerBusy if none gets free in time."""
        own = self._free_of_person.setdefault(person, asyncio.Semaphore(self._most_of_person))
        end = asyncio.get_running_loop().time() + TURN_SECONDS
        async with (
            _acquire_slot(own, end, self._refusal_of_person(person)),
            _acquire_slot(self._free, end, self._make_refusal()),
        ):
            self.in_use += 1
            try:
                yield
            finally:
                self.in_use -= 1

    def _refusal_of_person(self, person: str) -> AisbenchError:
        message = Message(
            "{count} requests of {who} are being answered, as many as one person may have at once, and none ended in "
            "{seconds:g} s",
            count=self._most_of_person, who=person, seconds=TURN_SECONDS,
        )  # fmt: skip
        return TooManyRequests(message, _TRY_AGAIN)

    def _make_refusal(self) -> AisbenchError:
        message = Message(
            "{count} such requests are being processed, and none ended in {seconds:g} s",
            count=self._most, seconds=TURN_SECONDS,
        )  # fmt: skip
        return ServerBusy(message, _TRY_AGAIN)


class UnderWay:
    """Counts the requests of each person from their first byte to their last. Belongs to one event loop."""

    def __init__(self, most: int = MOST_UNDER_WAY) -> None:
        self._most = most
        self._counts: Counter[str] = Counter()

    @asynccontextmanager
    async def request(self, person: str) -> AsyncIterator[None]:
        """A context in which a request counts. Raises TooManyRequests at once beyond the limit."""
        if self._counts[person] >= self._most:
            message = Message(
                "{who} has {count} requests under way, as many as one person may have", who=person, count=self._most
            )
            raise TooManyRequests(message, _TRY_AGAIN)
        self._counts[person] += 1
        try:
            yield
        finally:
            self._counts[person] -= 1
            self._counts += Counter()  # drops the names without any


@asynccontextmanager
async def _acquire_slot(semaphore: asyncio.Semaphore, end: float, refusal: AisbenchError) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout_at(end):
            await semaphore.acquire()
    except TimeoutError:
        raise refusal from None
    try:
        yield
    finally:
        semaphore.release()
