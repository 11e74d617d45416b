"""Slots of requests: each person has a few, so that one who takes all of hers keeps nobody else waiting."""

import asyncio
from contextlib import AsyncExitStack

import pytest

from aisbench_core.interfaces.api import admission
from aisbench_core.interfaces.api.admission import Slots, UnderWay
from aisbench_core.interfaces.api.problems import ServerBusy, TooManyRequests


async def take(slots: Slots, person: str, count: int, held: AsyncExitStack) -> None:
    for _ in range(count):
        await held.enter_async_context(slots.slot(person))


def test_who_has_taken_all_of_her_slots_keeps_nobody_else_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "TURN_SECONDS", 0.05)

    async def story() -> None:
        slots = Slots(most=4, most_of_person=2)
        async with AsyncExitStack() as held:
            await take(slots, "mallory", 2, held)
            with pytest.raises(TooManyRequests, match=r"2 requests of mallory .* none ended in 0\.05 s"):
                await take(slots, "mallory", 1, held)
            async with slots.slot("ann"), slots.slot("ann"):
                assert slots.in_use == 4
        assert slots.in_use == 0

    asyncio.run(story())


def test_a_request_gets_the_slot_that_becomes_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "TURN_SECONDS", 30.0)

    async def story() -> None:
        slots = Slots(most=4, most_of_person=1)
        async with AsyncExitStack() as held, AsyncExitStack() as later:
            await take(slots, "ann", 1, held)
            waiting = asyncio.create_task(take(slots, "ann", 1, later))
            await asyncio.sleep(0)
            assert not waiting.done()

            await held.aclose()

            await waiting
            assert slots.in_use == 1

    asyncio.run(story())


def test_a_server_whose_slots_are_all_taken_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "TURN_SECONDS", 0.05)

    async def story() -> None:
        slots = Slots(most=1, most_of_person=1)
        async with slots.slot("ann"):
            with pytest.raises(ServerBusy, match="1 such requests are being processed") as refused:
                await take(slots, "ben", 1, AsyncExitStack())
        assert refused.value.hint == "try again in a moment"
        async with slots.slot("ben"):
            assert slots.in_use == 1

    asyncio.run(story())


def test_requests_that_only_arrive_count_for_their_person() -> None:
    async def story() -> None:
        under_way = UnderWay(most=2)
        async with under_way.request("mallory"), under_way.request("mallory"), under_way.request("ann"):
            with pytest.raises(TooManyRequests, match="mallory has 2 requests under way"):
                async with under_way.request("mallory"):
                    pass
        async with under_way.request("mallory"):
            pass

    asyncio.run(story())
