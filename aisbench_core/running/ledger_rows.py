"""Runs, events and times as the ledger's tables hold them."""

import sqlite3
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

from aisbench_core.model import Event, Run, RunSpec, RunState

_RUN_FIELDS = tuple(field.name for field in fields(Run))
_TIMES = ("created_at", "updated_at", "next_step_at", "submitted_at", "started_at", "ended_at")


def row_of(run: Run) -> dict[str, Any]:
    """A run as the columns of the table runs, by their names."""
    row = {name: getattr(run, name) for name in _RUN_FIELDS}
    for name in _TIMES:
        row[name] = None if row[name] is None else as_text(row[name])
    return row | {"spec": run.spec.model_dump_json(), "workload": run.spec.workload}


def insert_run(con: sqlite3.Connection, run: Run, token: str = "") -> None:
    """Add a run within a transaction."""
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
    values["verdict"] = RunState(values["verdict"]) if values["verdict"] else None
    return Run(**values)


def add_event(con: sqlite3.Connection, event: Event | None) -> None:
    """Write down what happened, if anything did."""
    if event is not None:
        con.execute(
            "insert into events (run_id, at, source, level, message, actor) values (?, ?, ?, ?, ?, ?)",
            [event.run_id, as_text(event.at), event.source, event.level, event.message, event.actor],
        )


def as_text(time: datetime) -> str:
    """A time as it is stored: in UTC, so that texts sort as times do."""
    return time.astimezone(UTC).isoformat(timespec="microseconds")


def as_time(text: str) -> datetime:
    """A time as it was stored."""
    return datetime.fromisoformat(text)
