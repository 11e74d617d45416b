"""Runs, events and times as the ledger's tables hold them."""

import sqlite3
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

from aisbench_core.messages import from_json, message_of, to_json
from aisbench_core.model import Event, Level, Run, RunSpec, RunState

_RUN_FIELDS = tuple(field.name for field in fields(Run))
_TIMES = ("created_at", "updated_at", "next_step_at", "submitted_at", "started_at", "ended_at")


def row_of(run: Run) -> dict[str, Any]:
    """A run as columns of the table runs."""
    row = {name: getattr(run, name) for name in _RUN_FIELDS}
    for name in _TIMES:
        row[name] = None if row[name] is None else as_text(row[name])
    return row | {
        "spec": run.spec.model_dump_json(),
        "workload": run.spec.workload,
        "detail_data": to_json(run.detail),
    }


def insert_run(con: sqlite3.Connection, run: Run, token: str = "") -> None:
    """Insert a run within a transaction."""
    row = row_of(run)
    names = ", ".join(row)
    marks = ", ".join("?" for _ in row)
    con.execute(f"insert into runs ({names}, token) values ({marks}, ?)", [*row.values(), token or None])  # noqa: S608  # column names are Run's own fields


def run_of(row: sqlite3.Row) -> Run:
    """A row of the table runs as a run."""
    values = {name: row[name] for name in _RUN_FIELDS}
    for name in _TIMES:
        values[name] = None if values[name] is None else as_time(values[name])
    values["spec"] = RunSpec.model_validate_json(values["spec"])
    values["state"] = RunState(values["state"])
    values["detail"] = from_json(row["detail"], row["detail_data"])
    values["verdict"] = RunState(values["verdict"]) if values["verdict"] else None
    return Run(**values)


def add_event(con: sqlite3.Connection, event: Event | None) -> None:
    """Insert an event, if there is one. Only rows of earlier versions lack message data."""
    if event is not None:
        con.execute(
            "insert into events (run_id, at, source, level, message, actor, message_data, actor_data)"
            " values (?, ?, ?, ?, ?, ?, ?, ?)",
            [
                event.run_id,
                as_text(event.at),
                event.source,
                event.level,
                event.message,
                event.actor,
                to_json(message_of(event.message)),
                to_json(message_of(event.actor)),
            ],
        )


def event_of(row: sqlite3.Row) -> Event:
    """A row of the table events as an event."""
    return Event(
        row["run_id"],
        as_time(row["at"]),
        row["source"],
        Level(row["level"]),
        from_json(row["message"], row["message_data"]),
        from_json(row["actor"], row["actor_data"]),
    )


def as_text(time: datetime) -> str:
    """A time as it is stored: ISO 8601 in UTC, so that text sorts by time."""
    return time.astimezone(UTC).isoformat(timespec="microseconds")


def as_time(text: str) -> datetime:
    """A stored time, aware."""
    return datetime.fromisoformat(text)
