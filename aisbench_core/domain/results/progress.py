"""What the reporter prints while a script trains: step, seconds, throughput and accuracy, read from a log."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from aisbench_core.base.messages import Message
from aisbench_core.model import Event

# The value of an event by which is known when a run reached its target.
SECONDS = "seconds_to_target"

# The stage of a test while training, which without an epoch of its own is after the epoch that it names as its step.
EVALUATION = "evaluate"

MARK = b"aisbench: progress {"
PART_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ProgressPoint:
    """One line. `seconds` since the script began; `throughput` of the first card; None where the script has none.

    `is_evaluation`: it is of a test, and not of the training itself."""

    step: int
    seconds: float
    throughput: float | None = None
    accuracy: float | None = None
    epoch: int | None = None
    loss: float | None = None
    is_evaluation: bool = False


def read_progress(log: Path) -> tuple[ProgressPoint, ...]:
    """The points in a log, in order; those since the last start if the job was started again. Empty without a log."""
    try:
        stat = log.stat()
    except FileNotFoundError:
        return ()
    return _read_points(log, stat.st_size, stat.st_mtime_ns)


def target_message(points: Sequence[ProgressPoint], target: float) -> Message | None:
    """When the accuracy first reached the target, as an event says it; None if it never did."""
    for point in points:
        if point.accuracy is not None and point.accuracy >= target:
            values = {SECONDS: point.seconds, "step": point.step, "accuracy": point.accuracy, "target": target}
            values |= {} if point.epoch is None else {"epoch": point.epoch}
            return Message(
                "reached the target accuracy of {target:.4g} after {seconds_to_target:.4g} s of its script, at step"
                " {step} with {accuracy:.4g}",
                **values,
            )
    return None


def seconds_in(event: Event) -> float | None:
    """The seconds of `target_message`; None for any other event."""
    values = event.message.values if isinstance(event.message, Message) else {}
    seconds = values.get(SECONDS)
    return seconds if isinstance(seconds, float | int) else None


# A page draws itself every few seconds, and a follower asks at every tick: only a log that grew is read again.
@lru_cache(maxsize=256)
def _read_points(log: Path, _size: int, _changed_ns: int) -> tuple[ProgressPoint, ...]:
    points: list[ProgressPoint] = []
    for line in _marked_lines(log):
        point = _parse_point(line)
        if point is None:
            continue
        if points and point.seconds < points[-1].seconds:
            points.clear()
        points.append(point)
    return tuple(points)


def _marked_lines(log: Path) -> Iterator[bytes]:
    """What follows the mark on each line that has it; a line without an end may still grow."""
    rest = b""
    with log.open("rb") as file:
        while part := file.read(PART_BYTES):
            *lines, rest = (rest + part).split(b"\n")
            rest = rest[-PART_BYTES:]  # progress bars may never end a line
            yield from (line[line.index(MARK) + len(MARK) - 1 :] for line in lines if MARK in line)


def _parse_point(text: bytes) -> ProgressPoint | None:
    """None for anything that the reporter does not print: logs hold what jobs write."""
    try:
        values = json.loads(text)
        numbers = {name: float(values[name]) for name in ("seconds", "throughput", "accuracy") if name in values}
        step = int(values["step"])
        is_evaluation = values.get("stage") == EVALUATION
        epoch = values.get("epoch", step if is_evaluation else None)
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return None
    if not all(map(math.isfinite, numbers.values())) or "seconds" not in numbers:
        return None
    return ProgressPoint(
        step, **numbers, epoch=epoch if isinstance(epoch, int) else None, loss=_find_loss(values),
        is_evaluation=is_evaluation,
    )  # fmt: skip


def _find_loss(values: Mapping[str, object]) -> float | None:
    """A finite one: a loss that is not a number is no measurement of it."""
    loss = values.get("loss")
    return float(loss) if isinstance(loss, float) and math.isfinite(loss) else None
