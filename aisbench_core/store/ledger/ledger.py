"""The ledger: every run with its state, events and progress (in SQLite, or in a team's PostgreSQL)."""

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from aisbench_core.base.clock import utc_now
from aisbench_core.base.errors import RunNotFound, StaleRun
from aisbench_core.base.messages import Message, message_of
from aisbench_core.base.messages.stored import from_json, to_json
from aisbench_core.model import ACTIVE, Attempt, Clock, Event, Level, Notice, Progress, Run, RunSort, RunSpec, RunState
from aisbench_core.model.stop_cause import StopCause
from aisbench_core.store.ledger.database.address import LedgerAddress
from aisbench_core.store.ledger.database.connection import Leases, LedgerConnection, LedgerStore, Row
from aisbench_core.store.ledger.database.rows import insert_new, insert_row, make_marks, replace_row
from aisbench_core.store.ledger.database.run_filter import RunFilter, build_order
from aisbench_core.store.ledger.ledger_file import LedgerFile

Check = Callable[[LedgerConnection, Run], Run]
# Sorts after every character that an id can contain.
LAST_LETTER = "\U0010ffff"

# A follower sends a heartbeat every second; after this long without one it counts as gone.
FRESH = timedelta(seconds=10)

_RUN_FIELDS = tuple(field.name for field in fields(Run))
_TIMES = ("created_at", "updated_at", "next_step_at", "submitted_at", "started_at", "ended_at")


@dataclass(frozen=True, slots=True)
class Beat:
    """A heartbeat: who follows the runs, and when it was last seen."""

    who: str
    at: datetime

    def is_fresh(self, now: datetime) -> bool:
        """Whether it is recent enough to mean that a follower is running."""
        return abs(now - self.at) < FRESH


class Ledger:
    """Runs, events, progress, drafts and heartbeats. Threads, processes and, if in PostgreSQL, machines may share it.

    It is opened at first use, so that a damaged one does not hinder reading recorded results."""

    def __init__(self, location: Path | LedgerAddress, machine: Clock = utc_now) -> None:
        """`location`: a file, or the address of a team's database. `machine`: this machine's clock."""
        self._machine = machine
        self._store: LedgerStore
        if isinstance(location, Path):
            self._store = LedgerFile(location)
        else:
            from aisbench_core.store.ledger.database.postgres import LedgerDatabase  # of the extra `team`

            self._store = LedgerDatabase(location, machine)

    def now(self) -> datetime:
        """The time by the ledger's clock, by which all machines that share it measure and wait."""
        return self._machine() + self._store.clock_ahead()

    def clock_ahead(self) -> timedelta:
        """How far the ledger's clock is ahead of this machine's."""
        return self._store.clock_ahead()

    def revision(self) -> str | None:
        """A text that changes with every change; None where that cannot be said now."""
        return self._store.revision()

    def leases(self, lock: Path, *, substitute: bool) -> Leases:
        """Decides which process follows what; `lock`: a file for that, if the ledger is a file."""
        return self._store.leases(lock, substitute=substitute)

    def connection(self) -> AbstractContextManager[LedgerConnection]:
        """For reading. Raises AisbenchError when the ledger cannot be used, and DamagedLedger when it is damaged."""
        return self._store.connection()

    def snapshot(self) -> AbstractContextManager[LedgerConnection]:
        """For reading: all statements see one moment, while others write. Raises as `connection` does."""
        return self._store.snapshot()

    def transaction(self) -> AbstractContextManager[LedgerConnection]:
        """For writing, while nobody else writes. Raises as `connection` does, and ReadOnlyFolder."""
        return self._store.transaction()

    def rows(self, query: str, values: Collection[object] = ()) -> list[Row]:
        """The rows that a query finds. Raises as `connection` does."""
        with self.connection() as con:
            return con.execute(query, list(values)).fetchall()

    def starting_with(self, table: str, key: str, start: str) -> list[Row]:
        """The row with this id, or else up to two rows whose ids start with it."""
        query = f"select * from {table} where {key} >= ? and {key} < ? order by {key} limit 2"  # noqa: S608  # names of ours
        found = self.rows(query, [start, start + LAST_LETTER]) if start else []
        return found[:1] if found and found[0][key] == start else found

    def add(self, run: Run, event: Event | None = None, token: str = "", check: Check = lambda _con, run: run) -> Run:
        """Store a new run. A token is stored once: if a run has it already, that run is returned.

        `check` raises unless the run may be stored, and returns it as it is stored, which may be held; nobody else can
        store one meanwhile."""
        with self.transaction() as con:
            earlier = con.execute("select * from runs where token = ?", [token]).fetchone() if token else None
            if earlier:
                return run_of(earlier)
            add_event(con, event)
            run = check(con, run)
            insert_row(con, "runs", row_of(run) | {"token": token or None})
        return run

    def get(self, run_id: str) -> Run:
        """One run by its id or a unique prefix of it. Raises RunNotFound."""
        found = self.starting_with("runs", "run_id", run_id)
        if len(found) == 1:
            return run_of(found[0])
        if found:
            raise RunNotFound(
                Message("several runs start with {start!r}", start=run_id), Message("enter more characters of the id")
            )
        raise RunNotFound(Message("there is no run {run_id!r}", run_id=run_id), Message("`aisbench runs` lists them"))

    def find(self, run_id: str) -> Run | None:
        """One run by its id or a unique prefix of it; None if there is none."""
        with suppress(RunNotFound):
            return self.get(run_id)
        return None

    def has(self, run_id: str) -> bool:
        """Whether there is a run with exactly this id."""
        return bool(self.rows("select 1 from runs where run_id = ?", [run_id]))

    def page(
        self,
        states: Collection[RunState] | None = None,
        text: str = "",
        limit: int = 50,
        offset: int = 0,
        sort: RunSort = RunSort.LAUNCHED,
        descending: bool = True,
        workload: str = "",
        people: Collection[str] = (),
        since: datetime | None = None,
        run_ids: Collection[str] | None = None,
        *,
        tags: Collection[str] = (),
        pinned: bool | None = None,
        deleted: bool = False,
    ) -> list[Run]:
        """One page of runs, newest first by default; of one workload, of some people, since a time, of some ids, with
        one of some tags, if named; those that somebody pinned, or the others; those that were deleted, or the others.

        `text` is searched in id, given name, workload, job's name, creator and more."""
        if states is not None and not states:
            return []
        run_filter = RunFilter(states, text, workload, people, _to_text(since), run_ids, tags, pinned, deleted)
        order = build_order(sort, descending)
        if sort is RunSort.LAUNCHED and descending:
            query, values = run_filter.build_newest(limit + offset)
        else:
            where, values = run_filter.build_where()
            query = f"select run_id from runs where {where} {order}"  # noqa: S608  # `where` holds only ? marks
        sql = f"select * from runs where run_id in ({query} limit ? offset ?) {order}"  # noqa: S608  # only ? marks
        return [run_of(row) for row in self.rows(sql, [*values, limit, offset])]

    def set_name(self, run_id: str, name: str) -> None:
        """Find the run by the name that somebody gave it; an empty one is forgotten."""
        with self.transaction() as con:
            con.execute("delete from names where run_id = ?", [run_id])
            if name:
                insert_row(con, "names", {"run_id": run_id, "name": name})

    def set_tags(self, run_id: str, tags: Collection[str]) -> None:
        """Find the run by the tags that it has now."""
        with self.transaction() as con:
            con.execute("delete from tags where run_id = ?", [run_id])
            con.executemany("insert into tags (run_id, tag) values (?, ?)", [[run_id, tag] for tag in tags])

    def list_tags(self) -> list[str]:
        """Every tag of a run, by name."""
        return [str(row[0]) for row in self.rows("select distinct tag from tags order by tag")]

    def page_before(
        self, before: tuple[str, str] | None, states: Collection[RunState] | None, text: str, limit: int
    ) -> list[Run]:
        """The newest runs that are older than a position (launch time as stored, id), by which they are sorted."""
        where, values = RunFilter(states, text).build_where()
        if before:
            where, values = f"{where} and (created_at, run_id) < (?, ?)", [*values, *before]
        sql = f"select * from runs where {where} {build_order(RunSort.LAUNCHED, True)} limit ?"  # noqa: S608  # only ? marks
        return [run_of(row) for row in self.rows(sql, [*values, limit])]

    def of_jobs(self, job_ids: Collection[str]) -> list[Run]:
        """The runs that these jobs belong to."""
        return [run_of(row) for row in self.rows(f"select * from runs where job_id in {make_marks(job_ids)}", job_ids)]  # noqa: S608  # only ? marks

    def find_references(self, run_id: str) -> list[str]:
        """Other runs, and series, whose specs hold a run's id, as a rule in a path of its files, or resume from it."""
        # Preflight refuses the beginning of an id in `resume_from`.
        query = (
            "select run_id from runs where run_id <> ? and instr(spec, ?) > 0"
            " union all select series_id from series where instr(plan || cells, ?) > 0"
        )
        return [str(row[0]) for row in self.rows(query, [run_id, run_id, run_id])]

    def count(
        self,
        states: Collection[RunState] | None = None,
        text: str = "",
        people: Collection[str] = (),
        since: datetime | None = None,
        run_ids: Collection[str] | None = None,
        *,
        tags: Collection[str] = (),
        pinned: bool | None = None,
        deleted: bool = False,
    ) -> int:
        """The number of runs over all pages of `page`."""
        chosen = RunFilter(states, text, "", people, _to_text(since), run_ids, tags, pinned, deleted)
        where, values = chosen.build_where()
        return int(self.rows(f"select count(*) from runs where {where}", values)[0][0])  # noqa: S608  # `where` holds only ? marks

    def list_people(self) -> list[str]:
        """Everybody who launched a run, by name."""
        return [str(row[0]) for row in self.rows("select distinct created_by from runs order by created_by", [])]

    def active(self) -> list[Run]:
        """All active runs, oldest first."""
        query = f"select * from runs where state in {make_marks(ACTIVE)} order by created_at, run_id"  # noqa: S608  # only ? marks
        return [run_of(row) for row in self.rows(query, ACTIVE)]

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
            if after.state.is_terminal and after.state is not before.state:
                add_notice(con, Notice.from_ended(after))
            return run_of(con.execute("select * from runs where run_id = ?", [before.run_id]).fetchone())

    def note(self, event: Event, notice: Notice | None = None) -> None:
        """Store an event of a run or a series, which is never changed, and what to tell people of it."""
        with self.transaction() as con:
            add_event(con, event)
            if notice is not None:
                add_notice(con, notice)

    def announce(self, notice: Notice) -> None:
        """Store what to tell people, unless that was done before."""
        with self.transaction() as con:
            add_notice(con, notice)

    def events(self, run_id: str) -> list[Event]:
        """The events of a run, or of a series as a whole, oldest first."""
        return [_event_of(row) for row in self.rows("select * from events where run_id = ? order by number", [run_id])]

    def events_after(self, number: int, limit: int, run_id: str = "") -> list[tuple[int, Event]]:
        """Events behind a number, of all runs or of one, with their numbers, in the order in which they were stored."""
        of_run, values = (" and run_id = ?", [run_id]) if run_id else ("", [])
        sql = f"select * from events where number > ?{of_run} order by number limit ?"  # noqa: S608  # only ? marks
        return [(row["number"], _event_of(row)) for row in self.rows(sql, [number, *values, limit])]

    def set_progress(self, progress: Progress) -> None:
        """Store the progress of a run's current state."""
        with self.transaction() as con:
            replace_row(con, "progress", "run_id", columns_of(progress))

    def progress(self, run_id: str) -> Progress | None:
        """The progress of the run's current state, if that state reports any."""
        found = self.rows(
            "select progress.* from progress join runs using (run_id) where run_id = ? and progress.state = runs.state",
            [run_id],
        )
        if not found:
            return None
        row = found[0]
        counted = row["done"], row["total"], row["unit"]
        return Progress(run_id, RunState(row["state"]), *counted, as_time(row["at"]), row["stage"])

    def save_draft(self, key: str, text: str, at: datetime) -> None:
        """Store the draft that a person is editing."""
        with self.transaction() as con:
            replace_row(con, "drafts", "key", {"key": key, "text": text, "at": as_text(at)})

    def draft(self, key: str) -> str | None:
        """The draft, or None."""
        return next((str(row["text"]) for row in self.rows("select text from drafts where key = ?", [key])), None)

    def drafts(self, part: str, limit: int) -> list[tuple[str, str, datetime]]:
        """Key, text and time of the last change of drafts with `part` in their key, the newest first."""
        query = "select key, text, at from drafts where instr(key, ?) > 0 order by at desc limit ?"
        with self.connection() as con:
            return [(row["key"], row["text"], as_time(row["at"])) for row in con.execute(query, [part, limit])]

    def rename_draft(self, key: str, new: str) -> None:
        """Give a draft another key, unless that key has one; a missing draft is ignored."""
        with self.transaction() as con:
            con.execute(
                "update drafts set key = ? where key = ? and not exists (select 1 from drafts where key = ?)",
                [new, key, new],
            )

    def states(self) -> dict[RunState, int]:
        """The number of runs in each state."""
        rows = self.rows("select state, count(*) from runs group by state")
        return dict.fromkeys(RunState, 0) | {RunState(state): count for state, count in rows}

    def launched_with(self, token: str) -> Run | None:
        """The run that was launched with a token; None if there is none."""
        return next((run_of(row) for row in self.rows("select * from runs where token = ?", [token])), None)

    def drop_draft(self, key: str) -> None:
        """Delete a draft; a missing draft is ignored."""
        with self.transaction() as con:
            con.execute("delete from drafts where key = ?", [key])

    def beat(self, who: str, at: datetime) -> None:
        """Store a heartbeat."""
        row = {"id": 1, "who": who, "at": as_text(at), "who_data": to_json(message_of(who))}
        with self.transaction() as con:
            replace_row(con, "heartbeats", "id", row)

    def last_beat(self) -> Beat | None:
        """The last heartbeat; None if there never was one."""
        rows = self.rows("select who, at, who_data from heartbeats where id = 1")
        return next((Beat(from_json(row["who"], row["who_data"]), as_time(row["at"])) for row in rows), None)


def add_event(con: LedgerConnection, event: Event | None) -> None:
    """Insert an event, if there is one, within a transaction. Only rows of earlier versions lack message data."""
    if event is not None:
        data = {"message_data": to_json(message_of(event.message)), "actor_data": to_json(message_of(event.actor))}
        insert_row(con, "events", columns_of(event) | data)


def add_notice(con: LedgerConnection, notice: Notice) -> None:
    """Insert a notice within a transaction, unless it is there."""
    row = {
        "notice_id": notice.notice_id, "subject": notice.subject, "kind": notice.kind, "at": as_text(notice.at),
        "text": str(notice.text), "data": to_json(notice.text),
    }  # fmt: skip
    insert_new(con, "notices", row)


def columns_of(value: Run | Event | Progress | Attempt) -> dict[str, Any]:
    """The fields of a value as columns of its table."""
    row = {field.name: getattr(value, field.name) for field in fields(value)}
    return {name: as_text(field) if isinstance(field, datetime) else field for name, field in row.items()}


def row_of(run: Run) -> dict[str, Any]:
    """A run as columns of the table runs."""
    spec = {"spec": run.spec.model_dump_json(), "workload": run.spec.workload, "node_count": run.spec.node_count}
    cause = run.stop_cause.to_json() if run.stop_cause else ""
    return columns_of(run) | spec | {"detail_data": to_json(run.detail), "stop_cause": cause}


def run_of(row: Row) -> Run:
    """A row of the table runs as a run."""
    values = {name: row[name] for name in _RUN_FIELDS}
    values |= {name: as_time(values[name]) for name in _TIMES if values[name] is not None}
    values["spec"] = RunSpec.model_validate_json(values["spec"])
    values["state"] = RunState(values["state"])
    values["detail"] = from_json(row["detail"], row["detail_data"])
    values["final_state"] = RunState(values["final_state"]) if values["final_state"] else None
    values["stop_cause"] = StopCause.from_json(values["stop_cause"]) if values["stop_cause"] else None
    return Run(**values)


def _event_of(row: Row) -> Event:
    return Event(
        row["run_id"], as_time(row["at"]), row["source"], Level(row["level"]),
        from_json(row["message"], row["message_data"]), from_json(row["actor"], row["actor_data"]),
    )  # fmt: skip


def as_text(time: datetime) -> str:
    """A time as it is stored: ISO 8601 in UTC, so that text sorts by time."""
    return time.astimezone(UTC).isoformat(timespec="microseconds")


def as_time(text: str) -> datetime:
    """A stored time, aware."""
    return datetime.fromisoformat(text)


def _to_text(time: datetime | None) -> str:
    return as_text(time) if time else ""
