"""Cells of exported rows as names: what ran, on what, and which of several it is."""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from aisbench_core.base.formats import clip_text, nodes_and_cards
from aisbench_core.warehouse.exporting.reported import Cells, ReportedRun
from aisbench_core.warehouse.values.runs import Validity

MAX_NAME = 80


def describe_software(cells: Cells) -> str:
    """Framework and version."""
    return " ".join(part for part in (cells["framework"], cells["framework_version"]) if part)


def describe_hardware(cells: Cells) -> str:
    """The instance type; of a pool, or where no instance type is known, the accelerator beside the pool."""
    return cells["flavor"] or " · ".join(part for part in (cells["pool_id"], cells["accelerator"]) if part)


def describe_size(cells: Cells) -> str:
    """Nodes × cards."""
    return nodes_and_cards(cells["node_count"], cells["cards_per_node"])


def format_system(cells: Cells) -> str:
    """Size and hardware: 8 × 8 snt9b."""
    return f"{describe_size(cells)} {clip_text(describe_hardware(cells), MAX_NAME)}".strip()


def is_counted(run: ReportedRun) -> bool:
    """Whether it enters statistics."""
    return Validity(run.cells["validity"]).counts


def group_title(group: Cells) -> str:
    """What was tested on what, in one line."""
    parts = (group["model_name"], describe_software(group), describe_hardware(group), describe_size(group))
    return " · ".join(clip_text(part, MAX_NAME) for part in parts if part)


def list_distinct(values: Iterable[object]) -> tuple[str, ...]:
    """The values in order, each once, without empty ones."""
    return tuple(dict.fromkeys(str(value) for value in values if value))


def join_few(values: Iterable[object], most: int = 3) -> str:
    """The distinct values up to `most` of them; the rest is an ellipsis."""
    found = list_distinct(values)
    return "; ".join(clip_text(value, MAX_NAME) for value in found[:most]) + ("; …" if len(found) > most else "")


def format_ranges(numbers: Iterable[int]) -> str:
    """Numbers of runs, with neighbours joined: 1–3, 5."""
    parts = []
    for _, group in groupby(enumerate(sorted(set(numbers))), key=lambda pair: pair[1] - pair[0]):
        run = [number for _, number in group]
        parts.append(str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}")
    return ", ".join(parts)


def make_natural_key(values: Iterable[object]) -> tuple[Any, ...]:
    """A sort key by which 2 comes before 10 and r1.9 before r1.10; what is missing comes first."""
    return tuple(
        [(part.isdigit(), int(part) if part.isdigit() else 0, part) for part in re.split(r"([0-9]+)", str(value or ""))]
        for value in values
    )


def split_shared(maps: Sequence[Mapping[str, object]]) -> tuple[dict[str, object], list[dict[str, object]]]:
    """What is the same in all of them, and what is particular to each; empty values are left out of the shared."""
    names = dict.fromkeys(name for each in maps for name in each)
    same = {name for name in names if len({str(each.get(name)) for each in maps}) == 1}
    own = [{name: each.get(name) for name in names if name not in same} for each in maps]
    return {name: maps[0][name] for name in names if name in same and maps[0][name] not in (None, "")}, own
