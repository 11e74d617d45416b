"""Results in an MLflow store: runs of ours that come back as they went, and others as rows of a table."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, tzinfo

from aisbench_core.history.found import FoundResult, Table, Unread
from aisbench_core.history.identity import identities
from aisbench_core.history.opened import Opened
from aisbench_core.history.rows import Row
from aisbench_core.history.tables import read_rows, table_of
from aisbench_core.messages import Message
from aisbench_core.mlflow import words
from aisbench_core.mlflow.store import Point, Store, StoreRun, opened
from aisbench_core.model import MetricSample, Mode, RankResult, TrainResultInfo
from aisbench_core.model.spec import canonical_json

HEAD = b"SQLite format 3\0"

_OWN = ("job id", "job name", "created by", "note")
"""What every run of a store has, before its own metrics, parameters and tags."""

_FINISHED = "FINISHED"

_SMALL = re.compile("[0-9]{1,5}")
"""A number of nodes, cards or servers."""

_MOST_RANKS = 1_000_000


def is_store(file: Opened) -> bool:
    """Whether it is an SQLite database; whether MLflow's is seen when it is opened."""
    return file.head.startswith(HEAD)


def read_store(file: Opened, mapping: Mapping[str, str], zone: tzinfo) -> Iterator[FoundResult | Unread]:
    """Every run that tells a throughput or an accuracy. Raises ResultError when it is no store that is understood."""
    with file.on_disk() as path, opened(path) as store:
        for number, experiment in store.experiments().items():
            source = f"{file.name}!{experiment}"
            own, others = _sorted_out(store, number, experiment)
            yield from (_own(run, source, place) for place, run in own)
            if others:
                yield from _others(store, number, others, source, mapping, zone)


def columns_of_store(file: Opened) -> Iterator[Table]:
    """Each experiment as a table: what its metrics, parameters and tags are taken for."""
    with file.on_disk() as path, opened(path) as store:
        for number, experiment in store.experiments().items():
            names = _names(store, number)
            runs = [run for run in store.runs(number, experiment) if words.RUN_ID not in run.tags]
            if runs:
                yield table_of(_header(names), [_row(run, names) for run in runs], f"{file.name}!{experiment}")


def _sorted_out(
    store: Store, number: int, experiment: str
) -> tuple[list[tuple[int, StoreRun]], list[tuple[int, StoreRun]]]:
    own: list[tuple[int, StoreRun]] = []
    others: list[tuple[int, StoreRun]] = []
    for place, run in enumerate(store.runs(number, experiment), start=1):
        (own if words.RUN_ID in run.tags else others).append((place, run))
    return own, others


# --- runs of others -----------------------------------------------------------------------------------


def _others(
    store: Store,
    number: int,
    runs: Sequence[tuple[int, StoreRun]],
    source: str,
    mapping: Mapping[str, str],
    zone: tzinfo,
) -> Iterator[FoundResult | Unread]:
    names = _names(store, number)
    rows = (_row(run, names) for _, run in runs)
    for found in read_rows(_header(names), rows, source, mapping, zone):
        if isinstance(found, Unread):
            yield found
            continue
        place, run = runs[found.number - 1]
        doubts = (
            ()
            if run.status == _FINISHED
            else (Message("MLflow calls it {status}", status=run.status.lower() or Message("nothing")),)
        )
        yield replace(
            found,
            number=place,
            started_at=run.started_at,
            ended_at=run.ended_at,
            samples=tuple(MetricSample(each.at, 0, each.name, each.value) for each in _several(run.history)),
            problems=(*found.problems, *doubts),
        )


def _names(store: Store, number: int) -> list[tuple[str, str]]:
    """Where a column comes from and what it is called there; what MLflow itself notes is no column."""
    metrics, params, tags = store.keys(number)
    told = [("metric", name) for name in metrics if not name.startswith("system/")]
    told += [("param", name) for name in params] + [("tag", name) for name in tags if not name.startswith("mlflow.")]
    return told


def _header(names: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Plain names, but for those that are there twice."""
    seen = set(_OWN)
    header = list(_OWN)
    for kind, name in names:
        header.append(f"{kind} {name}" if name in seen else name)
        seen.add(name)
    return tuple(header)


def _row(run: StoreRun, names: Sequence[tuple[str, str]]) -> Row:
    texts = {"param": run.params, "tag": run.tags, "metric": {name: repr(each) for name, each in run.metrics.items()}}
    note = f"MLflow experiment {run.experiment}"
    return (run.run_id, run.name, run.user, note, *(texts[kind].get(name, "") for kind, name in names))


def _several(history: Sequence[Point]) -> list[Point]:
    """Values of metrics that were told more than once: those of a single moment are the result itself."""
    counts = Counter(each.name for each in history)
    return [each for each in history if counts[each.name] > 1]


# --- runs of ours -------------------------------------------------------------------------------------


def _own(run: StoreRun, source: str, number: int) -> FoundResult:
    tags, params, metrics = run.tags, run.params, run.metrics
    identity, values_identity = identities({"run_id": tags[words.RUN_ID]}, tags.get(words.JOB_ID, ""))
    servers = _steps(run.history, words.SERVER_THROUGHPUT)
    return FoundResult(
        source=source,
        number=number,
        identity=identity,
        values_identity=values_identity,
        raw=tags.get(words.RAW) or canonical_json({**params, **metrics}),
        info=_info(run),
        workload=params.get("workload", ""),
        model=params.get("model", ""),
        framework=params.get("framework", ""),
        framework_version=params.get("framework_version", ""),
        job_id=tags.get(words.JOB_ID, ""),
        job_name=run.name,
        mode=Mode(params["mode"]) if params.get("mode") in {*Mode} else None,
        node_count=_count(params.get("node_count")),
        cards_per_node=_count(params.get("cards_per_node")),
        flavor=params.get("flavor", ""),
        engine_version=params.get("engine_version", ""),
        accelerator=params.get("accelerator", ""),
        dataset=params.get("dataset", ""),
        created_by=run.user,
        run_id=tags[words.RUN_ID],
        rehearsal=tags.get(words.REHEARSAL) == "true",
        synthetic_data=tags.get(words.SYNTHETIC) == "true",
        ranks_expected=_ranks_expected(metrics),
        rank_results=tuple(_ranks(run.history)),
        server_throughputs=tuple(value for _, value in servers),
        server_accuracies=tuple(value for _, value in _steps(run.history, words.SERVER_ACCURACY)),
        started_at=run.started_at,
        ended_at=run.ended_at,
        samples=tuple(_samples(run.history)),
        problems=() if run.status == _FINISHED else (Message("MLflow calls it {status}", status=run.status.lower()),),
    )


def _info(run: StoreRun) -> TrainResultInfo:
    numbers = {key: run.metrics[name] for key, name in words.REPORTED.items() if name in run.metrics}
    times = {key: at for key in words.PERIODS if (at := _time(run.tags.get(f"aisbench.{key}", "")))}
    return TrainResultInfo(**numbers, **times)  # type: ignore[arg-type]  # by name


def _time(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC)
    except ValueError:
        return None


def _count(text: str | None) -> int | None:
    return int(text) if text and _SMALL.fullmatch(text) else None


def _ranks_expected(metrics: Mapping[str, float]) -> int | None:
    count = metrics.get(words.RANKS_EXPECTED)
    return round(count) if count is not None and 0 <= count <= _MOST_RANKS else None


def _ranks(history: Sequence[Point]) -> Iterator[RankResult]:
    start = words.RANK.format(server="")
    for each in history:
        server = each.name.removeprefix(start)
        if each.name.startswith(start) and _SMALL.fullmatch(server):
            yield RankResult(int(server), each.step, each.value)


def _steps(history: Sequence[Point], name: str) -> list[tuple[int, float]]:
    return sorted((each.step, each.value) for each in history if each.name == name)


def _samples(history: Sequence[Point]) -> Iterator[MetricSample]:
    for each in history:
        kind, _, rest = each.name.partition(".")
        name, _, node = rest.rpartition(".node_")
        if kind == words.NPU_SAMPLE and name and _SMALL.fullmatch(node):
            yield MetricSample(each.at, int(node), name, each.value)
