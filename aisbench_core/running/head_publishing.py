"""Publishes the signed head of the audit on OBS, daily: what is kept elsewhere proves that the audit was not cut."""

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta

from aisbench_core.base.errors import AisbenchError, ConfigError
from aisbench_core.base.messages import Message
from aisbench_core.cloud.ports import Connect
from aisbench_core.config.settings import Settings
from aisbench_core.domain.access import permitted
from aisbench_core.domain.access.changes import note_values
from aisbench_core.model import Actor, Clock, WayIn, local_actor
from aisbench_core.running.time_stamps import TimeStamps
from aisbench_core.store.audit.audit import Audit
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
    heads: Heads
    audit: Audit
    connect: Connect
    stamps: TimeStamps
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

    def _stamp(self, head: SignedHead) -> SignedHead:
        try:
            return self.stamps.add(head)
        except AisbenchError as error:  # a head without a stamp is worth keeping, too
            LOG.error("the head of the audit has no time stamp: %s", error)  # noqa: TRY400  # ours need no traceback
            return head

    def tick(self) -> None:
        """Publish once a day, where it is configured. Never raises: runs must go on."""
        now = self.clock()
        if not self.settings.head_directory or (self._tried and abs(now - self._tried) < PAUSE):
            return
        self._tried = now
        try:
            last = self.audit.last_done("head.publish")
            if last is None or now - last.at >= EVERY:
                self.publish(_FOLLOWER)
        except AisbenchError as error:
            LOG.error("the head of the audit was not published: %s", error)  # noqa: TRY400  # ours need no traceback
        except Exception:
            LOG.exception("the head of the audit was not published: a bug")
