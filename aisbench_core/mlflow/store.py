"""What an MLflow store in SQLite holds, run by run; the file is only read."""

import contextlib
import math
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from aisbench_core.errors import ResultError
from aisbench_core.mlflow.schema import NEEDED

MOST_POINTS = 100_000
"""Of one run's history so many values are read; more are no benchmark's."""


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
            _check(con)
            yield Store(con)
    except sqlite3.Error as error:
        raise ResultError(f"it cannot be read as an SQLite database: {error}") from error


class Store:
    """An open store."""

    def __init__(self, con: sqlite3.Connection) -> None:
        self._con = con

    def experiments(self) -> dict[int, str]:
        """The names of experiments that were not deleted, by their ids."""
        asked = "select experiment_id, name from experiments where lifecycle_stage = 'active' order by experiment_id"
        return dict(self._con.execute(asked).fetchall())

    def keys(self, experiment: int) -> tuple[list[str], list[str], list[str]]:
        """The names of an experiment's metrics, parameters and tags."""
        return tuple(  # type: ignore[return-value]  # three of them
            [
                name
                for (name,) in self._con.execute(
                    f"select distinct key from {table} join runs using (run_uuid) "  # noqa: S608 (our own words)
                    "where experiment_id = ? and runs.lifecycle_stage = 'active' order by key",
                    [experiment],
                )
            ]
            for table in ("latest_metrics", "params", "tags")
        )

    def runs(self, experiment: int, name: str) -> Iterator[StoreRun]:
        """An experiment's runs that were not deleted, the oldest first."""
        found = self._con.execute(
            "select run_uuid, name, user_id, status, start_time, end_time from runs "
            "where experiment_id = ? and lifecycle_stage = 'active' order by start_time, run_uuid",
            [experiment],
        ).fetchall()
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
        asked = f"select key, value from {table} where run_uuid = ? order by key"  # noqa: S608 (our own words)
        return {key: value or "" for key, value in self._con.execute(asked, [run_id])}

    def _latest(self, run_id: str) -> dict[str, float]:
        asked = "select key, value from latest_metrics where run_uuid = ? and not is_nan order by key"
        return {key: value for key, value in self._con.execute(asked, [run_id]) if math.isfinite(value)}

    def _history(self, run_id: str) -> tuple[Point, ...]:
        found = self._con.execute(
            "select key, value, timestamp, step from metrics where run_uuid = ? and not is_nan "
            "order by key, step, timestamp limit ?",
            [run_id, MOST_POINTS],
        )
        points = (Point(key, value, at, step) for key, value, ms, step in found if (at := _moment(ms)))
        return tuple(point for point in points if math.isfinite(point.value))


def _check(con: sqlite3.Connection) -> None:
    there = {name for (name,) in con.execute("select name from sqlite_master where type = 'table'")}
    if not {"experiments", "alembic_version"} <= there:
        raise ResultError("it is an SQLite database, but not MLflow's: its tables experiments and alembic_version lack")
    for table, columns in NEEDED.items():
        known = {name for (name,) in con.execute("select name from pragma_table_info(?)", [table])}
        missing = [f"{table}.{name}" for name in columns if name not in known]
        if missing:
            version = con.execute("select version_num from alembic_version").fetchone()
            raise ResultError(
                f"it is an MLflow store of a schema that is not understood ({version[0] if version else 'none'}): "
                f"{', '.join(missing)} lack; `mlflow db upgrade` brings an old one up to date"
            )


def _moment(milliseconds: int | None) -> datetime | None:
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC) if milliseconds else None
    except (OverflowError, ValueError, OSError):
        return None
