"""Series in the ledger: their plans, the attempts at their cells, and the run of each attempt."""

import sqlite3
from collections.abc import Collection, Sequence
from datetime import datetime

from pydantic import TypeAdapter

from aisbench_core.errors import SeriesNotFound, StaleRun
from aisbench_core.messages import Message, from_json, to_json
from aisbench_core.model import ACTIVE, Attempt, Event, Run, Series, SeriesPlan, SeriesRow
from aisbench_core.running.ledger import LAST_LETTER, Ledger
from aisbench_core.running.ledger_rows import add_event, as_text, as_time, insert_run, run_of

_ROWS = TypeAdapter(tuple[SeriesRow, ...])


class SeriesLedger:
    """Threads and processes may share it, like the ledger."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def add(self, series: Series, attempts: Sequence[Attempt], event: Event, token: str = "") -> Series:
        """Store a series with the first attempt at each cell, in one transaction. A token is stored once."""
        with self._ledger.transaction() as con:
            earlier = con.execute("select * from series where token = ?", [token]).fetchone() if token else None
            if earlier:
                return _series(earlier)
            con.execute(
                "insert into series (series_id, name, profile, plan, cells, created_at, created_by, budget, trouble,"
                " token) values (?, ?, ?, ?, ?, ?, ?, ?, '', ?)",
                [
                    series.series_id,
                    series.plan.name,
                    series.profile,
                    series.plan.model_dump_json(),
                    _ROWS.dump_json(series.rows).decode(),
                    as_text(series.created_at),
                    series.created_by,
                    series.budget,
                    token or None,
                ],
            )
            _add_attempts(con, attempts)
            add_event(con, event)
        return series

    def get(self, series_id: str) -> Series:
        """One series by its id or a unique prefix of it. Raises SeriesNotFound."""
        with self._ledger.connection() as con:
            row = con.execute(
                "select * from series where series_id >= ? and series_id < ? order by series_id limit 2",
                [series_id, series_id + LAST_LETTER],
            ).fetchall()
        if series_id and (len(row) == 1 or (row and row[0]["series_id"] == series_id)):
            return _series(row[0])
        if row:
            raise SeriesNotFound(
                Message("several series start with {start!r}", start=series_id),
                Message("enter more characters of the id"),
            )
        raise SeriesNotFound(
            Message("there is no series {series_id!r}", series_id=series_id),
            Message("`aisbench series list` lists them"),
        )

    def listed(self) -> list[tuple[datetime, str]]:
        """Launch time and id of every series."""
        with self._ledger.connection() as con:
            rows = con.execute("select created_at, series_id from series").fetchall()
        return [(as_time(row["created_at"]), row["series_id"]) for row in rows]

    def of(self, series_ids: Collection[str]) -> list[Series]:
        """Those of the series that this ledger has."""
        marks = ", ".join("?" for _ in series_ids)
        query = f"select * from series where series_id in ({marks})"  # noqa: S608  # only ? marks
        with self._ledger.connection() as con:
            return [_series(row) for row in con.execute(query, list(series_ids))]

    def waiting(self) -> list[Series]:
        """Series with cells still to be launched, oldest first."""
        query = (
            "select * from series where series_id in"
            " (select series_id from attempts where run_id = '' and cancelled = 0) order by created_at, series_id"
        )
        with self._ledger.connection() as con:
            return [_series(row) for row in con.execute(query)]

    def attempts(self, series_ids: Collection[str]) -> list[Attempt]:
        """All attempts at the cells of these series, in launch order."""
        marks = ", ".join("?" for _ in series_ids)
        query = f"select * from attempts where series_id in ({marks}) order by series_id, number, cell"  # noqa: S608  # only ? marks
        with self._ledger.connection() as con:
            return [_attempt(row) for row in con.execute(query, list(series_ids))]

    def runs(self, series_ids: Collection[str]) -> list[Run]:
        """The runs of these series, oldest first."""
        marks = ", ".join("?" for _ in series_ids)
        query = f"select * from runs where series_id <> '' and series_id in ({marks}) order by created_at, run_id"  # noqa: S608  # only ? marks
        with self._ledger.connection() as con:
            return [run_of(row) for row in con.execute(query, list(series_ids))]

    def active(self) -> list[Run]:
        """The active runs of all series."""
        marks = ", ".join("?" for _ in ACTIVE)
        query = f"select * from runs where series_id <> '' and state in ({marks})"  # noqa: S608  # only ? marks
        with self._ledger.connection() as con:
            return [run_of(row) for row in con.execute(query, sorted(ACTIVE))]

    def admit(self, attempt: Attempt, run: Run, event: Event) -> Run:
        """Store the run of an attempt, once. Raises StaleRun when the attempt has a run already, or was cancelled."""
        with self._ledger.transaction() as con:
            done = con.execute(
                "update attempts set run_id = ? where series_id = ? and cell = ? and number = ?"
                " and run_id = '' and cancelled = 0",
                [run.run_id, attempt.series_id, attempt.cell, attempt.number],
            )
            if done.rowcount != 1:
                raise StaleRun(
                    Message(
                        "cell {cell} of series {series_id} is launched or cancelled already",
                        cell=attempt.cell,
                        series_id=attempt.series_id,
                    )
                )
            insert_run(con, run)
            add_event(con, event)
        return run

    def cancel(self, series_id: str, event: Event) -> int:
        """Cancel every attempt that is not launched yet; returns their number."""
        with self._ledger.transaction() as con:
            done = con.execute(
                "update attempts set cancelled = 1 where series_id = ? and run_id = '' and cancelled = 0", [series_id]
            )
            add_event(con, event)
            return done.rowcount

    def add_attempts(self, attempts: Sequence[Attempt], event: Event) -> None:
        """Add attempts; one that two people add at the same time is added once."""
        with self._ledger.transaction() as con:
            _add_attempts(con, attempts)
            add_event(con, event)

    def set_budget(self, series_id: str, budget: float | None, event: Event) -> None:
        """Change the budget, in node hours."""
        with self._ledger.transaction() as con:
            con.execute("update series set budget = ? where series_id = ?", [budget, series_id])
            add_event(con, event)

    def set_trouble(self, series_id: str, trouble: str, event: Event | None = None) -> None:
        """Store why the next cell cannot be launched; empty clears it."""
        with self._ledger.transaction() as con:
            con.execute(
                "update series set trouble = ?, trouble_data = ? where series_id = ?",
                [trouble, to_json(trouble), series_id],
            )
            add_event(con, event)

    def note(self, event: Event) -> None:
        """Store an event of a series; its `run_id` is the id of the series."""
        self._ledger.note(event)

    def events(self, series_id: str) -> list[Event]:
        """The events of a series as a whole, oldest first."""
        return self._ledger.events(series_id)


def _add_attempts(con: sqlite3.Connection, attempts: Sequence[Attempt]) -> None:
    con.executemany(
        "insert or ignore into attempts (series_id, cell, number, place, repeat, asked_by, asked_at, run_id, cancelled)"
        " values (?, ?, ?, ?, ?, ?, ?, '', 0)",
        [
            (
                attempt.series_id,
                attempt.cell,
                attempt.number,
                attempt.row,
                attempt.repeat,
                attempt.requested_by,
                as_text(attempt.requested_at),
            )
            for attempt in attempts
        ],
    )


def _series(row: sqlite3.Row) -> Series:
    return Series(
        row["series_id"],
        SeriesPlan.model_validate_json(row["plan"]),
        _ROWS.validate_json(row["cells"]),
        row["profile"],
        as_time(row["created_at"]),
        row["created_by"],
        row["budget"],
        from_json(row["trouble"], row["trouble_data"]),
    )


def _attempt(row: sqlite3.Row) -> Attempt:
    return Attempt(
        row["series_id"],
        row["cell"],
        row["number"],
        row["place"],
        row["repeat"],
        row["asked_by"],
        as_time(row["asked_at"]),
        row["run_id"],
        bool(row["cancelled"]),
    )
