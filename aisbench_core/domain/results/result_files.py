"""The result files of a run: which files each layout has, how they are read, and their content (docs/workloads.md).

A file holds a bare number; anything else is a problem that names the file.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from aisbench_core.base.errors import ResultError
from aisbench_core.base.messages import Message, choose_plural
from aisbench_core.cloud.ports import ObjectStore
from aisbench_core.domain.results.train_result_info import MAX_ACCURACY, NUMBER, checked_throughput, render_block
from aisbench_core.model import CollectedResult, Mode, RankResult, RunSpec, ServerResult, TrainResultInfo

RANK_SIZE = "ranksize.json"
DATASET = "dataset.json"
ACCURACY = "accuracy.json"
# Written by the sandbox: results beside it are rehearsals, wherever they are imported.
REHEARSAL = "rehearsal.json"

SHA256 = re.compile(r"[0-9a-fA-F]{0,64}")

# A result file holds one number, so larger ones are not read.
MOST_BYTES = 1024 * 1024

MOST_NAMED = 16

# A file that holds a number is smaller; of others, so much is kept as evidence.
MOST_KEPT = 4096

_RESULT_FILE = re.compile(
    r"(\d{1,9}/)?throughput_\d{1,9}\.json|accuracy(_\d{1,9})?\.json|(ranksize|dataset|rehearsal)\.json"
)
_RANK_FILE = re.compile(r"(?:(?P<server>\d{1,9})/)?throughput_(?P<rank>\d{1,9})\.json")


def is_result_file(name: str) -> bool:
    """Whether a file of an output directory holds a part of a run's result, in any layout."""
    return _RESULT_FILE.fullmatch(name) is not None


@dataclass(frozen=True, slots=True)
class Layout:
    """Mode, nodes and cards of a run, which decide its files. In cluster mode only the number of cards counts."""

    mode: Mode
    node_count: int
    cards_per_node: int

    @property
    def card_count(self) -> int:
        """All cards of the run: nodes x cards per node."""
        return self.node_count * self.cards_per_node

    @property
    def names(self) -> set[str]:
        """All file names that a run can have, below its output directory."""
        return {RANK_SIZE, DATASET, REHEARSAL, *self.accuracy_files(), *(name for *_, name in self.rank_files())}

    def rank_files(self) -> Iterator[tuple[int, int, str]]:
        """Server, rank and file name of each throughput."""
        if self.mode is Mode.CLUSTER:
            for rank in range(self.card_count):
                yield 0, rank, f"throughput_{rank}.json"
            return
        for server in range(self.node_count):
            for card in range(self.cards_per_node):
                yield server, card, f"{server}/throughput_{card}.json"

    def surplus_files(self, names: Iterable[str]) -> list[str]:
        """Those of the names that are files of ranks which the run does not have, by server and rank."""
        own = {name for *_, name in self.rank_files()}
        surplus = ((match, name) for name in names if (match := _RANK_FILE.fullmatch(name)) and name not in own)
        of_this_mode = (
            (int(match["server"] or 0), int(match["rank"]), name)
            for match, name in surplus
            if bool(match["server"]) is (self.mode is Mode.SINGLE_SERVER)
        )
        return [name for *_, name in sorted(of_this_mode)]

    def accuracy_files(self) -> list[str]:
        """The files whose mean is the run's accuracy."""
        if self.mode is Mode.CLUSTER:
            return [ACCURACY]
        return [f"accuracy_{server}.json" for server in range(self.node_count)]


@dataclass(frozen=True, slots=True)
class ResultFiles:
    """The small files of an output directory, by their path in it."""

    contents: Mapping[str, bytes]
    too_large: frozenset[str] = frozenset()

    def content(self, name: str) -> bytes:
        """A file's bytes. Raises ResultError, naming the file, when it is missing or too large."""
        if name in self.too_large:
            raise ResultError(Message("{name} is larger than {number} bytes", name=name, number=MOST_BYTES))
        if name not in self.contents:
            raise ResultError(Message("{name} is missing", name=name))
        return self.contents[name]

    def number(self, name: str) -> float:
        """The finite number in a file. Raises ResultError, naming the file and what it holds."""
        text = self.content(name).decode("utf-8", "replace").strip()
        if not text:
            raise ResultError(Message("{name} is empty", name=name))
        if not NUMBER.fullmatch(text):
            raise ResultError(Message("{name} holds {found}, and not a number", name=name, found=_quote_start(text)))
        value = float(text)
        if not math.isfinite(value):
            raise ResultError(
                Message("{name} holds {found}, and not a finite number", name=name, found=_quote_start(text))
            )
        return value

    def throughput(self, name: str) -> float:
        """The number in a file, if it can be a throughput. Raises ResultError otherwise."""
        return checked_throughput(name, self.number(name))

    def accuracy(self, name: str) -> float:
        """The number in a file, if it can be an accuracy. Raises ResultError otherwise."""
        value = self.number(name)
        if not 0 <= value <= MAX_ACCURACY:
            most = f"{MAX_ACCURACY:g}"
            raise ResultError(
                Message("{name} holds {found}; allowed: 0 to {most}", name=name, found=f"{value:g}", most=most)
            )
        return value

    def dump(self, mask: Callable[[str], str]) -> bytes:
        """The files as the job wrote them, for a run's folder: their texts by name, as JSON. `mask`: hides secrets."""
        texts = {
            name: mask(content[:MOST_KEPT].decode("utf-8", "replace"))
            for name, content in sorted(self.contents.items())
        }
        return json.dumps(texts, ensure_ascii=False, indent=0).encode()


def read_result_files(files: ResultFiles, layout: Layout, info: TrainResultInfo) -> CollectedResult:
    """The result in these files, with a problem for each file that is missing or holds no usable number.

    `info`: the run's times, to which throughput (samples/s) and accuracy are added. In cluster mode the
    throughput is the sum over ranks; in single-server mode throughput and accuracy are means over the servers."""
    problems: list[Message] = []

    def attempt(read: Callable[[str], float], name: str) -> float | None:
        try:
            return read(name)
        except ResultError as error:
            problems.append(error.message)
            return None

    is_cluster, count = layout.mode is Mode.CLUSTER, layout.card_count
    size = attempt(files.number, RANK_SIZE) if is_cluster else None
    if size not in (None, count):
        problems.append(
            choose_plural(
                count,
                "{name} holds {found:g}, and the run has {number} card",
                "{name} holds {found:g}, and the run has {number} cards",
                name=RANK_SIZE,
                found=size,
            )
        )
    ranks = tuple(_iter_ranks(files, layout, problems))
    accuracies = [attempt(files.accuracy, name) for name in layout.accuracy_files()]
    measured = [accuracy for accuracy in accuracies if accuracy is not None]
    total = math.fsum(rank.throughput for rank in ranks) / (1 if is_cluster else layout.node_count)
    info = replace(
        info,
        throughput_ratio=total if len(ranks) == count else None,
        accuracy=fmean(measured) if len(measured) == len(accuracies) else None,
    )
    synthetic, sha256 = _read_dataset(files, problems)
    servers = () if is_cluster else tuple(_iter_servers(ranks, accuracies, layout))
    stamped = REHEARSAL in {*files.contents, *files.too_large}
    return CollectedResult(count, ranks, info, render_block(info), synthetic, sha256, tuple(problems), servers, stamped)


def collect_result(
    objects: ObjectStore, output_path: str, spec: RunSpec, info: TrainResultInfo
) -> tuple[CollectedResult, ResultFiles]:
    """The result in an output directory, and its files. A missing one, or one without a usable number, is a problem.

    `info`: the run's times."""
    layout = Layout(spec.mode, spec.node_count, spec.cards_per_node)
    sizes = {stat.path.removeprefix(output_path): stat.size for stat in objects.list(output_path)}
    files = _read_files(objects, output_path, layout.names, sizes)
    result = read_result_files(files, layout, info)
    surplus = layout.surplus_files(sizes)
    if not surplus:
        return result, files
    # The code counted its cards wrong, so all its numbers are in doubt.
    named = ", ".join(surplus[:MOST_NAMED]) + (", …" if len(surplus) > MOST_NAMED else "")
    problem = choose_plural(
        layout.card_count,
        "the run has {number} card, and there are files of more ranks: {files}",
        "the run has {number} cards, and there are files of more ranks: {files}",
        files=named,
    )
    return replace(result, problems=(*result.problems, problem)), files


def _read_files(objects: ObjectStore, output_path: str, names: set[str], sizes: Mapping[str, int]) -> ResultFiles:
    small = [name for name in names if sizes.get(name, math.inf) <= MOST_BYTES]
    contents = objects.read_many(output_path + name for name in small)
    too_large = frozenset(name for name in names if sizes.get(name, 0) > MOST_BYTES)
    return ResultFiles({path.removeprefix(output_path): content for path, content in contents.items()}, too_large)


def _iter_ranks(files: ResultFiles, layout: Layout, problems: list[Message]) -> Iterator[RankResult]:
    """The first MOST_NAMED damaged files are named, the others counted: there can be thousands."""
    damaged = 0
    for server, rank, name in layout.rank_files():
        try:
            yield RankResult(server, rank, files.throughput(name))
        except ResultError as error:
            damaged += 1
            if damaged <= MOST_NAMED:
                problems.append(error.message)
    if damaged > MOST_NAMED:
        problems.append(Message("files of other ranks without a usable number: {count}", count=damaged - MOST_NAMED))


def _iter_servers(
    ranks: tuple[RankResult, ...], accuracies: Sequence[float | None], layout: Layout
) -> Iterator[ServerResult]:
    """Throughput and accuracy of each server; throughput None if a card's number is missing."""
    cards: dict[int, list[float]] = {server: [] for server in range(len(accuracies))}
    for rank in ranks:
        cards[rank.server].append(rank.throughput)
    for server, accuracy in enumerate(accuracies):
        complete = len(cards[server]) == layout.cards_per_node
        yield ServerResult(server, math.fsum(cards[server]) if complete else None, accuracy)


def _read_dataset(files: ResultFiles, problems: list[Message]) -> tuple[bool, str]:
    """Whether the data is synthetic, and its SHA-256 (hex); False and empty if the optional file is missing."""
    if DATASET not in {*files.contents, *files.too_large}:
        return False, ""
    try:
        dataset = json.loads(files.content(DATASET))
        synthetic, sha256 = dataset.get("synthetic", False), dataset.get("sha256", "")
        if isinstance(synthetic, bool) and SHA256.fullmatch(sha256):
            return synthetic, sha256
    except ResultError as error:
        problems.append(error.message)
        return False, ""
    except (ValueError, AttributeError, TypeError, RecursionError):
        pass  # not JSON, not an object, not text, nested too deeply
    example = '{"name": "...", "synthetic": true or false, "sha256": "hex digits"}'
    problems.append(Message("{name} is not like {example}", name=DATASET, example=example))
    return False, ""


def _quote_start(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:40] + "…")
