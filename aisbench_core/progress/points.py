"""The points of a run's training as a file in its folder, a point a line, and how far its logs are read."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from aisbench_core.model import TrainingPoint

MAX_POINTS = 2000
"""Of a file; then every other one goes, so that a long training has as many as a short one."""

_POINT = TypeAdapter(TrainingPoint)
_OFFSETS = TypeAdapter(dict[int, int])


def read_points(file: Path) -> list[TrainingPoint]:
    """What is plausible of the stored points, oldest first. A line that was cut off, as by a kill, is none."""
    points = []
    with suppress(FileNotFoundError):
        for line in file.read_bytes().splitlines():
            with suppress(ValidationError):
                points.append(_POINT.validate_json(line).plausible)
    return points


def thinned(points: Sequence[TrainingPoint], most: int) -> Sequence[TrainingPoint]:
    """At most so many of them, evenly, with the newest."""
    every = -(-len(points) // most)
    return points if every <= 1 else points[::-1][::every][::-1]


def add_points(points: Sequence[TrainingPoint], file: Path, stored: int) -> int:
    """Append points to a file that has `stored` of them; returns how many it has then."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("ab") as lines:
        lines.write(_lines(points))
    if stored + len(points) <= MAX_POINTS:
        return stored + len(points)
    every = read_points(file)
    fewer = [*every[:-1:2], every[-1]]
    _replace(file, _lines(fewer))
    return len(fewer)


def read_offsets(file: Path) -> dict[int, int]:
    """How many bytes of each node's log are read; none where that is not known."""
    with suppress(OSError, ValidationError):
        return _OFFSETS.validate_json(file.read_bytes())
    return {}


def write_offsets(offsets: Mapping[int, int], file: Path) -> None:
    """Store them. They are worth no synchronisation: without them a log is read again."""
    _replace(file, json.dumps(offsets).encode())


def _lines(points: Sequence[TrainingPoint]) -> bytes:
    return b"".join(_POINT.dump_json(point, exclude_none=True) + b"\n" for point in points)


def _replace(file: Path, content: bytes) -> None:
    draft = file.with_suffix(".draft")
    draft.write_bytes(content)
    draft.replace(file)
