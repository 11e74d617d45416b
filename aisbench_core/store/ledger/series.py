"""Series in the ledger: their plans, the attempts at their cells, and the run of each attempt."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from pydantic import TypeAdapter

from aisbench_core.base.errors import NotAllowed, SeriesNotFound, StaleRun
from aisbench_core.base.messages import Message
from aisbench_core.base.messages.stored import from_json, to_json
from aisbench_core.model import (
    ACTIVE,
    Attempt,
    Event,
    Level,
    NewsKind,
    Notice,
    Role,
    Run,
    RunState,
    Series,
    SeriesPlan,
    SeriesRow,
    WayIn,
)
from aisbench_core.store.ledger.database.connection import LedgerConnection, Row
from aisbench_core.store.ledger.database.rows import insert_row, make_marks
from aisbench_core.store.ledger.ledger import (
    Check,
    Ledger,
    add_event,
    add_notice,
    as_text,
    as_time,
    columns_of,
    row_of,
    run_of,
)
from aisbench_core.store.ledger.limits import is_revoked
from aisbench_core.store.ledger.lineage import Parent, ParentKind, add_parents

BATCH = 500

SeriesCheck = Callable[[LedgerConnection, Series], Series]

ASK_AGAIN = Message("stop the series and run its cells again, or have an admin give the role again")

_ROWS = TypeAdapter(tuple[SeriesRow, ...])
# The columns of attempts, in the order of Attempt's fields.
_ATTEMPT = (
    "series_id, cell, number, row_index, repeat, requested_by, requested_at, run_id, cancelled, expected_cost,"
    " currency, role, token_id"
)


@dataclass(frozen=True, slots=True)
class SeriesLedger:
    """Threads and processes may share it, like the ledger."""

    ledger: Ledger

    def add(
        self,
        series: Series,
        attempts: Sequence[Attempt],
        event: Event,
        token: str = "",
        check: SeriesCheck = lambda _con, series: series,
    ) -> Series:
        """Store a series with the first attempt at each cell, in one transaction. A token is stored once.

        `check` returns it as it is stored, which may be held."""
        row = {
            "series_id": series.series_id,
            "name": series.plan.name,
            "profile": series.profile,
            "plan": series.plan.model_dump_json(),
            "cells": _ROWS.dump_json(series.rows).decode(),
            "created_at": as_text(series.created_at),
            "created_by": series.created_by,
            "budget": series.budget,
            "launch_error": "",
            "token": token or None,
        }
        with self.ledger.transaction() as con:
            earlier = con.execute("select * from series where token = ?", [token]).fetchone() if token else None
            if earlier:
                return _to_series(earlier)
            insert_row(con, "series", row)
            add_event(con, event)
            series = check(con, series)
            _add_attempts(con, attempts)
        return series

    def get(self, series_id: str) -> Series:
        """One series by its id or a unique prefix of it. Raises SeriesNotFound."""
        found = self.ledger.starting_with("series", "series_id", series_id)
        if len(found) == 1:
            return _to_series(found[0])
        if found:
            raise SeriesNotFound(
                Message("several series start with {start!r}", start=series_id),
                Message("enter more characters of the id"),
            )
        raise SeriesNotFound(
            Message("there is no series {series_id!r}", series_id=series_id),
            Message("`aisbench series list` lists them"),
        )

    def launched_with(self, token: str) -> Series | None:
        """The series that was stored with this token, if there is one."""
        return next(
            (_to_series(row) for row in self.ledger.rows("select * from series where token = ?", [token])), None
        )

    def list_launches(self) -> list[tuple[datetime, str]]:
        """Launch time and id of every series."""
        rows = self.ledger.rows("select created_at, series_id from series")
        return [(as_time(row["created_at"]), row["series_id"]) for row in rows]

    def of(self, series_ids: Collection[str]) -> list[Series]:
        """Those of the series that this ledger has."""
        query = f"select * from series where series_id in {make_marks(series_ids)}"  # noqa: S608  # only ? marks
        return [_to_series(row) for row in self.ledger.rows(query, series_ids)]

    def all(self) -> Iterator[Series]:
        """Every series, newest first."""
        ids = [series_id for _, series_id in self.list_launches()]
        for begin in range(0, len(ids), BATCH):
            yield from self.of(ids[begin : begin + BATCH])

    def list_waiting(self) -> list[Series]:
        """Series with cells still to be launched, oldest first, without those that wait for an approval."""
        query = (
            "select * from series where series_id in"
            " (select series_id from attempts where run_id = '' and cancelled = 0) and held = ''"
            " order by created_at, series_id"
        )
        return [_to_series(row) for row in self.ledger.rows(query)]

    def attempts(self, series_ids: Collection[str]) -> list[Attempt]:
        """All attempts at the cells of these series, in launch order."""
        where = f"series_id in {make_marks(series_ids)} order by series_id, number, cell"
        rows = self.ledger.rows(f"select {_ATTEMPT} from attempts where {where}", series_ids)  # noqa: S608  # only ? marks
        return [_to_attempt(row) for row in rows]

    def runs(self, series_ids: Collection[str]) -> list[Run]:
        """The runs of these series, oldest first."""
        where = f"series_id <> '' and series_id in {make_marks(series_ids)} order by created_at, run_id"
        return [run_of(row) for row in self.ledger.rows(f"select * from runs where {where}", series_ids)]  # noqa: S608  # only ? marks

    def active(self) -> list[Run]:
        """The active runs of all series."""
        query = f"select * from runs where series_id <> '' and state in {make_marks(ACTIVE)}"  # noqa: S608  # only ? marks
        return [run_of(row) for row in self.ledger.rows(query, ACTIVE)]

    def admit(
        self,
        attempt: Attempt,
        run: Run,
        event: Event,
        row: SeriesRow | None = None,
        check: Check = lambda _con, run: run,
    ) -> Run:
        """Store the run of an attempt, once. Raises StaleRun when it has a run already, was cancelled, or is held, and
        NotAllowed if whoever requested it may not launch any more.

        `row`: the row of a trial whose values were chosen just now, in place of the one without values. `check`: as in
        `Ledger.add`; a held run is not stored, and holds the whole series."""
        with self.ledger.transaction() as con:
            done = con.execute(
                "update attempts set run_id = ? where series_id = ? and cell = ? and number = ?"
                " and run_id = '' and cancelled = 0 and series_id in (select series_id from series where held = '')",
                [run.run_id, attempt.series_id, attempt.cell, attempt.number],
            )
            if done.rowcount != 1:
                raise StaleRun(
                    Message(
                        "cell {cell} of series {series_id} is launched, cancelled or held already",
                        cell=attempt.cell,
                        series_id=attempt.series_id,
                    )
                )
            _require_access(con, attempt)
            run = check(con, run)
            if run.state is RunState.HELD:
                _take_back(con, attempt)
                hold_series(con, attempt.series_id, run.detail, run.created_at, run.next_step_at)
                return run
            if row is not None:
                _replace_row(con, attempt, row)
            insert_row(con, "runs", row_of(run))
            add_parents(con, run, _list_retried(con, attempt))
            add_event(con, event)
        return run

    def cancel(self, series_id: str, event: Event) -> int:
        """Cancel every attempt that is not launched yet; returns their number."""
        with self.ledger.transaction() as con:
            done = con.execute(
                "update attempts set cancelled = 1 where series_id = ? and run_id = '' and cancelled = 0", [series_id]
            )
            con.execute(
                "update series set held = '', held_data = '', held_until = null where series_id = ?", [series_id]
            )
            add_event(con, event)
            return done.rowcount

    def drop_waiting(self, series_id: str, rows: Collection[int], event: Event) -> None:
        """Forget the attempts at cells of these rows that are not launched yet: nobody needs them any more. Can be
        repeated."""
        with self.ledger.transaction() as con:
            done = con.execute(
                f"delete from attempts where series_id = ? and row_index in {make_marks(rows)}"  # noqa: S608  # only ? marks
                " and run_id = '' and cancelled = 0",
                [series_id, *rows],
            )
            if done.rowcount:
                add_event(con, event)

    def add_attempts(
        self,
        series: Series,
        attempts: Sequence[Attempt],
        event: Event,
        check_of: Callable[[Sequence[Attempt]], SeriesCheck],
    ) -> None:
        """Add attempts, once: those that somebody else has just added change nothing. `check_of`: as in `add`."""
        with self.ledger.transaction() as con:
            there = _list_keys(con, series.series_id)
            missing = [attempt for attempt in attempts if (attempt.cell, attempt.number) not in there]
            if missing:
                add_event(con, event)
                check_of(missing)(con, series)
                _add_attempts(con, missing)

    def set_budget(self, series_id: str, budget: float | None, event: Event) -> None:
        """Change the budget, in node hours."""
        with self.ledger.transaction() as con:
            con.execute("update series set budget = ? where series_id = ?", [budget, series_id])
            add_event(con, event)

    def set_launch_error(self, series_id: str, error: str, event: Event | None = None) -> None:
        """Store why the next cell cannot be launched; empty clears it."""
        with self.ledger.transaction() as con:
            con.execute(
                "update series set launch_error = ?, launch_error_data = ? where series_id = ?",
                [error, to_json(error), series_id],
            )
            add_event(con, event)


def hold_series(con: LedgerConnection, series_id: str, reason: str, at: datetime, until: datetime) -> None:
    """Launch nothing more of a series until somebody approves it, and tell people; within a transaction."""
    con.execute(
        "update series set held = ?, held_data = ?, held_until = ?, approved = 0 where series_id = ?",
        [str(reason), to_json(reason), as_text(until), series_id],
    )
    text = Message("waits for approval: {reason}", reason=reason)
    add_event(con, Event(series_id, at, WayIn.FOLLOWER, Level.WARNING, text))
    add_notice(con, Notice(f"{NewsKind.HELD}:{series_id}:{as_text(at)}", series_id, NewsKind.HELD, at, reason))


def _to_attempt(row: Row) -> Attempt:
    at, cancelled = as_time(row["requested_at"]), bool(row["cancelled"])
    values = (*row[:6], at, row["run_id"], cancelled, *row[9:11], Role(row["role"]), row["token_id"])
    return Attempt(*values)


def _list_keys(con: LedgerConnection, series_id: str) -> set[tuple[int, int]]:
    rows = con.execute("select cell, number from attempts where series_id = ?", [series_id])
    return {(row["cell"], row["number"]) for row in rows}


def _add_attempts(con: LedgerConnection, attempts: Sequence[Attempt]) -> None:
    con.executemany(
        f"insert into attempts ({_ATTEMPT}) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608  # columns of ours
        [tuple(columns_of(attempt).values()) for attempt in attempts],
    )


def _require_access(con: LedgerConnection, attempt: Attempt) -> None:
    """A second look, as people are revoked while a run is prepared."""
    if is_revoked(con, attempt.requested_by):
        raise NotAllowed(Message("the access of {who} was revoked", who=attempt.requested_by), ASK_AGAIN)
    query = "select revoked_by from tokens where token_id = ? and revoked_at is not null"
    if found := con.execute(query, [attempt.token_id]).fetchone():
        who, token_id = found["revoked_by"], attempt.token_id
        raise NotAllowed(Message("token {token_id} was revoked by {who}", token_id=token_id, who=who), ASK_AGAIN)


def _take_back(con: LedgerConnection, attempt: Attempt) -> None:
    where = "series_id = ? and cell = ? and number = ?"
    con.execute(
        f"update attempts set run_id = '' where {where}",  # noqa: S608  # only ? marks
        [attempt.series_id, attempt.cell, attempt.number],
    )


def _replace_row(con: LedgerConnection, attempt: Attempt, row: SeriesRow) -> None:
    stored = con.execute("select cells from series where series_id = ?", [attempt.series_id]).fetchone()
    rows = list(_ROWS.validate_json(stored["cells"]))
    rows[attempt.row] = row
    cells = _ROWS.dump_json(tuple(rows)).decode()
    con.execute("update series set cells = ? where series_id = ?", [cells, attempt.series_id])


def _to_series(row: Row) -> Series:
    return Series(
        row["series_id"],
        SeriesPlan.model_validate_json(row["plan"]),
        _ROWS.validate_json(row["cells"]),
        row["profile"],
        as_time(row["created_at"]),
        row["created_by"],
        row["budget"],
        from_json(row["launch_error"], row["launch_error_data"]),
        from_json(row["held"], row["held_data"]),
        bool(row["approved"]),
    )


def _list_retried(con: LedgerConnection, attempt: Attempt) -> list[Parent]:
    """The run of the attempt before this one, at the same cell."""
    earlier = con.execute(
        "select run_id from attempts where series_id = ? and cell = ? and number < ? and run_id <> ''"
        " order by number desc limit 1",
        [attempt.series_id, attempt.cell, attempt.number],
    ).fetchone()
    return [Parent(earlier["run_id"], ParentKind.RETRY)] if earlier else []
