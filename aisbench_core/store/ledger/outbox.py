"""The outbox: what happened, and what is still to be sent to whom, in the ledger's file.

A notice is stored in the transaction that changes the run. Deliveries are made from it in one transaction, and end
as sent or given up; so a process that is killed at any time loses nothing, and sends at worst twice, under one id."""

import json
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from aisbench_core.base.messages import message_of
from aisbench_core.base.messages.stored import from_json, to_json
from aisbench_core.model import Delivery, DeliveryState, News, NewsKind, Notice
from aisbench_core.store.ledger.database.rows import insert_new, make_marks
from aisbench_core.store.ledger.ledger import Ledger, as_text, as_time

MAX_NOTICES = 50  # that are worked on at a time
MOST_STORED = 1000  # deliveries that are kept after their end, for the page
FIRST_DELAY, LONGEST_DELAY = timedelta(seconds=30), timedelta(hours=4)
MOST_ATTEMPTS = 12  # about a day

# More messages than these for one channel at once become one.
DIGEST_FROM = 5


class Outbox:
    """Notices and deliveries. Threads and processes may share it; one follower at a time sends."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def notices(self) -> list[Notice]:
        """What happened and was not looked at yet, the oldest first."""
        query = f"select * from notices order by at, notice_id limit {MAX_NOTICES}"  # noqa: S608  # a number of ours
        return [
            Notice(
                row["notice_id"], row["subject"], row["kind"], as_time(row["at"]), from_json(row["text"], row["data"])
            )
            for row in self._ledger.rows(query)
        ]

    def fill(self, notice: Notice, deliveries: Iterable[tuple[str, News]]) -> None:
        """Replace a notice by a delivery for each channel. What was told once is not told again."""
        with self._ledger.transaction() as con:
            for channel, news in deliveries:
                row = {
                    "delivery_id": f"{news.news_id}>{channel}", "message_id": f"{news.news_id}>{channel}",
                    "channel": channel, "notification": _dump_news(news), "at": as_text(news.at),
                    "state": DeliveryState.PENDING,
                    "attempts": 0, "next_at": as_text(news.at), "error": "", "error_data": "", "sent_at": None,
                }  # fmt: skip
                insert_new(con, "deliveries", row)
            con.execute("delete from notices where notice_id = ?", [notice.notice_id])

    def has_announced(self, news_id: str) -> bool:
        """Whether there is or was a delivery of these news to anybody, as far as it is kept."""
        # A delivery's id is that of its news, ">" and the channel.
        known = "select 1 from deliveries where delivery_id like ? limit 1"
        return bool(self._ledger.rows(known, [f"{news_id}>%"]))

    def due(self, now: datetime) -> list[Delivery]:
        """The next message that is due, with all its deliveries; many for one channel have become one before."""
        # Asked at every tick: to write, even nothing, would make all others wait.
        some = "select 1 from deliveries where state = ? and next_at <= ? limit 1"
        if not self._ledger.rows(some, [DeliveryState.PENDING, as_text(now)]):
            return []
        with self._ledger.transaction() as con:
            pending = "select channel, count(*), min(message_id) from deliveries where state = ? and attempts = 0"
            crowded = con.execute(f"{pending} and message_id = delivery_id group by channel", [DeliveryState.PENDING])
            for channel, count, first in crowded.fetchall():
                if count > DIGEST_FROM:
                    con.execute(
                        "update deliveries set message_id = ? where channel = ? and state = ? and attempts = 0",
                        [f"{first}+{count - 1}", channel, DeliveryState.PENDING],
                    )
            next_one = con.execute(
                "select message_id from deliveries where state = ? and next_at <= ? order by next_at limit 1",
                [DeliveryState.PENDING, as_text(now)],
            ).fetchone()
            if next_one is None:
                return []
            # Counted before it is sent: a message that may have arrived keeps its id, and is joined with no other.
            con.execute("update deliveries set attempts = attempts + 1 where message_id = ?", [next_one[0]])
            rows = con.execute("select * from deliveries where message_id = ? order by at", [next_one[0]]).fetchall()
            return [_to_delivery(row) for row in rows]

    def mark_sent(self, message_id: str, now: datetime) -> None:
        """The message arrived. Old deliveries are forgotten, except those that keep a change from being told again."""
        with self._ledger.transaction() as con:
            con.execute(
                "update deliveries set state = ?, sent_at = ?, error = '', error_data = '' where message_id = ?",
                [DeliveryState.SENT, as_text(now), message_id],
            )
            con.execute(
                "delete from deliveries where state <> ? and delivery_id not like 'regression:%'"
                " and delivery_id not like 'improvement:%' and delivery_id not in"
                " (select delivery_id from deliveries where state <> ? order by at desc limit ?)",
                [DeliveryState.PENDING, DeliveryState.PENDING, MOST_STORED],
            )

    def not_sent(self, delivery: Delivery, why: str, now: datetime) -> None:
        """The message did not arrive: again later, up to MOST_ATTEMPTS times."""
        delay = min(FIRST_DELAY * 2 ** min(delivery.attempts - 1, 20), LONGEST_DELAY)
        state = DeliveryState.GIVEN_UP if delivery.attempts >= MOST_ATTEMPTS else DeliveryState.PENDING
        with self._ledger.transaction() as con:
            con.execute(
                "update deliveries set state = ?, next_at = ?, error = ?, error_data = ? where message_id = ?",
                [state, as_text(now + delay), why, to_json(message_of(why)), delivery.message_id],
            )

    def forget(self, notice: Notice) -> None:
        """Remove a notice that nobody can be told of."""
        with self._ledger.transaction() as con:
            con.execute("delete from notices where notice_id = ?", [notice.notice_id])

    def drop(self, channel: str) -> None:
        """Forget what a removed channel was still to be sent."""
        with self._ledger.transaction() as con:
            con.execute("delete from deliveries where channel = ? and state = ?", [channel, DeliveryState.PENDING])

    def retry(self, message_ids: Sequence[str], now: datetime) -> None:
        """Try these again now, with all attempts."""
        with self._ledger.transaction() as con:
            marks = make_marks(message_ids)
            con.execute(
                f"update deliveries set state = ?, attempts = 0, next_at = ? where message_id in {marks}",  # noqa: S608  # only ? marks
                [DeliveryState.PENDING, as_text(now), *message_ids],
            )

    def page(self, limit: int, offset: int = 0) -> tuple[list[Delivery], int]:
        """The newest deliveries, and how many there are."""
        rows = self._ledger.rows(
            "select * from deliveries order by at desc, delivery_id limit ? offset ?", [limit, offset]
        )
        [(total,)] = self._ledger.rows("select count(*) from deliveries")
        return [_to_delivery(row) for row in rows], total


def _to_delivery(row: Any) -> Delivery:
    return Delivery(
        row["message_id"], row["channel"], _load_news(row["notification"]), DeliveryState(row["state"]),
        row["attempts"], as_time(row["next_at"]), from_json(row["error"], row["error_data"]),
        as_time(row["sent_at"]) if row["sent_at"] else None,
    )  # fmt: skip


def _dump_news(news: News) -> str:
    fields = {
        "id": news.news_id, "kind": news.kind, "subject": news.subject, "at": as_text(news.at),
        "title": [str(news.title), to_json(news.title)], "text": [str(news.text), to_json(news.text)],
        "facts": dict(news.facts),
    }  # fmt: skip
    return json.dumps(fields, ensure_ascii=False)


def _load_news(text: str) -> News:
    fields = json.loads(text)
    title, body = (message_of(from_json(*fields[name])) for name in ("title", "text"))
    return News(
        fields["id"], NewsKind(fields["kind"]), fields["subject"], as_time(fields["at"]), title, body,
        fields["facts"],
    )  # fmt: skip
