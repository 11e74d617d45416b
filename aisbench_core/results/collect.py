"""Reading a run's result files from its output directory: LIST once, then bounded parallel reads.

Files and their meaning: docs/workloads.md. Numbers are bare texts; anything else is a problem that names the file.
"""

import json
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from aisbench_core.cloud.ports import ObjectStore
from aisbench_core.errors import ResultError
from aisbench_core.model import CollectedResult, Mode, RankResult, RunSpec, ServerResult, TrainResultInfo
from aisbench_core.results.train_result_info import render

RANK_SIZE = "ranksize.json"
DATASET = "dataset.json"
RUN_FILES = (RANK_SIZE, DATASET)

MOST_THROUGHPUT = 1e100
"""Samples/s; beyond it lies no machine, and sums would overflow."""

MOST_ACCURACY = 1e6
"""Some codes write a share, some percent, some another score; sums over servers must not overflow."""

NUMBER = re.compile(r"[-+]?([0-9]++(\.[0-9]*+)?|\.[0-9]++)(e[-+]?[0-9]++)?|[-+]?(nan|inf|infinity)", re.IGNORECASE)
"""A number as programs write it; Python's float() would also take 1_000 and the digits of other scripts."""

SHA256 = re.compile(r"[0-9a-fA-F]{0,64}")

MOST_BYTES = 1024 * 1024
"""A result file holds one number; nothing larger is read."""


@dataclass(frozen=True, slots=True)
class _Files:
    """The small files of an output directory, by name below it."""

    contents: Mapping[str, bytes]
    too_large: frozenset[str]

    def content(self, name: str) -> bytes:
        """A file's bytes. Raises ResultError, naming the file, when it is not there or larger than such files are."""
        if name in self.too_large:
            raise ResultError(f"{name} is larger than {MOST_BYTES} bytes")
        if name not in self.contents:
            raise ResultError(f"{name} is missing")
        return self.contents[name]

    def number(self, name: str) -> float:
        """The finite number in a file. Raises ResultError, naming the file and what it holds."""
        text = self.content(name).decode("utf-8", "replace").strip()
        if not text:
            raise ResultError(f"{name} is empty")
        if not NUMBER.fullmatch(text):
            raise ResultError(f"{name} holds {_start(text)}, and not a number")
        value = float(text)
        if not math.isfinite(value):
            raise ResultError(f"{name} holds {_start(text)}, and not a finite number")
        return value

    def throughput(self, name: str) -> float:
        """The number in a file, if it can be a throughput. Raises ResultError otherwise."""
        value = self.number(name)
        if not 0 < value <= MOST_THROUGHPUT:
            raise ResultError(f"{name} holds {value:g}; allowed: greater than 0, at most {MOST_THROUGHPUT:g}")
        return value

    def accuracy(self, name: str) -> float:
        """The number in a file, if it can be an accuracy. Raises ResultError otherwise."""
        value = self.number(name)
        if not 0 <= value <= MOST_ACCURACY:
            raise ResultError(f"{name} holds {value:g}; allowed: 0 to {MOST_ACCURACY:g}")
        return value


def collect(objects: ObjectStore, output_path: str, spec: RunSpec, info: TrainResultInfo) -> CollectedResult:
    """What the output directory holds, with one problem for each file that is missing or holds no usable number.

    `info` brings the times that are known; throughput (samples/s) and accuracy are filled in. In cluster mode the
    throughput is the sum over ranks; in single-server mode throughput and accuracy are means over the servers."""
    files = _read(objects, output_path, {*RUN_FILES, *_accuracy_files(spec), *(name for *_, name in _rank_files(spec))})
    problems: list[str] = []
    ranks_expected = _ranks_expected(files, spec, problems)
    ranks = tuple(_ranks(files, spec, problems))
    complete = len(ranks) == spec.card_count
    accuracies = _accuracies(files, spec, problems)
    info = replace(
        info,
        throughput_ratio=_throughput(ranks, spec) if complete else None,
        accuracy=_mean_of_all(accuracies),
    )
    synthetic, sha256 = _dataset(files, problems)
    servers = tuple(_servers(ranks, accuracies, spec)) if spec.mode is Mode.SINGLE_SERVER else ()
    return CollectedResult(ranks_expected, ranks, info, render(info), synthetic, sha256, tuple(problems), servers)


def _read(objects: ObjectStore, output_path: str, names: Collection[str]) -> _Files:
    found = {stat.path.removeprefix(output_path): stat.size for stat in objects.list(output_path)}
    small = [name for name in names if found.get(name, math.inf) <= MOST_BYTES]
    contents = objects.read_many(output_path + name for name in small)
    too_large = frozenset(name for name in names if found.get(name, 0) > MOST_BYTES)
    return _Files({path.removeprefix(output_path): content for path, content in contents.items()}, too_large)


def _ranks_expected(files: _Files, spec: RunSpec, problems: list[str]) -> int:
    """Every card counts, whatever the file says; in single-server mode the file is not required."""
    if spec.mode is Mode.SINGLE_SERVER:
        return spec.card_count
    try:
        told = files.number(RANK_SIZE)
    except ResultError as error:
        problems.append(error.message)
        return spec.card_count
    if told != spec.card_count:
        problems.append(f"{RANK_SIZE} holds {told:g}, and the run has {spec.card_count} cards")
    return spec.card_count


def _ranks(files: _Files, spec: RunSpec, problems: list[str]) -> Iterator[RankResult]:
    for server, rank, name in _rank_files(spec):
        try:
            yield RankResult(server, rank, files.throughput(name))
        except ResultError as error:
            problems.append(error.message)


def _rank_files(spec: RunSpec) -> Iterator[tuple[int, int, str]]:
    if spec.mode is Mode.CLUSTER:
        for rank in range(spec.card_count):
            yield 0, rank, f"throughput_{rank}.json"
        return
    for server in range(spec.node_count):
        for card in range(spec.cards_per_node):
            yield server, card, f"{server}/throughput_{card}.json"


def _throughput(ranks: tuple[RankResult, ...], spec: RunSpec) -> float:
    total = math.fsum(rank.throughput for rank in ranks)
    return total / spec.node_count if spec.mode is Mode.SINGLE_SERVER else total


def _servers(
    ranks: tuple[RankResult, ...], accuracies: Sequence[float | None], spec: RunSpec
) -> Iterator[ServerResult]:
    """Each server by itself; one that lacks a card's number has no throughput."""
    for server, accuracy in enumerate(accuracies):
        cards = [rank.throughput for rank in ranks if rank.server == server]
        yield ServerResult(server, math.fsum(cards) if len(cards) == spec.cards_per_node else None, accuracy)


def _accuracies(files: _Files, spec: RunSpec, problems: list[str]) -> list[float | None]:
    """The accuracy of each server, in cluster mode of the whole; None where there is no number."""
    values: list[float | None] = []
    for name in _accuracy_files(spec):
        try:
            values.append(files.accuracy(name))
        except ResultError as error:
            problems.append(error.message)
            values.append(None)
    return values


def _mean_of_all(values: Sequence[float | None]) -> float | None:
    there = [value for value in values if value is not None]
    return fmean(there) if len(there) == len(values) else None


def _accuracy_files(spec: RunSpec) -> list[str]:
    if spec.mode is Mode.CLUSTER:
        return ["accuracy.json"]
    return [f"accuracy_{server}.json" for server in range(spec.node_count)]


def _dataset(files: _Files, problems: list[str]) -> tuple[bool, str]:
    """What the code says of its data: whether it was made up, and its SHA-256 (hex). Saying nothing is allowed."""
    if DATASET not in {*files.contents, *files.too_large}:
        return False, ""
    try:
        told = json.loads(files.content(DATASET))
        synthetic, sha256 = told.get("synthetic", False), told.get("sha256", "")
        if isinstance(synthetic, bool) and SHA256.fullmatch(sha256):
            return synthetic, sha256
    except ResultError as error:
        problems.append(error.message)
        return False, ""
    except (ValueError, AttributeError, TypeError, RecursionError):  # not JSON, no object, no text, no end
        pass
    problems.append(f'{DATASET} is not like {{"name": "...", "synthetic": true or false, "sha256": "hex digits"}}')
    return False, ""


def _start(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:40] + "…")
