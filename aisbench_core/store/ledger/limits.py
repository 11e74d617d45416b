"""Limits of launches per person, checked in the transaction that stores a run: racing launches never exceed them."""

from dataclasses import dataclass
from datetime import timedelta

from aisbench_core.base.errors import TooManyRuns
from aisbench_core.base.messages import Message
from aisbench_core.model import ACTIVE, Run
from aisbench_core.store.ledger.database.connection import LedgerConnection
from aisbench_core.store.ledger.database.rows import make_marks
from aisbench_core.store.ledger.ledger import as_text, as_time

WINDOW = timedelta(hours=1)

_ACTIVE = f"select count(*) from runs where state in {make_marks(ACTIVE)} and created_by = ?"  # noqa: S608  # only ? marks

# Of the newest launches within the window, as many as are allowed: the last one's end of the window makes room.
_RECENT = "select created_at from runs where created_at > ? and created_by = ? order by created_at desc limit ?"


def is_revoked(con: LedgerConnection, who: str) -> bool:
    """Whether somebody's access was revoked, within a transaction."""
    return con.execute("select 1 from people where name = ? and revoked <> 0", [who]).fetchone() is not None


@dataclass(frozen=True, slots=True)
class LaunchLimits:
    """How many runs one person may launch within an hour, and have active at once; 0: no limit."""

    per_hour: int = 0
    at_once: int = 0

    def require_room(self, con: LedgerConnection, run: Run) -> Run:
        """Raises TooManyRuns if this run would be one too many of its person; within the transaction that stores it."""
        if self.at_once:
            self._require_active_below(con, run)
        if self.per_hour:
            self._require_recent_below(con, run)
        return run

    def _require_active_below(self, con: LedgerConnection, run: Run) -> None:
        [active] = con.execute(_ACTIVE, [*ACTIVE, run.created_by]).fetchone()
        if active >= self.at_once:
            raise TooManyRuns(
                Message(
                    "{who} has as many active runs as `runs_at_once` allows ({limit})",
                    who=run.created_by,
                    limit=self.at_once,
                ),
                Message("wait until one has ended, or stop one"),
            )

    def _require_recent_below(self, con: LedgerConnection, run: Run) -> None:
        since = as_text(run.created_at - WINDOW)
        recent = con.execute(_RECENT, [since, run.created_by, self.per_hour]).fetchall()
        if len(recent) >= self.per_hour:
            free = as_time(recent[-1]["created_at"]) + WINDOW
            raise TooManyRuns(
                Message(
                    "{who} has launched as many runs within an hour as `launches_per_hour` allows ({limit})",
                    who=run.created_by,
                    limit=self.per_hour,
                ),
                Message("the next one can be launched at {time} UTC", time=f"{free:%H:%M:%S}"),
            )
