"""Reads results from an MLflow store: runs that a console exported, and others as rows of a table."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, tzinfo

from aisbench_core.base.messages import Message
from aisbench_core.exchange.mlflow import keys
from aisbench_core.exchange.mlflow.store import MlflowStore, Point, StoreRun, open_store
from aisbench_core.exchange.readers.archives import Opened
from aisbench_core.exchange.readers.results import ParsedResult, Results, Table, Unread, compute_identities
from aisbench_core.exchange.readers.rows import Row
from aisbench_core.exchange.readers.tables import read_rows, table_of
from aisbench_core.model import MetricSample, Mode, RankResult, TrainResultInfo
from aisbench_core.model.spec import canonical_json

HEAD = b"SQLite format 3\0"

# The first columns of a store's table, before metrics, parameters and tags.
_OWN = ("job id", "job name", "created by", "note")

_FINISHED = "FINISHED"
# Parameters of a console's run that are copied to the field of the same name.
_PARAMS = ("workload", "model", "framework", "framework_version", "flavor", "engine_version", "accelerator", "dataset")

_SMALL = re.compile("[0-9]{1,5}")  # a number of nodes, cards or servers

_MOST_RANKS = 1_000_000


def is_store(file: Opened) -> bool:
    """Whether it is an SQLite database; `read_store` checks whether it is MLflow's."""
    return file.head.startswith(HEAD)


def read_store(file: Opened, mapping: Mapping[str, str], zone: tzinfo) -> Results:
    """Every run with a throughput or an accuracy. Raises ResultError if it is not a supported store."""
    with file.on_disk() as path, open_store(path) as store:
        for number, experiment in store.experiments().items():
            source = f"{file.name}!{experiment}"
            foreign: list[tuple[int, StoreRun]] = []
            for position, run in enumerate(store.runs(number, experiment), start=1):
                if keys.RUN_ID in run.tags:
                    yield _read_own_run(run, source, position)
                else:
                    foreign.append((position, run))
            if foreign:
                yield from _read_foreign_runs(store, number, foreign, source, mapping, zone)


def columns_of_store(file: Opened, mapping: Mapping[str, str]) -> Iterator[Table]:
    """Each experiment as a table of its metrics, parameters and tags."""
    with file.on_disk() as path, open_store(path) as store:
        for number, experiment in store.experiments().items():
            names = _list_columns(store, number)
            runs = [run for run in store.runs(number, experiment) if keys.RUN_ID not in run.tags]
            if runs:
                header, rows = _build_header(names), [_build_row(run, names) for run in runs]
                yield table_of(header, rows, f"{file.name}!{experiment}", mapping, _list_settings(header, names))


# --- runs of other programs ---------------------------------------------------------------------------


def _read_foreign_runs(
    store: MlflowStore,
    number: int,
    runs: Sequence[tuple[int, StoreRun]],
    source: str,
    mapping: Mapping[str, str],
    zone: tzinfo,
) -> Results:
    names = _list_columns(store, number)
    header, rows = _build_header(names), [_build_row(run, names) for _, run in runs]
    for result in read_rows(header, rows, source, mapping, zone, _list_settings(header, names)):
        if isinstance(result, Unread):
            yield result
            continue
        position, run = runs[result.number - 1]
        # A metric with a single point is the result itself, not a sample.
        counts = Counter(point.name for point in run.history)
        samples = (point for point in run.history if counts[point.name] > 1)
        yield replace(
            result,
            number=position,
            started_at=run.started_at,
            ended_at=run.ended_at,
            samples=tuple(MetricSample(point.at, 0, point.name, point.value) for point in samples),
            problems=(*result.problems, *_status_problem(run)),
        )


def _status_problem(run: StoreRun) -> tuple[Message, ...]:
    if run.status == _FINISHED:
        return ()
    return (Message("its MLflow status is {status}", status=run.status.lower() or Message("nothing")),)


def _list_columns(store: MlflowStore, number: int) -> list[tuple[str, str]]:
    """The kind and name of every column, without MLflow's own metrics and tags."""
    metrics, params, tags = store.keys(number)
    names = [("metric", name) for name in metrics if not name.startswith("system/")]
    return (
        names
        + [("param", name) for name in params]
        + [("tag", name) for name in tags if not name.startswith("mlflow.")]
    )


def _build_header(names: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """The names, with their kind if they occur twice."""
    header = list(_OWN)
    plain = set(_OWN)
    for kind, name in names:
        header.append(f"{kind} {name}" if name in plain else name)
        plain.add(name)
    return tuple(header)


def _list_settings(header: Sequence[str], names: Sequence[tuple[str, str]]) -> list[str]:
    """The columns of parameters."""
    return [name for name, (kind, _) in zip(header[len(_OWN) :], names, strict=True) if kind == "param"]


def _build_row(run: StoreRun, names: Sequence[tuple[str, str]]) -> Row:
    texts = {"param": run.params, "tag": run.tags, "metric": {name: repr(value) for name, value in run.metrics.items()}}
    note = f"MLflow experiment {run.experiment}"
    return (run.run_id, run.name, run.user, note, *(texts[kind].get(name, "") for kind, name in names))


# --- runs that a console exported ---------------------------------------------------------------------


def _read_own_run(run: StoreRun, source: str, number: int) -> ParsedResult:
    tags, params, metrics = run.tags, run.params, run.metrics
    identity, values_identity = compute_identities({"run_id": tags[keys.RUN_ID]}, tags.get(keys.JOB_ID, ""))
    numbers = {key: metrics[name] for key, name in keys.REPORTED.items() if name in metrics}
    times = {key: time for key in keys.PERIODS if (time := _parse_time(tags.get(f"aisbench.{key}", "")))}
    servers = _list_steps(run.history, keys.SERVER_THROUGHPUT)
    expected = metrics.get(keys.RANKS_EXPECTED)
    return ParsedResult(
        source=source,
        number=number,
        identity=identity,
        values_identity=values_identity,
        raw=tags.get(keys.RAW) or canonical_json({**params, **metrics}),
        info=TrainResultInfo(**numbers, **times),  # type: ignore[arg-type]  # by name
        **{name: params.get(name, "") for name in _PARAMS},  # type: ignore[arg-type]  # by name
        job_id=tags.get(keys.JOB_ID, ""),
        job_name=run.name,
        mode=Mode(params["mode"]) if params.get("mode") in {*Mode} else None,
        node_count=_parse_count(params.get("node_count")),
        cards_per_node=_parse_count(params.get("cards_per_node")),
        created_by=run.user,
        run_id=tags[keys.RUN_ID],
        rehearsal=tags.get(keys.REHEARSAL) == "true",
        synthetic_data=tags.get(keys.SYNTHETIC) == "true",
        ranks_expected=round(expected) if expected is not None and 0 <= expected <= _MOST_RANKS else None,
        rank_results=tuple(_iter_ranks(run.history)),
        server_throughputs=tuple(value for _, value in servers),
        server_accuracies=tuple(value for _, value in _list_steps(run.history, keys.SERVER_ACCURACY)),
        started_at=run.started_at,
        ended_at=run.ended_at,
        samples=tuple(_iter_samples(run.history)),
        problems=_status_problem(run),
    )


def _parse_time(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC)
    except ValueError:
        return None


def _parse_count(text: str | None) -> int | None:
    return int(text) if text and _SMALL.fullmatch(text) else None


def _iter_ranks(history: Sequence[Point]) -> Iterator[RankResult]:
    start = keys.RANK.format(server="")
    for point in history:
        server = point.name.removeprefix(start)
        if point.name.startswith(start) and _SMALL.fullmatch(server):
            yield RankResult(int(server), point.step, point.value)


def _list_steps(history: Sequence[Point], name: str) -> list[tuple[int, float]]:
    return sorted((point.step, point.value) for point in history if point.name == name)


def _iter_samples(history: Sequence[Point]) -> Iterator[MetricSample]:
    for point in history:
        kind, _, rest = point.name.partition(".")
        name, _, node = rest.rpartition(".node_")
        if kind == keys.NPU_SAMPLE and name and _SMALL.fullmatch(node):
            yield MetricSample(point.at, int(node), name, point.value)
