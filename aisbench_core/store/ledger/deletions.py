"""Runs that somebody deleted, in the ledger's file; the rows of the runs themselves stay."""

from dataclasses import dataclass
from datetime import datetime

from aisbench_core.base.errors import StaleRun
from aisbench_core.base.messages import Message
from aisbench_core.model import TERMINAL, Event
from aisbench_core.store.ledger.database.connection import Row
from aisbench_core.store.ledger.database.rows import insert_row, make_marks
from aisbench_core.store.ledger.ledger import Ledger, add_event, as_text, as_time

MOST = 50  # that are ended at a time


@dataclass(frozen=True, slots=True)
class Deletion:
    """That a run was deleted: it is in no list and no statistic, and all but its record is removed.

    `ended_at` is None until all of it is removed."""

    run_id: str
    at: datetime
    who: str
    reason: str
    ended_at: datetime | None = None


class DeletionLedger:
    """Deletions by run. Threads and processes may share it."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def find(self, run_id: str) -> Deletion | None:
        """That a run, by its whole id, was deleted; None if it was not."""
        rows = self._ledger.rows("select * from deletions where run_id = ?", [run_id])
        return _deletion_of(rows[0]) if rows else None

    def list_begun(self) -> list[Deletion]:
        """Deletions of which something is still to be removed, the oldest first."""
        rows = self._ledger.rows("select * from deletions where ended_at is null order by at limit ?", [MOST])
        return [_deletion_of(row) for row in rows]

    def add(self, deletion: Deletion, event: Event) -> None:
        """Delete an ended run; one that is deleted stays as it is. Raises StaleRun if it is active now."""
        row = {
            "run_id": deletion.run_id, "at": as_text(deletion.at), "who": deletion.who, "reason": deletion.reason,
            "ended_at": None,
        }  # fmt: skip
        with self._ledger.transaction() as con:
            if con.execute("select 1 from deletions where run_id = ?", [deletion.run_id]).fetchone():
                return
            # Its version grows, so that whoever is about to collect it again is refused.
            done = con.execute(
                f"update runs set version = version + 1 where run_id = ? and state in {make_marks(TERMINAL)}",  # noqa: S608  # only ? marks
                [deletion.run_id, *TERMINAL],
            )
            if done.rowcount != 1:
                raise StaleRun(
                    Message("run {run_id} is active again", run_id=deletion.run_id), Message("stop it first")
                )
            insert_row(con, "deletions", row)
            add_event(con, event)

    def end(self, run_id: str, at: datetime, event: Event) -> None:
        """Store that all of it is removed."""
        with self._ledger.transaction() as con:
            con.execute("update deletions set ended_at = ? where run_id = ?", [as_text(at), run_id])
            add_event(con, event)


def _deletion_of(row: Row) -> Deletion:
    ended_at = as_time(row["ended_at"]) if row["ended_at"] else None
    return Deletion(row["run_id"], as_time(row["at"]), row["who"], row["reason"], ended_at)
