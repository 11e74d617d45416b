"""The points of a run's training as a file in its folder, a point a line, and where reading its logs goes on."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from aisbench_core.model import TrainingPoint

MAX_POINTS = 2000
"""Of a file; then every other one goes, so that a long training has as many as a short one."""

_POINT = TypeAdapter(TrainingPoint)
_OFFSETS = TypeAdapter(dict[int, int])


@dataclass(slots=True)
class BarSoFar:
    """What is known of the bar that counts the training, and of another one that may."""

    total: int | None = None
    step: int = 0
    epoch: int = 0
    """How often it began, from 1; 0 while it may be one for all epochs."""
    lines: int = 0
    lines_before: int = 0
    """Of its epoch before."""
    is_named: bool = False
    other_total: int = 0
    other_step: int = 0


@dataclass(slots=True)
class ReadSoFar:
    """How many bytes of each node's log are read, and what they said that later lines depend on: see Tracker."""

    offsets: dict[int, int] = field(default_factory=dict)
    node: int | None = None
    """The node whose log says where the training is."""
    by_reporter: bool = False
    styles_from_0: frozenset[str] = frozenset()
    has_loss: bool = False
    has_epochs_done: bool = False
    steps_of_epoch: int | None = None
    epoch_step: int = 0
    """The step of its epoch that a line without a total named last."""
    step_gap: int = 0
    bar: BarSoFar = field(default_factory=BarSoFar)


_READ_SO_FAR = TypeAdapter(ReadSoFar)


def read_points(file: Path) -> list[TrainingPoint]:
    """What is plausible of the stored points, oldest first. A line that was cut off, as by a kill, is none."""
    points = []
    with suppress(FileNotFoundError):
        for line in file.read_bytes().splitlines():
            with suppress(ValidationError):
                points.append(_POINT.validate_json(line).plausible)
    return points


def thin_points(points: Sequence[TrainingPoint], most: int) -> Sequence[TrainingPoint]:
    """At most so many of them, evenly, with the newest."""
    every = -(-len(points) // most)
    return points if every <= 1 else points[::-1][::every][::-1]


def add_points(points: Sequence[TrainingPoint], file: Path, stored: int) -> int:
    """Append points to a file that has `stored` of them; returns how many it has then."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("ab") as lines:
        lines.write(_dump_points(points))
    if stored + len(points) <= MAX_POINTS:
        return stored + len(points)
    every = read_points(file)
    fewer = [*every[:-1:2], every[-1]]
    _replace_file(file, _dump_points(fewer))
    return len(fewer)


def read_so_far(file: Path) -> ReadSoFar:
    """Where reading goes on; at the beginning where that is not known."""
    with suppress(OSError):
        content = file.read_bytes()
        with suppress(ValidationError):
            return ReadSoFar(_OFFSETS.validate_json(content))  # the file of an earlier version
        with suppress(ValidationError):
            return _READ_SO_FAR.validate_json(content)
    return ReadSoFar()


def write_so_far(so_far: ReadSoFar, file: Path) -> None:
    """Store it. It is worth no synchronisation: without it a log is read again."""
    _replace_file(file, _READ_SO_FAR.dump_json(so_far))


def _dump_points(points: Sequence[TrainingPoint]) -> bytes:
    return b"".join(_POINT.dump_json(point, exclude_none=True) + b"\n" for point in points)


def _replace_file(file: Path, content: bytes) -> None:
    draft = file.with_suffix(".draft")
    draft.write_bytes(content)
    draft.replace(file)
