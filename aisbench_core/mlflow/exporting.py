"""Exports runs of the warehouse as a new MLflow store in SQLite, to view them with MLflow."""

import contextlib
import hashlib
import json
import math
import os
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from aisbench_core.errors import ConfigError
from aisbench_core.messages import Message
from aisbench_core.mlflow import schema
from aisbench_core.model.columns import Mlflow, of_mlflow
from aisbench_core.warehouse.records.full_runs import FullRun, iter_full_runs
from aisbench_core.warehouse.store.reading import Reader
from aisbench_core.warehouse.values import BoardQuery

# Letters of a parameter's or tag's value, and of its name, that every MLflow accepts; longer ones are cut.
MAX_TEXT, MAX_KEY = 6000, 250

_STATUS = {"completed": "FINISHED", "failed": "FAILED", "stopped": "KILLED"}
_PARAMS, _METRICS, _TAGS = ([column.name for column in of_mlflow(kind)] for kind in Mlflow)

Row = tuple[Any, ...]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class MlflowExport:
    """Writes MLflow stores; `reader` is the warehouse's."""

    reader: Reader

    def export(self, query: BoardQuery, target: Path, *, replace: bool = False) -> int:
        """Write all runs of the query (not only its page) as a new store; returns how many.

        A failed export leaves no file behind. Raises ConfigError when it exists (unless `replace`) or cannot be
        written, and WarehouseError."""
        if target.exists() and not replace:
            raise ConfigError(
                Message("{target} already exists", target=target), Message("name another file, or add --replace")
            )
        # Written beside the target, so that the rename stays on one file system and replaces the target at once.
        draft = target.with_name(f".{target.name}.{os.getpid()}.new")
        try:
            with contextlib.closing(sqlite3.connect(draft)) as con, self.reader.cursor() as cur:
                count = _write_store(con, iter_full_runs(cur, query))
            draft.replace(target)
        except (sqlite3.Error, OSError) as error:
            raise ConfigError(
                Message("{target} cannot be written: {reason}", target=target, reason=error),
                Message("name a file in a folder of yours"),
            ) from error
        finally:
            self.reader.close()
            draft.unlink(missing_ok=True)
        return count


def _write_store(con: sqlite3.Connection, runs: Iterator[FullRun]) -> int:
    con.executescript(schema.TABLES)
    con.execute("insert into alembic_version values (?)", [schema.REVISION])
    experiments = {"Default": 0}
    _insert_experiment(con, 0, "Default", None)
    for run in runs:
        kind = ", rehearsals" if run.values["rehearsal"] else ""
        name = f"AISBench {run.values['workload']} ({run.values['region']}{kind})"
        if name not in experiments:
            experiments[name] = len(experiments)
            _insert_experiment(con, experiments[name], name, run.values)
        _insert_run(con, run, experiments[name])
    con.commit()
    return int(con.execute("select count(*) from runs").fetchone()[0])


def _insert_experiment(con: sqlite3.Connection, number: int, name: str, values: Mapping[str, Any] | None) -> None:
    con.execute(
        "insert into experiments (experiment_id, name, artifact_location, lifecycle_stage) values (?, ?, ?, 'active')",
        [number, name, f"mlflow-artifacts:/{number}"],
    )
    if values and values["rehearsal"]:
        con.execute(
            "insert into experiment_tags values ('mlflow.note.content', ?, ?)",
            ["rehearsals: these numbers are no measurements", number],
        )


def _insert_run(con: sqlite3.Connection, run: FullRun, experiment: int) -> None:
    values = run.values
    run_id = hashlib.sha256(f"aisbench {values['run_id']}".encode()).hexdigest()[:32]
    start, end = values["started_at_utc"] or values["began_at_utc"], values["ended_at_utc"]
    con.execute(
        """insert into runs (run_uuid, name, source_type, source_name, entry_point_name, user_id, status, start_time,
            end_time, source_version, lifecycle_stage, artifact_uri, experiment_id)
        values (?, ?, 'JOB', 'aisbench', '', ?, ?, ?, ?, '', 'active', ?, ?)""",
        [
            *(run_id, values["run_id"], values["created_by"], _STATUS.get(values["state"], "FAILED")),
            *(_ms(start), _ms(end), f"mlflow-artifacts:/{experiment}/{run_id}/artifacts", experiment),
        ],
    )
    con.executemany("insert into params values (?, ?, ?)", _rows(_params(values), run_id))
    con.executemany("insert into tags values (?, ?, ?)", _rows(_tags(run), run_id))
    points = sorted(_points(run, _ms(end or values["created_at_utc"]) or 0))
    rows = [(key, value, at, run_id, step) for key, step, at, value in points]
    con.executemany("insert into metrics values (?, ?, ?, ?, ?, 0)", rows)
    # Points are sorted by step, so the last one of each key stays, as in MLflow.
    latest = {key: (key, value, at, step, run_id) for key, step, at, value in points}
    con.executemany("insert into latest_metrics values (?, ?, ?, ?, 0, ?)", list(latest.values()))


def _params(values: Mapping[str, Any]) -> dict[str, Any]:
    params = {name: values[name] for name in _PARAMS}
    parameters = _from_json(values["spec"], dict).get("parameters")
    if isinstance(parameters, dict):
        params |= {schema.PARAMETER + name: value for name, value in parameters.items()}
    return params


def _tags(run: FullRun) -> dict[str, Any]:
    values = run.values
    tags = {f"aisbench.{name}": values[name] for name in _TAGS}
    tags |= {f"aisbench.{name}": at.isoformat() for name, at in run.times.items()}
    for key in ("system", "tester"):
        tags |= {f"aisbench.{key}.{name}": value for name, value in _from_json(values[key], dict).items()}
    return tags | {
        "aisbench.tags": ", ".join(map(_text, _from_json(values["tags"], list))),
        schema.RUN_ID: values["run_id"],
        schema.JOB_ID: values["job_id"],
        schema.REHEARSAL: str(values["rehearsal"]).lower(),
        schema.SYNTHETIC: str(values["synthetic_data"]).lower(),
        schema.RAW: run.raw if len(run.raw) <= MAX_TEXT else "",
        "mlflow.runName": values["run_id"],
        "mlflow.user": values["created_by"],
        "mlflow.source.name": "aisbench",
        "mlflow.source.type": "JOB",
        "mlflow.note.content": "; ".join(
            note
            for holds, note in (
                (values["rehearsal"], "a rehearsal: these numbers are no measurement"),
                (values["origin"] == "imported", "imported: what it says is claimed, unverified"),
            )
            if holds
        ),
    }


def _from_json(text: str | None, kind: type[T]) -> T:
    """A cell's JSON; empty if it is of another type, since other programs may write into a team's warehouse."""
    value = json.loads(text or "null")
    return value if isinstance(value, kind) else kind()


def _points(run: FullRun, at: int) -> Iterator[Row]:
    """All measured numbers as (key, step, milliseconds, value)."""
    for name in _METRICS:
        yield from _point(name, 0, at, run.values[name])
    for server, rank, throughput in run.ranks:
        yield from _point(schema.RANK.format(server=server), rank, at, throughput)
    for server, total, accuracy in run.servers:
        yield from _point(schema.SERVER_THROUGHPUT, server, at, total)
        yield from _point(schema.SERVER_ACCURACY, server, at, accuracy)
    for step, (moment, node, name, value) in enumerate(run.samples):
        yield from _point(schema.SAMPLE.format(name=name, node=node), step, _ms(moment) or 0, value)


def _point(key: str, step: int, at: int, value: float | None) -> Iterator[Row]:
    if value is not None and math.isfinite(value):
        yield key[:MAX_KEY], step, at, float(value)


def _rows(values: Mapping[str, Any], run_id: str) -> list[Row]:
    """Rows of parameters or tags that are set; the last of several names that are equal once cut to MAX_KEY."""
    unique = {name[:MAX_KEY]: _text(value)[:MAX_TEXT] for name, value in values.items() if value not in (None, "")}
    return [(name, value, run_id) for name, value in unique.items()]


def _text(value: Any) -> str:
    """Texts unchanged, other values as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _ms(at: datetime | None) -> int | None:
    return round(at.replace(tzinfo=UTC).timestamp() * 1000) if at else None
