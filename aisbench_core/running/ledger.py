"""The ledger: every run with its state, events and progress (SQLite, one connection per operation)."""

import sqlite3
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from aisbench_core.errors import RunNotFound, StaleRun
from aisbench_core.messages import Message, from_json, message_of, to_json
from aisbench_core.model import ACTIVE, Event, Progress, Run, RunSort, RunState
from aisbench_core.private_files import require_writable
from aisbench_core.running.ledger_file import opened
from aisbench_core.running.ledger_rows import add_event, as_text, as_time, event_of, insert_run, row_of, run_of
from aisbench_core.running.ledger_schema import migrate

# Sorts after every character that an id can contain.
LAST_LETTER = "\U0010ffff"

# A follower sends a heartbeat every second; after this long without one it counts as gone.
FRESH = timedelta(seconds=10)


@dataclass(frozen=True, slots=True)
class Beat:
    """A heartbeat: who follows the runs, and when it was last seen."""

    who: str
    at: datetime

    def is_fresh(self, now: datetime) -> bool:
        """Whether it is recent enough to mean that a follower is running."""
        return abs(now - self.at) < FRESH


class Ledger:
    """Runs, events, progress, drafts and heartbeats. Threads and processes may share it.

    The file is opened at first use, so that a damaged one does not hinder reading recorded results."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def add(self, run: Run, event: Event | None = None, token: str = "") -> Run:
        """Store a new run. A token is stored once: if a run has it already, that run is returned."""
        with self.transaction() as con:
            earlier = con.execute("select * from runs where token = ?", [token]).fetchone() if token else None
            if earlier:
                return run_of(earlier)
            insert_run(con, run, token)
            add_event(con, event)
        return run

    def get(self, run_id: str) -> Run:
        """One run by its id or a unique prefix of it. Raises RunNotFound."""
        with self.connection() as con:
            exact = con.execute("select * from runs where run_id = ?", [run_id]).fetchone()
            like = [exact] if exact else self._starting_with(con, run_id)
        if len(like) == 1:
            return run_of(like[0])
        if like:
            raise RunNotFound(
                Message("several runs start with {start!r}", start=run_id), Message("enter more characters of the id")
            )
        raise RunNotFound(Message("there is no run {run_id!r}", run_id=run_id), Message("`aisbench runs` lists them"))

    def has(self, run_id: str) -> bool:
        """Whether there is a run with exactly this id."""
        with self.connection() as con:
            return con.execute("select 1 from runs where run_id = ?", [run_id]).fetchone() is not None

    def page(
        self,
        states: Collection[RunState] | None = None,
        text: str = "",
        limit: int = 50,
        offset: int = 0,
        sort: RunSort = RunSort.LAUNCHED,
        descending: bool = True,
    ) -> list[Run]:
        """One page of runs, newest first by default; `text` is searched in id, workload, name, creator and more."""
        if states is not None and not states:
            return []
        newest = sort is RunSort.LAUNCHED and descending
        query, values = _newest(states, text, limit + offset) if newest else _sorted(states, text, sort, descending)
        sql = f"select * from runs where run_id in ({query} limit ? offset ?) {_order(sort, descending)}"  # noqa: S608  # only ? marks
        with self.connection() as con:
            return [run_of(row) for row in con.execute(sql, [*values, limit, offset])]

    def of_jobs(self, job_ids: Collection[str]) -> list[Run]:
        """The runs that these jobs belong to."""
        marks = ", ".join("?" for _ in job_ids)
        with self.connection() as con:
            query = f"select * from runs where job_id in ({marks})"  # noqa: S608  # only ? marks
            return [run_of(row) for row in con.execute(query, list(job_ids))]

    def count(self, states: Collection[RunState] | None = None, text: str = "") -> int:
        """The number of runs over all pages of `page`."""
        where, values = _filter(states, text)
        with self.connection() as con:
            return int(con.execute(f"select count(*) from runs where {where}", values).fetchone()[0])  # noqa: S608  # `where` holds only ? marks

    def active(self) -> list[Run]:
        """All active runs, oldest first."""
        where, values = _filter(ACTIVE, "")
        with self.connection() as con:
            query = f"select * from runs where {where} order by created_at, run_id"  # noqa: S608  # `where` holds only ? marks
            return [run_of(row) for row in con.execute(query, values)]

    def advance(self, before: Run, after: Run, event: Event | None = None) -> Run:
        """Replace a run by its next value. Raises StaleRun if it has changed since it was read."""
        row = row_of(after) | {"version": before.version + 1}
        changes = ", ".join(f"{name} = ?" for name in row)
        with self.transaction() as con:
            done = con.execute(
                f"update runs set {changes} where run_id = ? and version = ?",  # noqa: S608  # column names are Run's own fields
                [*row.values(), before.run_id, before.version],
            )
            if done.rowcount != 1:
                raise StaleRun(
                    Message("run {run_id} was changed by somebody else", run_id=before.run_id),
                    Message("reload it and try again"),
                )
            add_event(con, event)
            return run_of(con.execute("select * from runs where run_id = ?", [before.run_id]).fetchone())

    def note(self, event: Event) -> None:
        """Store an event; events are never changed."""
        with self.transaction() as con:
            add_event(con, event)

    def events(self, run_id: str) -> list[Event]:
        """The events of a run, oldest first."""
        with self.connection() as con:
            rows = con.execute("select * from events where run_id = ? order by number", [run_id]).fetchall()
        return [event_of(row) for row in rows]

    def set_progress(self, progress: Progress) -> None:
        """Store the progress of a run's current state."""
        with self.transaction() as con:
            con.execute(
                "insert or replace into progress (run_id, state, done, total, unit, at) values (?, ?, ?, ?, ?, ?)",
                [
                    progress.run_id,
                    progress.state,
                    progress.done,
                    progress.total,
                    progress.unit,
                    as_text(progress.at),
                ],
            )

    def progress(self, run_id: str) -> Progress | None:
        """The progress of the run's current state, if that state reports any."""
        with self.connection() as con:
            row = con.execute(
                "select progress.* from progress join runs using (run_id) "
                "where run_id = ? and progress.state = runs.state",
                [run_id],
            ).fetchone()
        if row is None:
            return None
        return Progress(run_id, RunState(row["state"]), row["done"], row["total"], row["unit"], as_time(row["at"]))

    def save_draft(self, key: str, text: str, at: datetime) -> None:
        """Store the draft that a person is editing."""
        with self.transaction() as con:
            con.execute("insert or replace into drafts (key, text, at) values (?, ?, ?)", [key, text, as_text(at)])

    def draft(self, key: str) -> str | None:
        """The draft, or None."""
        with self.connection() as con:
            row = con.execute("select text from drafts where key = ?", [key]).fetchone()
        return None if row is None else str(row["text"])

    def rename_draft(self, key: str, new: str) -> None:
        """Give a draft another key, unless that key has one; a missing draft is ignored."""
        with self.transaction() as con:
            con.execute("update or ignore drafts set key = ? where key = ?", [new, key])

    def drop_draft(self, key: str) -> None:
        """Delete a draft; a missing draft is ignored."""
        with self.transaction() as con:
            con.execute("delete from drafts where key = ?", [key])

    def beat(self, who: str, at: datetime) -> None:
        """Store a heartbeat."""
        with self.transaction() as con:
            con.execute(
                "insert or replace into beats (id, who, at, who_data) values (1, ?, ?, ?)",
                [who, as_text(at), to_json(message_of(who))],
            )

    def last_beat(self) -> Beat | None:
        """The last heartbeat; None if there never was one."""
        with self.connection() as con:
            row = con.execute("select who, at, who_data from beats where id = 1").fetchone()
        return None if row is None else Beat(from_json(row["who"], row["who_data"]), as_time(row["at"]))

    @staticmethod
    def _starting_with(con: sqlite3.Connection, start: str) -> list[sqlite3.Row]:
        if not start:
            return []
        return con.execute(
            "select * from runs where run_id >= ? and run_id < ? limit 2", [start, start + LAST_LETTER]
        ).fetchall()

    @contextmanager
    def connection(self) -> Iterator[sqlite3.Connection]:
        """For reading. Raises AisbenchError when the file cannot be used, and DamagedLedger when it is damaged."""
        with opened(self._path) as con:
            migrate(con)
            yield con

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """A transaction for writing. Raises as `connection` does, and ReadOnlyFolder."""
        require_writable(self._path.parent)
        with self.connection() as con:
            con.execute("begin immediate")
            try:
                yield con
            except BaseException:
                if con.in_transaction:  # on a full disk SQLite has rolled back already
                    con.execute("rollback")
                raise
            con.execute("commit")


def _newest(states: Collection[RunState] | None, text: str, most: int) -> tuple[str, list[Any]]:
    """SQL for the ids of the newest runs, without its limit.

    Queries the newest of each state, because for several states at once SQLite sorts the whole history; and ids only,
    which a covering index holds, until the page's runs are known."""
    filters = [_filter(None, text)] if states is None else [_filter([state], text) for state in states]
    order = _order(RunSort.LAUNCHED, descending=True)
    parts = [
        f"select * from (select run_id, created_at from runs where {where} {order} limit ?)"  # noqa: S608  # `where` holds only ? marks
        for where, _ in filters
    ]
    values = [value for _, values in filters for value in (*values, most)]
    return f"select run_id from ({' union all '.join(parts)}) {order}", values  # noqa: S608  # only ? marks


def _sorted(states: Collection[RunState] | None, text: str, sort: RunSort, descending: bool) -> tuple[str, list[Any]]:
    """SQL for the ids of runs in another order."""
    where, values = _filter(states, text)
    return f"select run_id from runs where {where} {_order(sort, descending)}", values  # noqa: S608  # `where` holds only ? marks


def _order(sort: RunSort, descending: bool) -> str:
    """Rows without a value come last."""
    if sort is RunSort.LAUNCHED and descending:
        return "order by created_at desc, run_id desc"
    return f"order by {sort} {'desc' if descending else 'asc'} nulls last, created_at desc, run_id desc"


def _filter(states: Collection[RunState] | None, text: str) -> tuple[str, list[Any]]:
    where, values = ["1 = 1"], list[Any]()
    if states is not None:
        where.append(f"state in ({', '.join('?' for _ in states)})")
        values += sorted(states)
    if text:
        where.append(
            "instr(lower(run_id || ' ' || job_name || ' ' || workload || ' ' || created_by || ' ' || profile"
            " || ' ' || detail), lower(?)) > 0"
        )
        values.append(text)
    return " and ".join(where), values
