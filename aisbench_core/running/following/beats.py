"""Heartbeats of followers, in the ledger: who follows the runs of which profiles."""

import json
from dataclasses import dataclass
from datetime import datetime, timedelta

from aisbench_core.base.messages import message_of
from aisbench_core.base.messages.stored import from_json, to_json
from aisbench_core.store.ledger.database.connection import ProfileShare, Row
from aisbench_core.store.ledger.database.rows import replace_row
from aisbench_core.store.ledger.ledger import Beat, Ledger, as_text, as_time

RETENTION = timedelta(minutes=1)
"""Beats of followers that have ended are forgotten after this."""


@dataclass(frozen=True, slots=True)
class SharedBeat:
    """The last heartbeat of one of several followers, the profiles whose runs it follows, and how far the ledger's
    clock is ahead of its machine's."""

    beat: Beat
    profiles: tuple[str, ...]
    clock_ahead: timedelta = timedelta()


class Beats:
    """Heartbeats: of the one that leads, and of each of several followers."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def save(self, who: str, at: datetime, share: ProfileShare) -> None:
        """Store a heartbeat; `who`: a Message for people."""
        if share.leads:
            self._ledger.beat(who, at)
        if share.held is None:
            return
        profiles = json.dumps(sorted(share.held))
        row: dict[str, object] = {
            "who": who,
            "at": as_text(at),
            "who_data": to_json(message_of(who)),
            "profiles": profiles,
        }
        row["clock_ahead_s"] = self._ledger.clock_ahead().total_seconds()
        with self._ledger.transaction() as con:
            replace_row(con, "followers", "who", row)
            con.execute("delete from followers where at < ?", [as_text(at - RETENTION)])

    def list_shared(self, now: datetime) -> list[SharedBeat]:
        """The followers that share the profiles, by name, the fresh ones only; none where one follows everything."""
        rows = self._ledger.rows("select who, at, who_data, profiles, clock_ahead_s from followers order by who")
        return [beat for beat in map(_to_beat, rows) if beat.beat.is_fresh(now)]


def _to_beat(row: Row) -> SharedBeat:
    beat = Beat(from_json(row["who"], row["who_data"]), as_time(row["at"]))
    return SharedBeat(beat, tuple(json.loads(row["profiles"])), timedelta(seconds=row["clock_ahead_s"]))
