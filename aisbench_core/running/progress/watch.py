"""Reads what logs say of a run's progress while they grow, each byte once, and stores it for everybody who looks."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from aisbench_core.base.errors import AisbenchError
from aisbench_core.domain.authoring.workloads import Workloads
from aisbench_core.domain.progress.logged import LoggedTraining, LogMeasures, choose_log
from aisbench_core.domain.progress.patterns import ProgressPatterns
from aisbench_core.domain.progress.points import ReadSoFar, add_points, read_points, read_so_far, write_so_far
from aisbench_core.domain.progress.reading import Reading
from aisbench_core.domain.progress.styles import shipped_styles
from aisbench_core.domain.progress.tracking import Tracker, batch_of
from aisbench_core.domain.results.log_results import LogWindow
from aisbench_core.model import Mode, Progress, Run, RunState, TrainingPoint
from aisbench_core.store.run_folders.run_paths import RunFolder

# Of one node's addition to its log: more than a minute's lines. What is before these is skipped.
MAX_BYTES = 256 * 1024


@dataclass(slots=True)
class _WatchedLog:
    tracker: Tracker
    patterns: ProgressPatterns
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
        so_far = watched.tracker.so_far
        before = dict(so_far.offsets)
        readings = self._read_logs(run, folder, watched)
        points = watched.tracker.add(readings, watched.read_at, now) if readings else []
        watched.read_at = now
        if points:
            watched.stored = add_points(points, folder.progress, watched.stored)
        if so_far.offsets != before:
            write_so_far(so_far, folder.progress_offsets)
        return to_progress(run, points[-1]) if points else None

    def measure_logs(self, run: Run, folder: RunFolder, window: LogWindow) -> list[LogMeasures | None]:
        """What the log of the job comes to within these steps, or that of each server that trains alone."""
        nodes = run.spec.node_count
        alone = run.spec.mode is Mode.SINGLE_SERVER
        groups = [{node} for node in range(nodes)] if alone else [{0, nodes - 1}]
        measured = []
        for group in groups:
            chosen = choose_log({node: self._read_log(run, folder.log(node)) for node in group}, shipped_styles())
            measured.append(chosen.measure(window.first, window.last) if chosen else None)
        return measured

    def _read_log(self, run: Run, file: Path) -> LoggedTraining:
        patterns, tracker = self._read_manifest(run, None, ReadSoFar())
        training = LoggedTraining(tracker)
        for part in iter_parts(file):
            training.add(patterns.readings(part))
        return training

    def forget(self, run_id: str) -> None:
        """Drop what is known of an ended run; its files stay."""
        with self._guard:
            self._watched.pop(run_id, None)

    def _get_watched(self, run: Run, folder: RunFolder, now: datetime) -> _WatchedLog:
        with self._guard:
            watched = self._watched.get(run.run_id)
        if watched is None:
            points = read_points(folder.progress)
            since = points[-1].at if points else run.started_at or run.created_at
            last, so_far = points[-1] if points else None, read_so_far(folder.progress_offsets)
            patterns, tracker = self._read_manifest(run, last, so_far)
            watched = _WatchedLog(tracker, patterns, min(since, now), len(points))
            with self._guard:
                self._watched[run.run_id] = watched
        return watched

    def _read_manifest(
        self, run: Run, last: TrainingPoint | None, so_far: ReadSoFar
    ) -> tuple[ProgressPatterns, Tracker]:
        try:
            workload = self.workloads.get(run.spec.workload)
        except AisbenchError:  # it was removed or broken since the launch; well-known styles still count
            return ProgressPatterns(), Tracker(run.spec, None, last, so_far)
        lines = workload.progress_lines
        batch = batch_of(run.spec, lines.batch_parameter)
        return ProgressPatterns(lines.patterns), Tracker(run.spec, batch, last, so_far, workload.throughput_unit)

    def _read_logs(self, run: Run, folder: RunFolder, watched: _WatchedLog) -> Sequence[Reading]:
        """Of the first node and, where all train together, of the last: frameworks print on one of them."""
        so_far, alone = watched.tracker.so_far, run.spec.mode is Mode.SINGLE_SERVER
        nodes = {0} if alone else {0, run.spec.node_count - 1}
        by_node = {
            node: watched.patterns.readings(_read_addition(folder.log(node), node, so_far.offsets)) for node in nodes
        }
        if so_far.node not in by_node:
            so_far.node = _choose_node(by_node)
        if so_far.node is None:
            return [reading for node in sorted(by_node) for reading in by_node[node]]
        return by_node[so_far.node]


def _choose_node(by_node: Mapping[int, Sequence[Reading]]) -> int | None:
    """The one whose log says where the training is, the reporter's first, if one does yet."""

    def rank_node(node: int) -> tuple[int, int, int]:
        readings = by_node[node]
        positions = sum(reading.has_position for reading in readings)
        return sum(reading.whole for reading in readings), positions, -node

    chosen = max(by_node, key=rank_node)
    return chosen if any(rank_node(chosen)[:2]) else None


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


def iter_parts(file: Path) -> Iterator[bytes]:
    """The whole lines of a log, part by part; nothing without a log."""
    if not file.exists():
        return
    rest = b""
    with file.open("rb") as log:
        while part := log.read(MAX_BYTES):
            text = rest + part
            end = max(text.rfind(b"\n"), text.rfind(b"\r")) + 1
            yield text[:end]
            rest = text[end:][-MAX_BYTES:]  # progress bars may never end a line
    yield rest


def to_progress(run: Run, point: TrainingPoint) -> Progress | None:
    """What cards, lists and the command line show of it."""
    done, total, unit = 0, 0, "steps"
    if point.step is not None and point.steps:
        done, total = min(point.step, point.steps), point.steps
    elif point.epochs and point.share is not None:
        done, total, unit = int(point.share * point.epochs), point.epochs, "epochs"
    elif point.step:
        done = point.step
    elif not point.stage:
        return None
    return Progress(run.run_id, RunState.RUNNING, done, total, unit, point.at, point.stage)
