"""Notifications: what the follower does for them at each tick, and what people do with channels."""

import logging
import secrets
from collections.abc import Callable, Mapping, Sequence

from aisbench_core.base.errors import AisbenchError, ConfigError
from aisbench_core.base.messages import Message
from aisbench_core.config.console_address import url_of
from aisbench_core.config.settings import Settings
from aisbench_core.domain.access import permitted
from aisbench_core.domain.access.changes import log_change
from aisbench_core.model import Actor, Clock, Delivery, News, NewsKind
from aisbench_core.people.notifications.channels import NotificationChannel, NotificationChannels
from aisbench_core.people.notifications.news import Newsroom
from aisbench_core.people.notifications.sending import Letter, MessageSender
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.store.ledger.outbox import Outbox
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.saved import BOARD, Address

LOG = logging.getLogger(__name__)

INTERNAL = Message("internal error: the traceback is in the log file")

# Filters of the leaderboard's URL, and the fact that each is about.
_FILTERS = {"model": "model", "workload": "workload", "version": "version", "flavor": "flavor", "nodes": "nodes"}


class Notifications:
    """Channels, their outbox, and sending. Threads may share it."""

    def __init__(
        self,
        settings: Settings,
        ledger: Ledger,
        warehouse: Warehouse,
        cause_of: Callable[[str], Message | None],
        clock: Clock,
    ) -> None:
        """`cause_of`: why a run failed, by its id, if that is known."""
        self._settings = settings
        self._ledger = ledger
        self._warehouse = warehouse
        self._clock = clock
        self._newsroom = Newsroom(ledger, warehouse, cause_of)
        self._sender = MessageSender(settings)
        self.channels = NotificationChannels(settings)
        self.outbox = Outbox(ledger)
        self._last_error = ""

    def tick(self) -> None:
        """Turn notices into deliveries, and send the next message that is due. Never raises: runs must go on."""
        try:
            channels = {channel.name: channel for channel in self.channels.all()}
            error = self._fill_outbox(channels)
            self._send_next(channels)
        except Exception as raised:
            error = raised
        self._log_once(error)

    @permitted
    def test(self, name: str, actor: Actor) -> None:
        """Send a test to a channel now. Raises what keeps it from arriving."""
        channel, now = self.channels.get(name), self._clock()
        log_change(actor, f"notification channel {name} tested")
        text = Message("This is a test of channel {name}. No action is needed.", name=name)
        news = News(f"test:{secrets.token_hex(4)}", NewsKind.COMPLETED, name, now, Message("Test"), text, {})
        self._sender.send(channel, Letter(news.news_id, [news], self._link), now)

    @permitted
    def remove(self, name: str, actor: Actor) -> None:
        """Remove a channel, and what it was still to be sent. Raises ConfigError if there is none of that name."""
        self.channels.remove(name, actor)
        self.outbox.drop(name)

    @permitted
    def retry(self, message_ids: Sequence[str], actor: Actor) -> None:
        """Try messages that were given up again, with all attempts."""
        log_change(actor, f"notifications tried again: {len(message_ids)}")
        self.outbox.retry(message_ids, self._clock())

    def is_told(self, kind: NewsKind) -> bool:
        """Whether a channel wants to be told of it."""
        return any(kind in channel.events for channel in self.channels.all())

    def _log_once(self, error: Exception | None) -> None:
        said = str(error) if error else ""
        if error and said != self._last_error:
            bug = None if isinstance(error, AisbenchError) else error
            LOG.error("notifications: %s", said, exc_info=bug)  # ours need no traceback
        self._last_error = said

    def _fill_outbox(self, channels: Mapping[str, NotificationChannel]) -> Exception | None:
        """Make deliveries of notices; a notice that cannot be read now holds up no other. Returns the last error."""
        last: Exception | None = None
        wanted = {kind for channel in channels.values() for kind in channel.events}
        for notice in self.outbox.notices():
            if notice.kind not in {*NewsKind}:  # of a newer version
                self.outbox.forget(notice)
                continue
            try:
                news = list(self._newsroom.news_of(notice, wanted)) if channels else []
            except Exception as error:  # such as a warehouse that another process holds: the next tick asks again
                last = error
                continue
            deliveries = [
                (name, each) for name, channel in channels.items() for each in news if self._is_wanted(channel, each)
            ]
            self.outbox.fill(notice, deliveries)
        return last

    def _send_next(self, channels: Mapping[str, NotificationChannel]) -> None:
        now = self._clock()
        due = self.outbox.due(now)
        if not due:
            return
        first = due[0]
        try:
            self._send_due(channels.get(first.channel), due)
        except AisbenchError as error:
            self.outbox.not_sent(first, error.sentence, now)
        except Exception:
            LOG.exception("notification to %s: a bug", first.channel)
            self.outbox.not_sent(first, INTERNAL, now)
        else:
            self.outbox.mark_sent(first.message_id, self._clock())

    def _send_due(self, channel: NotificationChannel | None, due: list[Delivery]) -> None:
        if channel is None:
            raise ConfigError(Message("the channel was removed"))
        letter = Letter(due[0].message_id, [each.notification for each in due], self._link)
        self._sender.send(channel, letter, self._clock())

    def _is_wanted(self, channel: NotificationChannel, news: News) -> bool:
        facts = news.facts
        return (
            news.kind in channel.events
            and (not channel.workloads or facts["workload"] in channel.workloads)
            and (not channel.people or facts["person"] in channel.people)
            and (not channel.view or self._is_in_view(channel.view, news))
        )

    def _is_in_view(self, name: str, news: News) -> bool:
        views = self._warehouse.saved_views.on(BOARD)
        address = next((view.address for view in views if view.name == name), None)
        return address is not None and is_shown(address, news)

    def _link(self, news: News) -> str:
        settings = self._settings
        scheme = "https" if settings.tls_certificate else "http"
        base = settings.public_url or url_of(settings.host, settings.port, scheme)
        if not news.facts:  # a test is about no run
            page = "notifications"
        elif news.kind is NewsKind.SKIPPED:
            page = "series"
        elif news.kind is NewsKind.BUDGET:
            page = "spending"
        elif news.kind is NewsKind.HEAD:
            page = "health"
        elif news.kind is NewsKind.SERIES or (news.kind is NewsKind.HELD and not self._ledger.has(news.subject)):
            page = f"series?series={news.subject}"
        else:
            page = f"live?run={news.subject}"
        return f"{base.rstrip('/')}/{page}"


def is_shown(address: Address, news: News) -> bool:
    """Whether a view of the leaderboard with this address shows the run that the news is about."""
    chosen = {name: values for name in _FILTERS if (values := address.get(name))}
    region = f"{news.facts['region']}~rehearsal" if news.facts["rehearsal"] else news.facts["region"]
    return (
        all(str(news.facts[_FILTERS[name]]) in values for name, values in chosen.items())
        and {*address.get("tag", ())} <= {*news.facts["tags"]}
        and address.get("region", (region,)) == (region,)
    )
