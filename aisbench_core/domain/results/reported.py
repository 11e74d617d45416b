"""What a job's ranks reported line by line: metrics, phases and times of steps, as files that a run's folder keeps."""

import json
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import Any, TypeVar

from aisbench_core.base.messages import Message
from aisbench_core.base.private_files import write_whole
from aisbench_core.cloud.ports import ObjectStore
from aisbench_core.model import (
    MOST_METRICS,
    Better,
    Combined,
    MetricSource,
    PhaseName,
    PhaseSpan,
    RunMetric,
    StepTime,
    metric_problem,
)
from aisbench_core.model.columns import LONGEST_S

T = TypeVar("T")

# The reporter ends at 4 MB. A job may write anything there, so larger files are not fetched.
MOST_BYTES = 5 * 1024 * 1024
# Of all ranks together, in their order, as far as there is room: 700,000 steps, which fit into memory.
MOST_TOTAL = 32 * 1024 * 1024
MOST_RANKS = 1_000_000
_PROBLEMS_NAMED = 8

_FILE = re.compile(
    r"(?P<kind>metrics|phases|step_times)_(?P<server>\d{1,6})_(?P<card>\d{1,4})(_(?P<start>\d{1,12}))?\.(jsonl|csv)"
)

_COMBINE: dict[Combined, Callable[[Sequence[float]], float]] = {
    Combined.SUM: math.fsum,
    Combined.MEAN: fmean,
    Combined.MAX: max,
    Combined.MIN: min,
    Combined.FIRST: lambda values: values[0],
}


@dataclass(frozen=True, slots=True)
class _OfRank:
    """A metric as one rank, of so many ranks of the job, reported it."""

    rank: int
    ranks: int
    metric: RunMetric


def is_reported_file(name: str) -> bool:
    """Whether a file of an output directory is one of these."""
    return _FILE.fullmatch(name) is not None


def fetch_reported(
    objects: ObjectStore, output_path: str, node_count: int, folder: Path, mask: Callable[[str], str]
) -> int:
    """Copy the files of an output directory into `folder`; returns how many were left out because of their size.

    `mask` replaces secrets in their text."""
    sizes: dict[str, int] = {}
    for kind in ("metrics_", "phases_", "step_times_"):
        found = {stat.path.removeprefix(output_path): stat.size for stat in objects.list(output_path + kind)}
        of_run = (name for name in found if (match := _FILE.fullmatch(name)) and int(match["server"]) < node_count)
        sizes |= {name: found[name] for name in sorted(of_run, key=_rank_order)}
    names, room = [], MOST_TOTAL
    for name, size in sizes.items():
        if size <= min(MOST_BYTES, room):
            names.append(name)
            room -= size
    if names:
        folder.mkdir(parents=True, exist_ok=True)
    for path, content in objects.read_many(output_path + name for name in names).items():
        text = mask(content.decode("utf-8", "surrogateescape"))
        write_whole(folder / path.removeprefix(output_path), text.encode("utf-8", "surrogateescape"))
    return len(sizes) - len(names)


def read_metrics(folder: Path) -> tuple[list[RunMetric], list[Message]]:
    """The metrics of the ranks, combined, by name; and what was refused, with the reason."""
    refused: dict[str, Message] = {}
    by_name: dict[str, list[_OfRank]] = defaultdict(list)
    for _, _, content in _iter_files(folder, "metrics"):
        for one in {one.metric.name: one for one in _iter_json(content, _to_metric)}.values():
            problem = metric_problem(one.metric)
            if problem:
                refused.setdefault(one.metric.name, problem)
            else:
                by_name[one.metric.name].append(one)
    ranks = max((one.ranks for reported in by_name.values() for one in reported), default=1)
    metrics = []
    for name, reported in sorted(by_name.items()):
        metric, problem = _combine_ranks(reported, ranks)
        metrics += [metric] if metric else []
        if problem:
            refused.setdefault(name, problem)
    return metrics, list(refused.values())


def bound_metrics(
    metrics: Sequence[RunMetric], refused: Iterable[Message] = ()
) -> tuple[list[RunMetric], list[Message]]:
    """The metrics that a run can have, and what was refused."""
    problems = [*refused, *(problem for metric in metrics if (problem := metric_problem(metric)))]
    stored = [metric for metric in metrics if not metric_problem(metric)]
    more = len(problems) - _PROBLEMS_NAMED
    if more > 0:
        problems = [*problems[:_PROBLEMS_NAMED], Message("and {count} more", count=more)]
    if len(stored) > MOST_METRICS:
        problems.append(Message("a run has up to {most} metrics; the others are not stored", most=MOST_METRICS))
    return stored[:MOST_METRICS], problems


def _combine_ranks(reported: list[_OfRank], ranks: int) -> tuple[RunMetric | None, Message | None]:
    """The run's metric, and what is wrong with it; there is no sum of only some ranks.

    Unit and way are those of the lowest rank, and values in other units do not count."""
    first = min(reported, key=lambda one: one.rank).metric
    values = [one.metric.value for one in sorted(reported, key=lambda one: one.rank) if one.metric.unit == first.unit]
    try:
        value = _COMBINE[first.combined](values)
    except OverflowError:
        value = math.inf
    metric = RunMetric(first.name, value, first.unit, first.better, first.combined, "", MetricSource.JOB)
    problem = metric_problem(metric)
    # A metric of one rank only is usually meant to be; but a sum is said to be of all.
    is_sum = first.combined is Combined.SUM
    if not problem and len(values) < (ranks if is_sum else len(reported)):
        counts = {"name": first.name, "count": len(values), "ranks": ranks, "unit": first.unit}
        problem = Message("metric {name}: {count} of {ranks} ranks reported it in the unit {unit!r}", **counts)
        return None if is_sum else metric, problem
    return None if problem else metric, problem


def read_phases(folder: Path) -> list[PhaseSpan]:
    """The phases of every rank, by rank and time."""
    return list(_iter_phases(folder))


def read_step_times(folder: Path) -> list[StepTime]:
    """The steps of every rank, by rank and in the order of their reports."""
    return [
        step
        for server, card, content in _iter_files(folder, "step_times")
        for step in _parse_step_times(content, server, card)
    ]


def _iter_files(folder: Path, kind: str) -> Iterator[tuple[int, int, bytes]]:
    """What each rank wrote, in order: an object store keeps a file of each of its lives."""
    if not folder.is_dir():
        return
    of_rank: dict[tuple[int, int], list[bytes]] = defaultdict(list)
    for name in sorted((file.name for file in folder.glob(f"{kind}_*")), key=_rank_order):
        match = _FILE.fullmatch(name)
        if match and match["kind"] == kind:
            of_rank[int(match["server"]), int(match["card"])].append((folder / name).read_bytes())
    for (server, card), contents in of_rank.items():
        yield server, card, b"\n".join(contents)


def _rank_order(name: str) -> tuple[int, int, int]:
    match = _FILE.fullmatch(name)
    return (int(match["server"]), int(match["card"]), int(match["start"] or 0)) if match else (0, 0, 0)


def _iter_json(content: bytes, parse: Callable[[Any], T]) -> Iterator[T]:
    """Every line that the reporter wrote: the last one may be cut off."""
    for line in content.splitlines():
        try:
            value = parse(json.loads(line))
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError, OSError, RecursionError):
            continue
        yield value


def _to_metric(values: Any) -> _OfRank:
    value = math.nan if values["value"] is None else float(values["value"])
    name, unit = str(values["name"]), str(values["unit"])
    rank, better, combined = _to_rank(values["rank"]), Better(values["better"]), Combined(values["combined"])
    return _OfRank(rank, _to_rank(values.get("ranks", 1)), RunMetric(name, value, unit, better, combined))


def _to_rank(value: object) -> int:
    rank = int(str(value))
    if not 0 <= rank < MOST_RANKS:
        raise ValueError(rank)
    return rank


def _iter_phases(folder: Path) -> Iterator[PhaseSpan]:
    for server, card, content in _iter_files(folder, "phases"):
        lines = list(_iter_json(content, _to_phase_line))
        for (at, name, process, rank), after in zip(lines, [*lines[1:], None], strict=False):
            if name:
                ended = after[0] if after and after[2] == process else None
                yield PhaseSpan(server, card, rank, process, PhaseName(name), at, ended)


def _to_phase_line(values: Any) -> tuple[datetime, str, datetime, int]:
    name = values["phase"] and PhaseName(values["phase"])
    return _to_time(values["at"]), name, _to_time(values["process"]), _to_rank(values["rank"])


def _to_time(value: object) -> datetime:
    return datetime.fromtimestamp(float(str(value)), UTC)


def _parse_step_times(content: bytes, server: int, card: int) -> Iterator[StepTime]:
    process, rank, before, last, is_counted = None, 0, 0, 0, False
    for line in content.decode("ascii", "replace").splitlines():
        cells = line.split(",")
        try:
            if cells[0] == "process":
                process, rank = _to_time(cells[1]), _to_rank(cells[2])
                # A script that numbers no steps is counted from 1 in each life, which says nothing of repeated ones.
                is_counted = cells[3:] == ["counted"]
                before = last if is_counted else 0
                continue
            number, at, seconds, samples, tokens = cells
            measured = (float(seconds), float(samples), float(tokens) if tokens else None)
            if (
                process
                and 0 < measured[0] <= LONGEST_S
                and all(value is None or 0 <= value < math.inf for value in measured)
            ):
                step = StepTime(server, card, rank, process, before + int(number), _to_time(at), *measured, is_counted)
                last = step.number
                yield step
        except (ValueError, IndexError, OverflowError, OSError):
            continue
