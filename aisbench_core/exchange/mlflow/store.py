"""Reads an MLflow store in SQLite, run by run."""

import contextlib
import math
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aisbench_core.base.errors import ResultError, clip_value
from aisbench_core.base.messages import Message

# The columns that a store must have to be read.
REQUIRED: Mapping[str, tuple[str, ...]] = {
    "experiments": ("experiment_id", "name", "lifecycle_stage"),
    "runs": ("run_uuid", "name", "user_id", "status", "start_time", "end_time", "lifecycle_stage", "experiment_id"),
    "params": ("key", "value", "run_uuid"),
    "tags": ("key", "value", "run_uuid"),
    "metrics": ("key", "value", "timestamp", "run_uuid", "step", "is_nan"),
    "latest_metrics": ("key", "value", "timestamp", "run_uuid", "step", "is_nan"),
}

_OR_NULL = ("text", "null")
_COUNT = ("integer",)
_TIME = ("integer", "null")
# Allowed SQLite types by column: SQLite itself stores any type in any column.
_ALLOWED: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("key", "run_uuid"), ("text",)),
    **dict.fromkeys(("name", "lifecycle_stage", "user_id", "status"), _OR_NULL),
    **dict.fromkeys(("experiment_id", "step", "is_nan"), _COUNT),
    **dict.fromkeys(("start_time", "end_time", "timestamp"), _TIME),
}

# Allowed types of the column `value`, by table.
_VALUES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("params", "tags"), _OR_NULL),
    **dict.fromkeys(("metrics", "latest_metrics"), ("real", "integer")),
}

# Values of one run's history that are read. No benchmark has more.
MAX_POINTS = 100_000

# Time limit of one query: queries are slow in a file without MLflow's indexes.
QUERY_SECONDS = 60.0

MAX_VALUE_BYTES = 16 * 1024**2

# SQLite checks the time limit each time it has run this many virtual machine instructions.
_STEPS = 10_000

_KEYS = """select distinct key from {table} join runs using (run_uuid)
    where experiment_id = ? and runs.lifecycle_stage = 'active' order by key"""

Query = Callable[..., list[Any]]
"""Runs SQL with the values of its parameters and returns the rows."""


@dataclass(frozen=True, slots=True)
class Point:
    """One value of a metric; `at` is aware UTC, `step` as the program counted."""

    name: str
    value: float
    at: datetime
    step: int


@dataclass(frozen=True, slots=True)
class StoreRun:
    """A run of the store: `metrics` are the latest values, `history` all values; NaN and infinity are left out.

    Times are aware UTC, or None."""

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
def open_store(path: Path) -> Iterator["MlflowStore"]:
    """Open a store read-only. Raises ResultError for a file that is not a readable MLflow store."""
    try:
        with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as con:
            store = MlflowStore(con)
            store.check()
            yield store
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT:
            raise ResultError(
                Message("it cannot be read: a query took longer than {seconds:.0f} s", seconds=QUERY_SECONDS)
            ) from error
        raise ResultError(Message("it cannot be read as an SQLite database: {reason}", reason=error)) from error
    except UnicodeDecodeError as error:  # sqlite3 raises it for damaged column names, too
        raise ResultError(Message("it cannot be read as an SQLite database: its texts are no UTF-8")) from error


class MlflowStore:
    """An open store. It is untrusted: only real tables with the value types that MLflow writes are read."""

    def __init__(self, con: sqlite3.Connection) -> None:
        self._con = con
        self._deadline = 0.0
        con.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)
        con.execute("pragma trusted_schema = off")  # the schema cannot call functions with side effects
        con.set_progress_handler(lambda: time.monotonic() > self._deadline, _STEPS)

    def check(self) -> None:
        """Raise ResultError when tables, columns or types are not MLflow's."""
        _check_tables(self._fetch_rows)
        _check_values(self._fetch_rows)

    def _fetch_rows(self, sql: str, values: Sequence[object] = ()) -> list[Any]:
        self._deadline = time.monotonic() + QUERY_SECONDS
        return self._con.execute(sql, values).fetchall()

    def experiments(self) -> dict[int, str]:
        """Names of the experiments that were not deleted, by id."""
        sql = "select experiment_id, name from experiments where lifecycle_stage = 'active' order by experiment_id"
        return dict(self._fetch_rows(sql))

    def keys(self, experiment: int) -> tuple[list[str], list[str], list[str]]:
        """The names of an experiment's metrics, parameters and tags."""
        metrics, params, tags = (
            [key for (key,) in self._fetch_rows(_KEYS.format(table=table), [experiment])]
            for table in ("latest_metrics", "params", "tags")
        )
        return metrics, params, tags

    def runs(self, experiment: int, name: str) -> Iterator[StoreRun]:
        """An experiment's runs that were not deleted, oldest first."""
        rows = self._fetch_rows(
            "select run_uuid, name, user_id, status, start_time, end_time from runs "
            "where experiment_id = ? and lifecycle_stage = 'active' order by start_time, run_uuid",
            [experiment],
        )
        for run_id, run_name, user, status, start, end in rows:
            texts = (self._read_texts("params", run_id), self._read_texts("tags", run_id))
            sql = "select key, value from latest_metrics where run_uuid = ? and not is_nan order by key"
            latest = {key: value for key, value in self._fetch_rows(sql, [run_id]) if math.isfinite(value)}
            times, history = (_to_time(start), _to_time(end)), self._read_history(run_id)
            yield StoreRun(run_id, run_name or "", name, user or "", status or "", *times, *texts, latest, history)

    def _read_texts(self, table: str, run_id: str) -> dict[str, str]:
        sql = f"select key, value from {table} where run_uuid = ? order by key"
        return {key: value or "" for key, value in self._fetch_rows(sql, [run_id])}

    def _read_history(self, run_id: str) -> tuple[Point, ...]:
        rows = self._fetch_rows(
            "select key, value, timestamp, step from metrics where run_uuid = ? and not is_nan "
            "order by key, step, timestamp limit ?",
            [run_id, MAX_POINTS],
        )
        points = (Point(key, value, at, step) for key, value, ms, step in rows if (at := _to_time(ms)))
        return tuple(point for point in points if math.isfinite(point.value))


def _check_tables(query: Query) -> None:
    """All must be tables with stored rows: views and generated columns would run SQL of whoever made the file."""
    tables = {name: (kind, page) for name, kind, page in query("select name, type, rootpage from sqlite_master")}
    if not {"experiments", "alembic_version"} <= tables.keys():
        missing_tables = Message(
            "it is an SQLite database, but not MLflow's: the tables experiments and alembic_version are missing"
        )
        raise ResultError(missing_tables)
    for table in (*REQUIRED, "alembic_version"):
        kind, page = tables.get(table, ("table", 1))
        if kind != "table" or not page:  # virtual tables have no root page
            found = Message("virtual table") if kind == "table" else kind
            raise ResultError(Message("{table} is a {kind}; allowed: a table", table=table, kind=found))
    for table, columns in REQUIRED.items():
        hidden = dict(query("select name, hidden from pragma_table_xinfo(?)", [table]))
        missing = [f"{table}.{name}" for name in columns if name not in hidden]
        if missing:
            version = query("select version_num from alembic_version limit 1")
            raise ResultError(
                Message(
                    "it is an MLflow store with an unknown schema ({version}): missing {missing}; "
                    "`mlflow db upgrade` upgrades an old store",
                    version=clip_value(version[0][0]) if version else Message("none"),
                    missing=", ".join(missing),
                )
            )
        for name in columns:
            if hidden[name]:
                raise ResultError(
                    Message("table {table}: column {name} is computed; allowed: stored values", table=table, name=name)
                )


def _check_values(query: Query) -> None:
    for table, columns in REQUIRED.items():
        for name in columns:
            allowed = _VALUES[table] if name == "value" else _ALLOWED[name]
            kinds = ", ".join(f"'{kind}'" for kind in allowed)
            sql = f"select typeof({name}), {name} from {table} where typeof({name}) not in ({kinds}) limit 1"
            for kind, value in query(sql):
                content = f"{kind} {clip_value(value)}" if kind in ("text", "integer", "real") else kind
                raise ResultError(
                    Message(
                        "table {table}: column {name} holds {found}; allowed: {allowed}",
                        table=table,
                        name=name,
                        found=content,
                        allowed=" or ".join(allowed),
                    )
                )


def _to_time(milliseconds: int | None) -> datetime | None:
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC) if milliseconds else None
    except (OverflowError, ValueError, OSError):
        return None
