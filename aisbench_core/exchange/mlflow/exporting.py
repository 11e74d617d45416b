"""Exports runs of the warehouse to an MLflow tracking server, to view them beside other experiments."""

import json
import math
import posixpath
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

from aisbench_core.exchange.mlflow import keys
from aisbench_core.exchange.mlflow.tracking import SendOutcome, TrackedRun, TrackingServer
from aisbench_core.model.columns import Mlflow, of_mlflow
from aisbench_core.warehouse.open.reading import Reader
from aisbench_core.warehouse.records.full_runs import FullRun, iter_full_runs
from aisbench_core.warehouse.values.runs import BoardQuery

# Letters of a parameter's or tag's value, and of its name, that every MLflow accepts; longer ones are cut.
MAX_TEXT, MAX_KEY = 6000, 250

_STATUS = {"completed": "FINISHED", "failed": "FAILED", "stopped": "KILLED"}
_PARAMS, _METRICS, _TAGS = ([column.name for column in of_mlflow(kind)] for kind in Mlflow)

_OTHER_LETTERS = re.compile(r"[^\w.\- /]")

Point = tuple[str, int, int, float]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class MlflowExport:
    """Sends runs to tracking servers; `reader` is the warehouse's."""

    reader: Reader

    def export(self, query: BoardQuery, server: TrackingServer) -> Counter[SendOutcome]:
        """Send all runs of the query (not only its page); returns what became of them.

        Can be repeated, also after a break. Raises ConfigError, ServerUnavailable and WarehouseError."""
        experiments: dict[str, str] = {}
        outcomes = Counter[SendOutcome]()
        try:
            with self.reader.cursor() as cur:
                for run in iter_full_runs(cur, query):
                    name, note = _describe_experiment(run.values)
                    if name not in experiments:
                        experiments[name] = server.experiment_id(name, note)
                    outcomes[server.send(experiments[name], tracked_run(run))] += 1
        finally:
            self.reader.close()
        return outcomes


def _describe_experiment(values: Mapping[str, Any]) -> tuple[str, str]:
    """The name of a run's experiment, and the note about it."""
    kind, note = (", rehearsals", "rehearsals: these numbers are no measurements") if values["rehearsal"] else ("", "")
    return f"AISBench {values['workload']} ({values['region']}{kind})", note


def tracked_run(run: FullRun) -> TrackedRun:
    """A run's parameters, tags and metrics in MLflow."""
    values = run.values
    start, end = values["started_at_utc"] or values["began_at_utc"], values["ended_at_utc"]
    return TrackedRun(
        run_id=values["run_id"],
        user=values["created_by"],
        status=_STATUS.get(values["state"], "FAILED"),
        start=_to_ms(start),
        end=_to_ms(end),
        params=_to_texts(_collect_params(values)),
        tags=_to_texts(_collect_tags(run)),
        points=sorted(_iterate_points(run, _to_ms(end or values["created_at_utc"]) or 0)),
    )


def _collect_params(values: Mapping[str, Any]) -> dict[str, Any]:
    params = {name: values[name] for name in _PARAMS}
    parameters = _from_json(values["spec"], dict).get("parameters")
    if isinstance(parameters, dict):
        params |= {keys.PARAMETER + name: value for name, value in parameters.items()}
    return params


def _collect_tags(run: FullRun) -> dict[str, Any]:
    values = run.values
    tags = {f"aisbench.{name}": values[name] for name in _TAGS}
    tags |= {f"aisbench.{name}": at.isoformat() for name, at in run.times.items()}
    for key in ("system", "tester"):
        tags |= {f"aisbench.{key}.{name}": value for name, value in _from_json(values[key], dict).items()}
    return tags | {
        "aisbench.tags": ", ".join(map(_to_text, _from_json(values["tags"], list))),
        keys.RUN_ID: values["run_id"],
        keys.JOB_ID: values["job_id"],
        keys.REHEARSAL: str(values["rehearsal"]).lower(),
        keys.SYNTHETIC: str(values["synthetic_data"]).lower(),
        keys.RAW: run.raw if len(run.raw) <= MAX_TEXT else "",
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


def _iterate_points(run: FullRun, at: int) -> Iterator[Point]:
    """All measured numbers as (key, step, milliseconds, value)."""
    for name in _METRICS:
        yield from _yield_point(name, 0, at, run.values[name])
    for server, rank, throughput in run.ranks:
        yield from _yield_point(keys.RANK.format(server=server), rank, at, throughput)
    for server, total, accuracy in run.servers:
        yield from _yield_point(keys.SERVER_THROUGHPUT, server, at, total)
        yield from _yield_point(keys.SERVER_ACCURACY, server, at, accuracy)
    for name, value in run.metrics:
        yield from _yield_point(keys.NAMED.format(name=name), 0, at, value)
    for step, (moment, node, name, value) in enumerate(run.samples):
        yield from _yield_point(keys.SAMPLE.format(name=name, node=node), step, _to_ms(moment) or 0, value)


def _yield_point(key: str, step: int, at: int, value: float | None) -> Iterator[Point]:
    if value is not None and math.isfinite(value):
        yield _to_key(key), step, at, float(value)


def _to_texts(values: Mapping[str, Any]) -> dict[str, str]:
    """Parameters or tags that are set, as every MLflow accepts them; the last of several with the same key."""
    return {_to_key(name): _to_text(value)[:MAX_TEXT] for name, value in values.items() if value not in (None, "")}


def _to_key(name: str) -> str:
    """A name without letters that MLflow refuses, and which it does not read as another path."""
    key = _OTHER_LETTERS.sub("_", name)[:MAX_KEY]
    return key if posixpath.normpath(key) == key else key.replace("/", "_")


def _to_text(value: Any) -> str:
    """Texts without NUL, which PostgreSQL under MLflow refuses, other values as JSON."""
    return (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)).replace("\0", "\ufffd")


def _to_ms(at: datetime | None) -> int | None:
    return round(at.replace(tzinfo=UTC).timestamp() * 1000) if at else None
