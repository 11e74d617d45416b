"""Reads what logs say of a run's progress while they grow, each byte once, and stores it for everybody who looks."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from aisbench_core.base.errors import AisbenchError
from aisbench_core.domain.authoring.workloads import Workloads
from aisbench_core.domain.progress.patterns import ProgressPatterns, Reading
from aisbench_core.domain.progress.points import ReadSoFar, add_points, read_points, read_so_far, write_so_far
from aisbench_core.domain.progress.tracking import Tracker, batch_of
from aisbench_core.model import Mode, Progress, Run, RunState, TrainingPoint
from aisbench_core.store.run_folders.run_paths import RunFolder

# Of one node's addition to its log: more than a minute's lines. What is before these is skipped.
MAX_BYTES = 256 * 1024


@dataclass(slots=True)
class _WatchedLog:
    tracker: Tracker
    patterns: ProgressPatterns
    offsets: dict[int, int]
    read_at: datetime
    stored: int


@dataclass(slots=True)
class ProgressWatch:
    """Follows the trainings of all runs. Threads may share it, each for runs of its own."""

    workloads: Workloads
    _watched: dict[str, _WatchedLog] = field(default_factory=dict)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def update(self, run: Run, folder: RunFolder, now: datetime) -> Progress | None:
        """Read what was added to the run's logs; the run's progress if that says something new."""
        watched = self._get_watched(run, folder, now)
        before = dict(watched.offsets)
        readings = self._read_logs(run, folder, watched)
        points = watched.tracker.add(readings, watched.read_at, now) if readings else []
        watched.read_at = now
        if points:
            watched.stored = add_points(points, folder.progress, watched.stored)
        if watched.offsets != before:
            tracker = watched.tracker
            said = tracker.steps_of_epoch, tracker.by_reporter, tracker.styles_from_0
            write_so_far(ReadSoFar(watched.offsets, *said), folder.progress_offsets)
        return _to_progress(run, points[-1]) if points else None

    def forget(self, run_id: str) -> None:
        """Drop what is known of an ended run; its files stay."""
        with self._guard:
            self._watched.pop(run_id, None)

    def _get_watched(self, run: Run, folder: RunFolder, now: datetime) -> _WatchedLog:
        with self._guard:
            watched = self._watched.get(run.run_id)
        if watched is None:
            patterns, batch = self._read_manifest(run)
            points = read_points(folder.progress)
            since = points[-1].at if points else run.started_at or run.created_at
            so_far = read_so_far(folder.progress_offsets)
            said = so_far.steps_of_epoch, so_far.by_reporter, so_far.styles_from_0
            tracker = Tracker(run.spec, batch, points[-1] if points else None, *said)
            watched = _WatchedLog(tracker, patterns, so_far.offsets, min(since, now), len(points))
            with self._guard:
                self._watched[run.run_id] = watched
        return watched

    def _read_manifest(self, run: Run) -> tuple[ProgressPatterns, float | None]:
        try:
            progress = self.workloads.get(run.spec.workload).progress_lines
        except AisbenchError:  # it was removed or broken since the launch; well-known styles still count
            return ProgressPatterns(), None
        return ProgressPatterns(progress.patterns), batch_of(run.spec, progress.batch_parameter)

    def _read_logs(self, run: Run, folder: RunFolder, watched: _WatchedLog) -> Sequence[Reading]:
        """Of the first node and, where all train together, of the last: frameworks print on one of them."""
        alone = run.spec.mode is Mode.SINGLE_SERVER
        readings: list[Reading] = []
        for node in {0} if alone else {0, run.spec.node_count - 1}:
            readings += watched.patterns.readings(_read_addition(folder.log(node), node, watched.offsets))
        return readings


def _read_addition(file: Path, node: int, offsets: dict[int, int]) -> bytes:
    """The whole lines that were added since; a log shorter than before was begun anew."""
    try:
        size = file.stat().st_size
    except FileNotFoundError:
        return b""
    start = offsets.get(node, 0)
    if size == start:
        return b""
    start = max(start if size > start else 0, size - MAX_BYTES)
    with file.open("rb") as log:
        log.seek(start)
        text = log.read(MAX_BYTES)
    end = max(text.rfind(b"\n"), text.rfind(b"\r")) + 1
    if not end and len(text) == MAX_BYTES:  # one endless line
        end = len(text)
    offsets[node] = start + end
    return text[:end]


def _to_progress(run: Run, point: TrainingPoint) -> Progress | None:
    """What cards, lists and the command line show of it."""
    if point.step is not None and point.steps:
        return Progress(run.run_id, RunState.RUNNING, min(point.step, point.steps), point.steps, "steps", point.at)
    if point.epochs and point.share is not None:
        done = int(point.share * point.epochs)
        return Progress(run.run_id, RunState.RUNNING, done, point.epochs, "epochs", point.at)
    return None
