"""What a run's page shows of it, read once for everybody who looks at the run."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from aisbench_core.base.errors import ResultError
from aisbench_core.domain.liveness.slow_cards import CardRate
from aisbench_core.model import Clock, JobDetails, MetricSample, Progress, Run, TrainingPoint
from aisbench_core.running.progress.overview import RunOverview, RunOverviews
from aisbench_core.running.run_files import RunFiles

SECONDS = 2.0
"""How old costs and remaining time may be. Everything else is as its files are."""

MAX_RUNS = 64

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _SnapshotContents:
    """What the files in a run's folder hold."""

    details: JobDetails
    samples: tuple[MetricSample, ...]
    points: tuple[TrainingPoint, ...]
    rates: tuple[CardRate, ...]
    derived: dict[Hashable, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class RunSnapshot:
    """One moment of a run. `derived`: what follows from its files, computed once for all viewers."""

    run: Run
    progress: Progress | None
    details: JobDetails
    samples: tuple[MetricSample, ...]
    rates: tuple[CardRate, ...]
    overview: RunOverview
    derived: dict[Hashable, Any]

    def once(self, key: Hashable, compute: Callable[["RunSnapshot"], T]) -> T:
        """What follows from the run's files and the key alone."""
        if key not in self.derived:
            self.derived[key] = compute(self)
        found: T = self.derived[key]
        return found


@dataclass(slots=True)
class _RunReading:
    """The newest snapshot of a run and its files, each with the state that it was read in."""

    guard: threading.Lock = field(default_factory=threading.Lock)
    contents: tuple[object, _SnapshotContents] | None = None
    snapshot: tuple[object, RunSnapshot] | None = None


@dataclass(slots=True)
class RunSnapshots:
    """Snapshots of the runs that somebody looks at. Threads may share it."""

    files: RunFiles
    overviews: RunOverviews
    clock: Clock
    _readings: OrderedDict[str, _RunReading] = field(default_factory=OrderedDict)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def of(self, run: Run, progress: Progress | None) -> RunSnapshot:
        """The run as it is now."""
        revision = self.files.revision(run.run_id)
        state = (run, progress, revision, int(self.clock().timestamp() / SECONDS))
        reading = self._reading_of(run.run_id)
        with reading.guard:  # the others wait for the first
            if reading.contents is None or reading.contents[0] != revision:
                reading.contents = (revision, self._read_contents(run.run_id))
            if reading.snapshot is None or reading.snapshot[0] != state:
                reading.snapshot = (state, self._build_snapshot(run, progress, reading.contents[1]))
            return reading.snapshot[1]

    def _reading_of(self, run_id: str) -> _RunReading:
        with self._guard:
            reading = self._readings.pop(run_id, None) or _RunReading()
            self._readings[run_id] = reading
            if len(self._readings) > MAX_RUNS:
                self._readings.popitem(last=False)
            return reading

    def _read_contents(self, run_id: str) -> _SnapshotContents:
        try:
            details = self.files.job(run_id)
        except ResultError:  # a damaged file hides nothing else of the run
            details = JobDetails()
        samples, points = tuple(self.files.samples(run_id)), tuple(self.files.training_points(run_id))
        return _SnapshotContents(details, samples, points, tuple(self.files.card_rates(run_id)))

    def _build_snapshot(self, run: Run, progress: Progress | None, contents: _SnapshotContents) -> RunSnapshot:
        overview = self.overviews.of(run, contents.points)
        read = contents.details, contents.samples, contents.rates
        return RunSnapshot(run, progress, *read, overview, contents.derived)
