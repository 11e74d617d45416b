"""What the stall guard knows of each run, in the ledger's file: a warning is stored with the state that it is about.

So a follower that is killed at any time neither loses a warning nor gives it twice."""

from collections.abc import Collection
from datetime import datetime

from pydantic import TypeAdapter

from aisbench_core.domain.liveness.stalls import LEARNT_RUNS, Watch
from aisbench_core.model import Event, Notice
from aisbench_core.store.ledger.database.rows import make_marks, replace_row
from aisbench_core.store.ledger.ledger import Ledger, add_event, add_notice, as_text

_WATCH = TypeAdapter(Watch)


class WatchLedger:
    """Watches by run. Threads and processes may share it."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def get(self, run_id: str) -> Watch | None:
        """What is known of a run; None before it was quiet for the first time."""
        return self.of([run_id]).get(run_id)

    def of(self, run_ids: Collection[str]) -> dict[str, Watch]:
        """What is known of these runs, by run_id."""
        query = f"select run_id, data from watches where run_id in {make_marks(run_ids)}"  # noqa: S608  # only ? marks
        return {row["run_id"]: _WATCH.validate_json(row["data"]) for row in self._ledger.rows(query, run_ids)}

    def earlier(self, configuration: str) -> list[Watch]:
        """The newest completed runs of a configuration, the newest first."""
        query = "select data from watches where configuration = ? and completed_at is not null"
        rows = self._ledger.rows(f"{query} order by completed_at desc limit {LEARNT_RUNS}", [configuration])
        return [_WATCH.validate_json(row["data"]) for row in rows]

    def save(
        self,
        run_id: str,
        configuration: str,
        watch: Watch,
        *,
        completed_at: datetime | None = None,
        events: Collection[Event] = (),
        notices: Collection[Notice] = (),
    ) -> None:
        """Replace what is known of a run, and store what is to be told of it, in one transaction."""
        row = {
            "run_id": run_id, "configuration": configuration, "data": _WATCH.dump_json(watch).decode(),
            "completed_at": as_text(completed_at) if completed_at else None,
        }  # fmt: skip
        with self._ledger.transaction() as con:
            replace_row(con, "watches", "run_id", row)
            for event in events:
                add_event(con, event)
            for notice in notices:
                add_notice(con, notice)
