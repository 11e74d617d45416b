"""kill -9 between the commit of what happened and the arrival of its notification, at each step and at any time."""

import json
import os
import random
import signal
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from aisbench_core.base.clock import utc_now
from aisbench_core.base.messages import Message
from aisbench_core.config.settings import Settings
from aisbench_core.model import DeliveryState, NewsKind, Notice
from aisbench_core.people.notifications.channels import channel_of
from aisbench_core.people.notifications.sending import MessageSender
from aisbench_core.store.ledger.outbox import Outbox
from aisbench_core.wiring import Core, open_core
from tests.actors import named
from tests.processes import FORKED
from tests.receivers import Hook, webhook
from tests.reliability.outcomes import campaign

EACH = 50  # kills at each step
BURST = 20  # events while a process is killed at any time
SECONDS = 60.0
STEPS = ("committed", "made deliveries", "before it sends", "sent, not stored")


def _die(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _dies_at(data_dir: Path, step: str, event_id: str) -> None:
    """A follower that tells of one event, and is killed at this step."""
    core = opened(data_dir)
    announce(core, event_id)
    if step == "committed":
        _die()
    if step == "made deliveries":
        fill = Outbox.fill

        def fill_and_die(*values: Any) -> None:
            fill(*values)
            _die()

        Outbox.fill = fill_and_die  # type: ignore[assignment,method-assign]
    elif step == "before it sends":
        MessageSender.send = _die  # type: ignore[assignment,method-assign]
    else:
        Outbox.mark_sent = _die  # type: ignore[assignment,method-assign]
    while True:
        core.notifications.tick()


def _tells(data_dir: Path, events: list[str]) -> None:
    """A follower that tells of these events for as long as it lives."""
    core = opened(data_dir)
    for event_id in events:
        announce(core, event_id)
    while True:
        core.notifications.tick()


def opened(data_dir: Path) -> Core:
    return open_core(Settings(data_dir=data_dir, notify_private_addresses=True))


def announce(core: Core, event_id: str) -> None:
    core.ledger.announce(Notice(event_id, event_id, NewsKind.HELD, utc_now(), Message("held")))


@pytest.fixture
def hook() -> Iterator[Hook]:
    with webhook() as started:
        yield started


@pytest.fixture
def core(hook: Hook, tmp_path: Path) -> Core:
    core = opened(tmp_path / "data")
    channel = {"name": "lab", "url": hook.url, "secret": "0123456789abcdef", "events": ["held"]}
    core.notifications.channels.save(channel_of(channel, Message("channel")), named("tester"))
    return core


def killed(target: Callable[..., None], *values: object, after: float | None = None) -> None:
    """Run this in a process of its own until it is killed, by itself or after so many seconds."""
    process = FORKED.Process(target=target, args=values)
    process.start()
    if after is not None:
        time.sleep(after)
        process.kill()
    process.join(SECONDS)
    assert process.exitcode == -signal.SIGKILL


def test_a_killed_follower_loses_no_notification(core: Core, hook: Hook) -> None:
    with campaign("Follower killed between commit and notification", __file__) as row:
        dice, data_dir = random.Random(15), core.settings.data_dir
        expected = [f"held:s-{number}" for number in range(len(STEPS) * EACH)]
        for number, event_id in enumerate(expected):
            killed(_dies_at, data_dir, STEPS[number % len(STEPS)], event_id)
            deliver_rest(core)  # as the next follower does
        bursts = [[f"held:b-{turn}-{number}" for number in range(BURST)] for turn in range(EACH)]
        for events in bursts:
            killed(_tells, data_dir, events, after=dice.uniform(0.3, 0.8))
            expected += [event_id for event_id in events if is_stored(core, event_id)]
            deliver_rest(core)

        arrived, ids = Counter[str](), defaultdict[str, set[str]](set)
        for body in hook.bodies:
            message = json.loads(body)
            for event in message["events"]:
                arrived[event["id"]] += 1
                ids[event["id"]].add(message["id"])
        lost = [event_id for event_id in expected if not arrived[event_id]]
        twice = [event_id for event_id, count in arrived.items() if count > 1]
        assert lost == []
        assert [event_id for event_id in twice if len(ids[event_id]) > 1] == []
        kills = f"{len(STEPS) * EACH + EACH}: {', '.join(f'{step} {EACH}' for step in STEPS)}, at any time {EACH}"
        row.repetitions = kills
        row.outcome = f"{len(arrived):,} events: none lost; {len(twice)} arrived twice, each time with the same id"


def is_stored(core: Core, event_id: str) -> bool:
    """Whether the killed process came so far that the event is in the ledger."""
    notices = core.ledger.rows("select 1 from notices where notice_id = ?", [event_id])
    deliveries = core.ledger.rows("select 1 from deliveries where delivery_id like ?", [f"{event_id}>%"])
    return bool(notices or deliveries)


def deliver_rest(core: Core) -> None:
    """Tick until nothing is left to send; what a killed process was sending is due again at once."""
    deadline = time.monotonic() + SECONDS
    while core.ledger.rows(
        "select 1 from notices union all select 1 from deliveries where state = ?", [DeliveryState.PENDING]
    ):
        assert time.monotonic() < deadline
        core.notifications.tick()
