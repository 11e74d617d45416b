"""Series that wait for an approval: each is held as a whole, before its first run or where it exceeds a budget."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from aisbench_core.model import Event, ExpectedCost, Run, RunState, Series
from aisbench_core.people.budgets.holds import hold_reason
from aisbench_core.people.budgets.ledger import PlannedLaunch
from aisbench_core.store.ledger.database.connection import LedgerConnection
from aisbench_core.store.ledger.ledger import Check, Ledger, add_event, as_text
from aisbench_core.store.ledger.limits import LaunchLimits
from aisbench_core.store.ledger.series import SeriesCheck, hold_series

_NOT_HELD = "held = '', held_data = '', held_until = null"


@dataclass(frozen=True, slots=True)
class SeriesHolds:
    """Decisions on held series in the ledger; each is made once."""

    ledger: Ledger

    def requesters(self, series_id: str) -> set[str]:
        """Who launched a series, and who had those of its cells run again that wait."""
        with self.ledger.connection() as con:
            return _list_requesters(con, series_id)

    def approve(self, series_id: str, event: Event, check: Callable[[set[str]], None]) -> bool:
        """Let a held series go on, whatever budgets say; False if it is not held.

        `check` raises to refuse it, by the requesters of that moment."""
        with self.ledger.transaction() as con:
            check(_list_requesters(con, series_id))
            return _store_decision(con, series_id, event, f"{_NOT_HELD}, approved = 1")

    def end(self, series_id: str, event: Event) -> bool:
        """Cancel what a held series has not launched yet; False if it is not held."""
        with self.ledger.transaction() as con:
            if not _store_decision(con, series_id, event, _NOT_HELD):
                return False
            con.execute("update attempts set cancelled = 1 where series_id = ? and run_id = ''", [series_id])
            return True

    def list_waiting(self) -> list[str]:
        """The ids of held series, the newest first."""
        rows = self.ledger.rows(
            "select series_id from series where held <> '' order by created_at desc, series_id desc"
        )
        return [row["series_id"] for row in rows]

    def list_expired(self, now: datetime) -> list[str]:
        """The ids of series that nobody approved in time."""
        query = "select series_id from series where held <> '' and held_until <= ?"
        return [row["series_id"] for row in self.ledger.rows(query, [as_text(now)])]


def series_check(launch: PlannedLaunch, approval_days: int) -> SeriesCheck:
    """What is checked in the transaction that stores a series, or more attempts at its cells, before these."""

    def check(con: LedgerConnection, series: Series) -> Series:
        reason = hold_reason(con, launch)
        if reason is None:
            return series
        hold_series(con, series.series_id, reason, launch.at, launch.at + timedelta(days=approval_days))
        return replace(series, held=reason, approved=False)

    return check


def cell_check(limits: LaunchLimits, cost: ExpectedCost, approval_days: int) -> Check:
    """What is checked in the transaction that stores the run of a cell; one that is returned as held is not stored."""

    def check(con: LedgerConnection, run: Run) -> Run:
        run = replace(limits.require_room(con, run), expected_cost=cost.amount)
        launch = PlannedLaunch(run.created_by, cost, run.created_at, run.series_id)
        reason = None if _is_approved(con, run.series_id) else hold_reason(con, launch)
        if reason is None:
            return run
        until = run.created_at + timedelta(days=approval_days)
        return replace(run, state=RunState.HELD, detail=reason, next_step_at=until)

    return check


def _list_requesters(con: LedgerConnection, series_id: str) -> set[str]:
    query = (
        "select created_by as name from series where series_id = ?"
        " union select requested_by from attempts where series_id = ? and run_id = '' and cancelled = 0"
    )
    return {row["name"] for row in con.execute(query, [series_id, series_id])}


def _is_approved(con: LedgerConnection, series_id: str) -> bool:
    return bool(con.execute("select approved from series where series_id = ?", [series_id]).fetchone()["approved"])


def _store_decision(con: LedgerConnection, series_id: str, event: Event, changes: str) -> bool:
    done = con.execute(f"update series set {changes} where series_id = ? and held <> ''", [series_id])  # noqa: S608  # ours
    if done.rowcount != 1:
        return False
    add_event(con, event)
    return True
