"""What the reporter's step() left while a job runs: how much each card trained, in how much time of its own."""

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

MOST_RANKS = 1_000_000

_FILE = re.compile(r"steps_(?P<node>\d{1,6})(_\d{1,6}(_\d{1,13})?)?\.jsonl")


@dataclass(frozen=True, slots=True)
class StepReport:
    """`samples` that a card trained in `seconds`, up to `at`; ranks count over all nodes, cards on each."""

    at: datetime
    node: int
    card: int
    rank: int
    samples: float
    seconds: float


def step_file_node(name: str) -> int | None:
    """The node whose reports a file of an output directory holds; None for other files."""
    match = _FILE.fullmatch(name)
    return int(match["node"]) if match else None


def parse_steps(content: bytes, node: int) -> Iterator[StepReport]:
    """The reports in a part of a node's file, without lines that are cut off or that the reporter did not write."""
    for line in content.splitlines():
        try:
            report = _to_report(json.loads(line), node)
        except (ValueError, TypeError, KeyError, OverflowError, OSError, RecursionError):
            continue
        if report is not None:
            yield report


def _to_report(values: Any, node: int) -> StepReport | None:
    at, samples, seconds = datetime.fromtimestamp(values["at"], UTC), float(values["samples"]), float(values["seconds"])
    card, rank = int(values["card"]), int(values["rank"])
    is_measured = math.isfinite(samples) and math.isfinite(seconds) and samples > 0 and seconds > 0
    is_known = 0 <= card < 1024 and 0 <= rank < MOST_RANKS
    return StepReport(at, node, card, rank, samples, seconds) if is_measured and is_known else None
