"""What an MLflow store in SQLite holds, run by run; the file is only read."""

import contextlib
import math
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aisbench_core.errors import ResultError
from aisbench_core.messages import Message
from aisbench_core.mlflow.schema import ALLOWED, NEEDED, VALUES

MOST_POINTS = 100_000
"""Of one run's history so many values are read; more are no benchmark's."""

SECONDS = 60.0
"""How long one question to the file may take; a file whose tables lack their keys needs longer for each."""

MOST_BYTES = 16 * 1024**2
"""Of one value."""

_STEPS = 10_000
"""Of SQLite's program, after each of which it is asked whether the time is up."""

_SHOWN_LETTERS = 60


Ask = Callable[..., list[Any]]
"""Answers a question in SQL; its second argument are the question's values."""


@dataclass(frozen=True, slots=True)
class Point:
    """One value of a metric at one moment (aware, UTC); `step` as the program counted."""

    name: str
    value: float
    at: datetime
    step: int


@dataclass(frozen=True, slots=True)
class StoreRun:
    """A run as MLflow knows it: parameters and tags are text, `metrics` each one's latest value, `history` all of them.

    Values that are no number are left out. Times are aware, in UTC; None where MLflow knows none."""

    run_id: str
    name: str
    experiment: str
    user: str
    status: str
    started_at: datetime | None
    ended_at: datetime | None
    params: Mapping[str, str]
    tags: Mapping[str, str]
    metrics: Mapping[str, float]
    history: tuple[Point, ...]


@contextlib.contextmanager
def opened(path: Path) -> Iterator["Store"]:
    """A store, for as long as this lasts. Raises ResultError when the file is none that is understood."""
    try:
        with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as con:
            store = Store(con)
            store.check()
            yield store
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT:
            raise ResultError(
                Message("it cannot be read: a question to it took longer than {seconds:.0f} s", seconds=SECONDS)
            ) from error
        raise ResultError(Message("it cannot be read as an SQLite database: {reason}", reason=error)) from error
    except UnicodeDecodeError as error:  # what SQLite says about a name that is damaged, too
        raise ResultError(Message("it cannot be read as an SQLite database: its texts are no UTF-8")) from error


class Store:
    """An open store, which somebody else may have made: only stored rows are read, of types that MLflow writes."""

    def __init__(self, con: sqlite3.Connection) -> None:
        self._con = con
        self._until = 0.0
        con.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_BYTES)
        con.execute("pragma trusted_schema = off")
        con.set_progress_handler(lambda: time.monotonic() > self._until, _STEPS)

    def check(self) -> None:
        """Raises ResultError when tables, columns or types are not MLflow's."""
        _check_tables(self._ask)
        _check_values(self._ask)

    def _ask(self, sql: str, values: Sequence[object] = ()) -> list[Any]:
        self._until = time.monotonic() + SECONDS
        return self._con.execute(sql, values).fetchall()

    def experiments(self) -> dict[int, str]:
        """The names of experiments that were not deleted, by their ids."""
        asked = "select experiment_id, name from experiments where lifecycle_stage = 'active' order by experiment_id"
        return dict(self._ask(asked))

    def keys(self, experiment: int) -> tuple[list[str], list[str], list[str]]:
        """The names of an experiment's metrics, parameters and tags."""
        return tuple(  # type: ignore[return-value]  # three of them
            [
                name
                for (name,) in self._ask(
                    f"select distinct key from {table} join runs using (run_uuid) "
                    "where experiment_id = ? and runs.lifecycle_stage = 'active' order by key",
                    [experiment],
                )
            ]
            for table in ("latest_metrics", "params", "tags")
        )

    def runs(self, experiment: int, name: str) -> Iterator[StoreRun]:
        """An experiment's runs that were not deleted, the oldest first."""
        found = self._ask(
            "select run_uuid, name, user_id, status, start_time, end_time from runs "
            "where experiment_id = ? and lifecycle_stage = 'active' order by start_time, run_uuid",
            [experiment],
        )
        for run_id, run_name, user, status, start, end in found:
            yield StoreRun(
                run_id,
                run_name or "",
                name,
                user or "",
                status or "",
                _moment(start),
                _moment(end),
                self._texts("params", run_id),
                self._texts("tags", run_id),
                self._latest(run_id),
                self._history(run_id),
            )

    def _texts(self, table: str, run_id: str) -> dict[str, str]:
        asked = f"select key, value from {table} where run_uuid = ? order by key"
        return {key: value or "" for key, value in self._ask(asked, [run_id])}

    def _latest(self, run_id: str) -> dict[str, float]:
        asked = "select key, value from latest_metrics where run_uuid = ? and not is_nan order by key"
        return {key: value for key, value in self._ask(asked, [run_id]) if math.isfinite(value)}

    def _history(self, run_id: str) -> tuple[Point, ...]:
        found = self._ask(
            "select key, value, timestamp, step from metrics where run_uuid = ? and not is_nan "
            "order by key, step, timestamp limit ?",
            [run_id, MOST_POINTS],
        )
        points = (Point(key, value, at, step) for key, value, ms, step in found if (at := _moment(ms)))
        return tuple(point for point in points if math.isfinite(point.value))


def _check_tables(ask: Ask) -> None:
    """Tables with stored rows: a view, or a column that is computed, is somebody else's program."""
    found = {name: (kind, page) for name, kind, page in ask("select name, type, rootpage from sqlite_master")}
    if not {"experiments", "alembic_version"} <= found.keys():
        raise ResultError(
            Message("it is an SQLite database, but not MLflow's: its tables experiments and alembic_version lack")
        )
    for table in (*NEEDED, "alembic_version"):
        kind, page = found.get(table, ("table", 1))
        if kind != "table" or not page:
            raise ResultError(
                Message(
                    "{table} is a {kind}; allowed: a table",
                    table=table,
                    kind=Message("virtual table") if kind == "table" else kind,
                )
            )
    for table, columns in NEEDED.items():
        known = dict(ask("select name, hidden from pragma_table_xinfo(?)", [table]))
        missing = [f"{table}.{name}" for name in columns if name not in known]
        if missing:
            version = ask("select version_num from alembic_version limit 1")
            raise ResultError(
                Message(
                    "it is an MLflow store of a schema that is not understood ({version}): {missing} lack; "
                    "`mlflow db upgrade` brings an old one up to date",
                    version=_shown(version[0][0]) if version else Message("none"),
                    missing=", ".join(missing),
                )
            )
        for name in columns:
            if known[name]:
                raise ResultError(
                    Message("table {table}: column {name} is computed; allowed: stored values", table=table, name=name)
                )


def _check_values(ask: Ask) -> None:
    for table, columns in NEEDED.items():
        for name in columns:
            allowed = VALUES[table] if name == "value" else ALLOWED[name]
            kinds = ", ".join(f"'{kind}'" for kind in allowed)
            asked = f"select typeof({name}), {name} from {table} where typeof({name}) not in ({kinds}) limit 1"
            for kind, value in ask(asked):
                found = f"{kind} {_shown(value)}" if kind in ("text", "integer", "real") else kind
                raise ResultError(
                    Message(
                        "table {table}: column {name} holds {found}; allowed: {allowed}",
                        table=table,
                        name=name,
                        found=found,
                        allowed=" or ".join(allowed),
                    )
                )


def _shown(value: object) -> str:
    text = "".join(each if each.isprintable() else "?" for each in str(value)[: _SHOWN_LETTERS + 1])
    return text if len(text) <= _SHOWN_LETTERS else text[: _SHOWN_LETTERS - 1] + "…"


def _moment(milliseconds: int | None) -> datetime | None:
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC) if milliseconds else None
    except (OverflowError, ValueError, OSError):
        return None
