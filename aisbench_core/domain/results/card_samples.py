"""What the reporter measured on the cards inside a job: read from its output, stored with the run, and summarised."""

import json
import math
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import Any

from pydantic import TypeAdapter

from aisbench_core.base.private_files import write_whole
from aisbench_core.cloud.ports import ObjectStore
from aisbench_core.domain.results.record import read_lines
from aisbench_core.model import CardSample

CORE_USE, MEMORY_USED, MEMORY_TOTAL, POWER, TEMPERATURE = (
    "coreUtil",
    "memoryUsed",
    "memoryTotal",
    "power",
    "temperature",
)
NAMES = (CORE_USE, MEMORY_USED, MEMORY_TOTAL, POWER, TEMPERATURE)
"""Metrics in the order in which they are shown."""

# The reporter ends at 16 MB. A job may write anything there, so larger files are not read.
MOST_BYTES = 17 * 1024 * 1024
MOST_FILES_PER_NODE = 64
"""Each attempt at a job begins a file."""

_FILE = re.compile(r"cards_(?P<node>\d{1,6})_\d{1,12}(_\d{1,12})?\.jsonl")
_SAMPLE = TypeAdapter(CardSample)
# What a card cannot have: the tools print such numbers when the driver is broken.
_HIGHEST = {CORE_USE: 100.0}


@dataclass(frozen=True, slots=True)
class CardSummary:
    """A card over the whole run; None: not measured.

    `core_use`: mean, percent. `memory_used`: highest, MB. `power`: mean, W. `temperature`: highest, degrees Celsius."""

    node: int
    card: int
    readings: int
    core_use: float | None
    memory_used: float | None
    memory_total: float | None
    power: float | None
    temperature: float | None


def is_card_file(name: str) -> bool:
    """Whether a file of an output directory holds samples of cards."""
    return _FILE.fullmatch(name) is not None


def fetch_card_samples(objects: ObjectStore, output_path: str, node_count: int) -> list[CardSample]:
    """What the reporter left in an output directory, by time; lines that it did not write are ignored."""
    found: dict[int, list[str]] = defaultdict(list)
    for stat in objects.list(f"{output_path}cards_"):
        match = _FILE.fullmatch(stat.path.removeprefix(output_path))
        if match and stat.size <= MOST_BYTES and int(match["node"]) < node_count:
            found[int(match["node"])].append(stat.path)
    samples: set[CardSample] = set()
    for node, paths in found.items():
        for path in sorted(paths)[-MOST_FILES_PER_NODE:]:
            samples.update(parse_card_file(objects.read(path), node))
    return sorted(samples, key=lambda sample: (sample.at, sample.node, sample.card, sample.name))


def parse_card_file(content: bytes, node: int) -> Iterator[CardSample]:
    """The samples in a file of a node. Its last line may be cut off, and a value that is no measurement is a gap."""
    for line in content.splitlines():
        try:
            reading = json.loads(line)
            at = datetime.fromtimestamp(reading["at"], UTC)
            cards = {int(card): values for card, values in reading["cards"].items()}
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError, OSError, RecursionError):
            continue
        for card, values in cards.items():
            if isinstance(values, dict) and 0 <= card < 1024:
                yield from _iter_samples(at, node, card, values)


def _iter_samples(at: datetime, node: int, card: int, values: Mapping[str, Any]) -> Iterator[CardSample]:
    for name in NAMES:
        value = values.get(name)
        # -1 stands for "not measured", as in the platform's own metrics.
        if not isinstance(value, int | float) or isinstance(value, bool):
            continue
        if math.isfinite(value) and 0 <= value <= _HIGHEST.get(name, math.inf):
            yield CardSample(at, node, card, name, float(value))


def read_card_samples(file: Path) -> list[CardSample]:
    """The stored samples of a run; empty when there is no file. Raises ResultError, naming the line."""
    return list(read_lines(_SAMPLE, file))


def write_card_samples(samples: Iterable[CardSample], file: Path) -> None:
    """Replace the stored samples of a run."""
    write_whole(file, b"".join(_SAMPLE.dump_json(sample) + b"\n" for sample in samples))


def card_summaries(samples: Iterable[CardSample]) -> list[CardSummary]:
    """Each measured card, by node and card."""
    cards: dict[tuple[int, int], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    times: dict[tuple[int, int], set[datetime]] = defaultdict(set)
    for sample in samples:
        cards[sample.node, sample.card][sample.name].append(sample.value)
        times[sample.node, sample.card].add(sample.at)
    return [_summarize_card(*key, len(times[key]), values) for key, values in sorted(cards.items())]


def _summarize_card(node: int, card: int, readings: int, values: Mapping[str, Collection[float]]) -> CardSummary:
    def mean(name: str) -> float | None:
        return fmean(values[name]) if name in values else None

    def highest(name: str) -> float | None:
        return max(values[name]) if name in values else None

    memory, total, heat = highest(MEMORY_USED), highest(MEMORY_TOTAL), highest(TEMPERATURE)
    return CardSummary(node, card, readings, mean(CORE_USE), memory, total, mean(POWER), heat)
