"""Curves of a run: the scalars of its event files by directory and tag, in bounded memory however many there are."""

import math
import threading
from array import array
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from aisbench_core.domain.summaries.batches import Batch, ScalarBatch, find_batch
from aisbench_core.domain.summaries.event_files import BrokenFrame, is_event_file, is_mindspore, iter_records
from aisbench_core.domain.summaries.events import Scalar, read_scalars

# A curve with twice as many points is thinned to so many: a chart on the page has about as many pixels.
MOST_POINTS = 400
MOST_CURVES = 500
MOST_TAG = 200  # letters
SINGLES = 256  # records that are read one by one before it is looked again whether they repeat
PEEKED_BYTES, BLOCK_BYTES = 64 * 1024, 8 * 1024 * 1024
RUNS_HELD = 8
"""Runs whose curves stay in memory, each with at most 500 curves of 800 points of 24 bytes."""


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """A value at a step of the training. `time`: seconds since 1970."""

    step: int
    """Step of the training."""
    time: float
    """Seconds since 1970."""
    value: float
    """In the unit of the tag."""


@dataclass(frozen=True, slots=True)
class TrainingCurve:
    """The scalars of one tag in one directory, by step; `points` are all of them, or the extremes of each stretch.

    `count`: all finite values; `not_finite`: NaN and infinite ones, which are no points. `lowest`, `highest` and `last`
    are exact; None without a finite value."""

    directory: str
    tag: str
    points: tuple[CurvePoint, ...]
    count: int
    """Finite values of the curve; `points` are all of them, or the extremes of each stretch."""
    not_finite: int
    """NaN and infinite values, which are no points."""
    lowest: float | None
    """Of all finite values; null without any."""
    highest: float | None
    """Of all finite values; null without any."""
    last: CurvePoint | None

    @property
    def group(self) -> str:
        """What the tag has before its first slash; empty without one."""
        head, slash, _ = self.tag.partition("/")
        return head if slash else ""


@dataclass(frozen=True, slots=True)
class RunCurves:
    """What the event files of a run hold, by tag and directory.

    `damaged`: files with records that cannot be read. `excluded`: whether there were more curves than are read.
    `for_tensorboard`: whether TensorBoard reads any of the files, which it does not of MindSpore's."""

    curves: tuple[TrainingCurve, ...] = ()
    files: int = 0
    damaged: tuple[str, ...] = ()
    excluded: bool = False
    for_tensorboard: bool = False

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups of all tags, in their order."""
        return tuple(dict.fromkeys(curve.group for curve in self.curves))


def iter_scalars(folder: Path) -> Iterator[tuple[str, Scalar]]:
    """Every readable scalar of the event files in a folder, one after the other, with its directory."""
    for path in event_files(folder):
        directory = _get_directory(folder, path)
        reading = _File(path)
        yield from ((directory, scalar) for scalar in reading.new_scalars())


def event_files(folder: Path) -> list[Path]:
    """The event files in a folder and below, by name: their names begin with the time at which they were begun."""
    return sorted(path for path in folder.rglob("*") if is_event_file(path.name) and path.is_file())


def _get_directory(folder: Path, path: Path) -> str:
    return path.parent.relative_to(folder).as_posix().removeprefix(".")


@dataclass(slots=True)
class _File:
    """How far a file has been read."""

    path: Path
    offset: int = 0
    is_damaged: bool = False

    def new_scalars(self, most: int | None = None) -> Iterator[Scalar]:
        """The scalars of the (first `most`) records that are complete now, from the last reading on."""
        mindspore = is_mindspore(self.path.name)
        try:
            for record in islice(iter_records(self.path, self.offset), most):
                self.offset = record.end
                scalars = read_scalars(record.data, mindspore=mindspore) if record.data is not None else []
                # Only what is shown is checked: a checksum of images would take longer than all the rest.
                if scalars is None or (scalars and not record.is_intact):
                    self.is_damaged = True
                else:
                    yield from scalars
        except (BrokenFrame, OSError):
            self.is_damaged = True

    def new_batches(self) -> Iterator[ScalarBatch | Scalar]:
        """The same, with points of records that repeat as batches."""
        while True:
            before = self.offset
            batch = None if is_mindspore(self.path.name) else self._read_batch()
            if batch is None:
                yield from self.new_scalars(SINGLES)
            else:
                self.offset += batch.end
                self.is_damaged = self.is_damaged or not batch.is_intact
                yield from batch.scalars
            if self.offset == before:
                return

    def _read_batch(self) -> Batch | None:
        try:
            with self.path.open("rb") as file:
                file.seek(self.offset)
                peeked = file.read(PEEKED_BYTES)
                return find_batch(peeked, 0) and find_batch(peeked + file.read(BLOCK_BYTES), 0)
        except OSError:
            return None  # reading record by record says so


@dataclass(slots=True)
class _Drawing:
    """A curve that still grows."""

    steps: "array[int]" = field(default_factory=lambda: array("q"))
    times: "array[float]" = field(default_factory=lambda: array("d"))
    values: "array[float]" = field(default_factory=lambda: array("d"))
    count: int = 0
    not_finite: int = 0
    lowest: float = math.inf
    highest: float = -math.inf
    last: CurvePoint | None = None

    def add(self, scalar: Scalar) -> None:
        if not math.isfinite(scalar.value):
            self.not_finite += 1
            return
        self.count += 1
        self.lowest, self.highest = min(self.lowest, scalar.value), max(self.highest, scalar.value)
        if self.last is None or scalar.step >= self.last.step:
            self.last = CurvePoint(scalar.step, scalar.time, scalar.value)
        self.steps.append(scalar.step)
        self.times.append(scalar.time)
        self.values.append(scalar.value)
        if len(self.values) >= 2 * MOST_POINTS:
            self._thin_points()

    def add_batch(self, batch: ScalarBatch) -> None:
        """Add points like one after the other."""
        import numpy as np  # takes 0.1 s, which commands without curves need not wait for

        finite = np.isfinite(batch.values)
        steps, times, values = batch.steps[finite], batch.times[finite], batch.values[finite]
        self.not_finite += len(batch.values) - len(values)
        if not len(values):
            return
        self.count += len(values)
        self.lowest, self.highest = min(self.lowest, float(values.min())), max(self.highest, float(values.max()))
        latest = len(steps) - 1 - int(steps[::-1].argmax())  # of equal steps the later one
        if self.last is None or steps[latest] >= self.last.step:
            self.last = CurvePoint(int(steps[latest]), float(times[latest]), float(values[latest]))
        done = 0
        while done < len(values):
            room = 2 * MOST_POINTS - len(self.values)
            for kept, new in ((self.steps, steps), (self.times, times), (self.values, values)):
                kept.frombytes(new[done : done + room].tobytes())
            done += room
            if len(self.values) >= 2 * MOST_POINTS:
                self._thin_points()

    def _thin_points(self) -> None:
        """Leave the lowest and the highest of every four points, so that no peak is lost."""
        import numpy as np

        fours = np.frombuffer(self.values).reshape(-1, 4)
        pairs = np.sort(np.stack([fours.argmin(axis=1), fours.argmax(axis=1)], axis=1), axis=1)
        stays = (pairs + np.arange(0, len(self.values), 4)[:, None])[[True, False] | (pairs[:, :1] < pairs[:, 1:])]
        self.steps = array("q", np.frombuffer(self.steps, np.int64)[stays].tobytes())
        self.times = array("d", np.frombuffer(self.times)[stays].tobytes())
        self.values = array("d", np.frombuffer(self.values)[stays].tobytes())

    def curve(self, directory: str, tag: str) -> TrainingCurve:
        # A restarted job goes back to its last checkpoint: of two values of a step, the later one counts.
        points = {point[0]: CurvePoint(*point) for point in zip(self.steps, self.times, self.values, strict=True)}
        if self.last:
            points[self.last.step] = self.last
        return TrainingCurve(
            directory,
            tag,
            tuple(points[step] for step in sorted(points)),
            self.count,
            self.not_finite,
            self.lowest if self.count else None,
            self.highest if self.count else None,
            self.last,
        )


@dataclass(slots=True)
class _Reading:
    """The event files of one run, as far as they were read."""

    folder: Path
    files: dict[Path, _File] = field(default_factory=dict)
    drawings: dict[tuple[str, str], _Drawing] = field(default_factory=dict)
    excluded: bool = False

    def update(self) -> None:
        for path in event_files(self.folder):
            file = self.files.setdefault(path, _File(path))
            directory = _get_directory(self.folder, path)
            for scalars in file.new_batches():
                self._add_scalars(directory, scalars)

    def _add_scalars(self, directory: str, scalars: ScalarBatch | Scalar) -> None:
        key = directory, scalars.tag[:MOST_TAG]
        if key not in self.drawings and len(self.drawings) >= MOST_CURVES:
            self.excluded = True
            return
        drawing = self.drawings.setdefault(key, _Drawing())
        if isinstance(scalars, Scalar):
            drawing.add(scalars)
        else:
            drawing.add_batch(scalars)

    def was_replaced(self) -> bool:
        """Whether a file is shorter than what was read of it, or gone: then all is read again."""
        return any(not file.path.is_file() or file.path.stat().st_size < file.offset for file in self.files.values())

    def result(self) -> RunCurves:
        ordered = sorted(self.drawings.items(), key=lambda item: (item[0][1], item[0][0]))
        damaged = tuple(
            path.relative_to(self.folder).as_posix() for path, file in self.files.items() if file.is_damaged
        )
        curves = tuple(drawing.curve(directory, tag) for (directory, tag), drawing in ordered)
        return RunCurves(
            curves, len(self.files), damaged, self.excluded, any(not is_mindspore(path.name) for path in self.files)
        )


class CurveReader:
    """Reads what event files have grown by since the last time. Threads may share it."""

    def __init__(self) -> None:
        self._readings: OrderedDict[Path, _Reading] = OrderedDict()
        self._guard = threading.Lock()

    def read(self, folder: Path) -> RunCurves:
        """The curves of the event files in a folder; empty without any."""
        with self._guard:  # one at a time: two readers of one file would count its scalars twice
            reading = self._readings.pop(folder, None)
            if reading is None or reading.was_replaced():
                reading = _Reading(folder)
            reading.update()
            self._readings[folder] = reading
            while len(self._readings) > RUNS_HELD:
                self._readings.popitem(last=False)
            return reading.result()
