"""Schedules in the ledger's file: what is told is stored in the transaction that changes the schedule."""

from dataclasses import fields
from datetime import datetime

from aisbench_core.base.errors import ScheduleExists, ScheduleNotFound, StaleRun
from aisbench_core.base.messages import Message, message_of
from aisbench_core.base.messages.stored import from_json, to_json
from aisbench_core.model import Event, Notice, Role, Schedule, SeriesPlan
from aisbench_core.store.ledger.database.connection import Row
from aisbench_core.store.ledger.database.rows import insert_new, insert_row
from aisbench_core.store.ledger.ledger import Ledger, add_event, add_notice, as_text, as_time

_FIELDS = tuple(field.name for field in fields(Schedule))
_TIMES = ("created_at", "next_at", "due_at")
_FLAGS = ("reported", "paused")


class ScheduleLedger:
    """Schedules by name, and the series that each launched. Threads and processes may share it."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def add(self, schedule: Schedule, event: Event) -> None:
        """Store a new schedule. Raises ScheduleExists if there is one of that name."""
        with self._ledger.transaction() as con:
            if con.execute("select 1 from schedules where name = ?", [schedule.name]).fetchone():
                raise ScheduleExists(
                    Message("there is a schedule {name!r} already", name=schedule.name),
                    Message(
                        "choose another name, or remove it first: `aisbench schedule remove {name}`", name=schedule.name
                    ),
                )
            insert_row(con, "schedules", _row_of(schedule))
            add_event(con, event)

    def all(self) -> list[Schedule]:
        """Every schedule, by name."""
        return [_schedule_of(row) for row in self._ledger.rows("select * from schedules order by name")]

    def get(self, name: str) -> Schedule:
        """Raises ScheduleNotFound if there is none of that name."""
        found = self._ledger.rows("select * from schedules where name = ?", [name])
        if not found:
            hint = Message("`aisbench schedule list` lists them")
            raise ScheduleNotFound(Message("there is no schedule {name!r}", name=name), hint)
        return _schedule_of(found[0])

    def due(self, now: datetime) -> list[Schedule]:
        """Those with something to do: a time has come, or is not decided, or a series has not been reported."""
        query = (
            "select * from schedules where due_at is not null or (paused = 0 and next_at <= ?)"
            " or (series_id <> '' and reported = 0) order by next_at, name"
        )
        return [_schedule_of(row) for row in self._ledger.rows(query, [as_text(now)])]

    def change(
        self, before: Schedule, after: Schedule, event: Event | None = None, notice: Notice | None = None
    ) -> None:
        """Replace a schedule. Raises StaleRun if it was changed or removed since it was read."""
        row = _row_of(after) | {"version": before.version + 1}
        changes = ", ".join(f"{name} = ?" for name in row)
        with self._ledger.transaction() as con:
            done = con.execute(
                f"update schedules set {changes} where name = ? and created_at = ? and version = ?",  # noqa: S608  # names of ours
                [*row.values(), before.name, as_text(before.created_at), before.version],
            )
            if done.rowcount != 1:
                raise StaleRun(
                    Message("schedule {name!r} was changed by somebody else", name=before.name),
                    Message("reload it and try again"),
                )
            if after.series_id != before.series_id:
                launched = {
                    "series_id": after.series_id,
                    "schedule": after.name,
                    "at": as_text(before.due_at or before.next_at),
                }
                insert_new(con, "scheduled_series", launched)
            add_event(con, event)
            if notice is not None:
                add_notice(con, notice)

    def remove(self, name: str, event: Event) -> None:
        """Delete a schedule; its series stay."""
        with self._ledger.transaction() as con:
            con.execute("delete from schedules where name = ?", [name])
            add_event(con, event)

    def launched_since(self, name: str, at: datetime) -> list[str]:
        """The series that a schedule of this name launched since then."""
        query = "select series_id from scheduled_series where schedule = ? and at >= ? order by at"
        return [row["series_id"] for row in self._ledger.rows(query, [name, as_text(at)])]

    def is_open(self, series_id: str) -> bool:
        """Whether cells of a series are still to be launched, or runs of it are active."""
        query = (
            "select 1 from attempts where series_id = ? and run_id = '' and cancelled = 0 union all"
            " select 1 from runs where series_id = ? and state not in ('completed', 'failed', 'stopped') limit 1"
        )
        return bool(self._ledger.rows(query, [series_id, series_id]))


def _row_of(schedule: Schedule) -> dict[str, object]:
    row = {name: getattr(schedule, name) for name in _FIELDS}
    row = {name: as_text(value) if isinstance(value, datetime) else value for name, value in row.items()}
    detail = message_of(schedule.detail)
    return row | {
        "plan": schedule.plan.model_dump_json(), "detail": str(schedule.detail), "detail_data": to_json(detail),
    }  # fmt: skip


def _schedule_of(row: Row) -> Schedule:
    values = {name: row[name] for name in _FIELDS}
    values |= {name: as_time(values[name]) for name in _TIMES if values[name] is not None}
    values |= {name: bool(values[name]) for name in _FLAGS}
    values["role"] = Role(values["role"])
    values["plan"] = SeriesPlan.model_validate_json(values["plan"])
    values["detail"] = from_json(row["detail"], row["detail_data"])
    return Schedule(**values)
