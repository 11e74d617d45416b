"""Sends the signed head of the audit to OBS and to people, daily: what is kept elsewhere proves that none was cut."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from aisbench_core.base.errors import AisbenchError, ConfigError
from aisbench_core.base.messages import Message
from aisbench_core.cloud.ports import Connect
from aisbench_core.config.settings import Settings
from aisbench_core.domain.access import permitted
from aisbench_core.domain.access.changes import note_values
from aisbench_core.model import Actor, Clock, NewsKind, Notice, WayIn, local_actor
from aisbench_core.people.notifications.service import Notifications
from aisbench_core.running.time_stamps import TimeStamps
from aisbench_core.store.audit.audit import Audit
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.store.signing.heads import Heads, SignedHead

LOG = logging.getLogger(__name__)

EVERY = timedelta(days=1)
PAUSE = timedelta(hours=1)
"""Between two attempts: each failed one is an entry of the audit, too."""

_FOLLOWER = local_actor("aisbench", WayIn.FOLLOWER)


@dataclass(frozen=True, slots=True)
class PublishedHead:
    """A head and the object that holds it."""

    head: SignedHead
    path: str


@dataclass(slots=True)
class HeadPublishing:
    """For one thread at a time. When a head was published last is in the audit, so no follower repeats another's."""

    settings: Settings
    ledger: Ledger
    heads: Heads
    audit: Audit
    connect: Connect
    stamps: TimeStamps
    notifications: Notifications
    clock: Clock
    _tried: datetime | None = None

    @permitted
    def publish(self, actor: Actor) -> PublishedHead:  # noqa: ARG002  # the guard's
        """Write the head as it is now to `head_directory`, with a time stamp if a server is configured and answers.

        Raises ConfigError without a directory, and CloudError."""
        if not self.settings.head_directory:
            raise ConfigError(
                Message("head_directory is not set"), Message("set it to obs://bucket/prefix of a bucket of others")
            )
        head = self._stamp(self.heads.sign())
        path = f"/{self.settings.head_directory.removeprefix('obs://').strip('/')}/aisbench-head-{head.number}.txt"
        self.connect(self.settings.profile).objects.put(path, f"{head.text}\n".encode())
        note_values("", head.entry)
        return PublishedHead(head, path)

    @permitted
    def notify(self, actor: Actor) -> SignedHead:  # noqa: ARG002  # the guard's
        """Tell the head as it is now to the channels that want to be told of it."""
        head = self.heads.sign()
        text = Message("keep this line: {head}", head=head)
        self.ledger.announce(Notice(f"head:{head.number}", head.entry, NewsKind.HEAD, self.clock(), text))
        return head

    def _stamp(self, head: SignedHead) -> SignedHead:
        try:
            return self.stamps.add(head)
        except AisbenchError as error:  # a head without a stamp is worth keeping, too
            LOG.error("the head of the audit has no time stamp: %s", error)  # noqa: TRY400  # ours need no traceback
            return head

    def tick(self) -> None:
        """Publish and notify once a day, where that is configured. Never raises: runs must go on."""
        now = self.clock()
        if self._tried and abs(now - self._tried) < PAUSE:
            return
        self._tried = now
        self._act_daily("head.publish", self.publish, lambda: bool(self.settings.head_directory), now)
        self._act_daily("head.notify", self.notify, lambda: self.notifications.is_told(NewsKind.HEAD), now)

    def _act_daily(
        self, change: str, act: Callable[[Actor], object], is_wanted: Callable[[], bool], now: datetime
    ) -> None:
        try:
            if not is_wanted():
                return
            last = self.audit.last_done(change)
            if last is None or now - last.at >= EVERY:
                act(_FOLLOWER)
        except AisbenchError as error:
            LOG.error("the head of the audit was not published: %s", error)  # noqa: TRY400  # ours need no traceback
        except Exception:
            LOG.exception("the head of the audit was not published: a bug")
