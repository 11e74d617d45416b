"""What a run's page shows of it, read once for everybody who looks at the run."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from aisbench_core.model import JobDetails, MetricSample, Progress, Run, TrainingPoint
from aisbench_core.progress.overview import RunOverview
from pages._ui.runs.job_details import job_details
from pages._ui.shell.core import core, ledger_answer

SECONDS = 2.0
"""How old costs and remaining time may be. Everything else is as its files are."""

MAX_RUNS = 64

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _RunFiles:
    """What the files in a run's folder hold."""

    details: JobDetails
    samples: tuple[MetricSample, ...]
    points: tuple[TrainingPoint, ...]
    derived: dict[Hashable, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class RunSnapshot:
    """One moment of a run. `derived`: what follows from its files, computed once for all viewers."""

    run: Run
    progress: Progress | None
    details: JobDetails
    samples: tuple[MetricSample, ...]
    overview: RunOverview
    derived: dict[Hashable, Any]


def once(now: RunSnapshot, key: Hashable, compute: Callable[[RunSnapshot], T]) -> T:
    """What follows from the run's files and the key alone."""
    if key not in now.derived:
        now.derived[key] = compute(now)
    found: T = now.derived[key]
    return found


@dataclass(slots=True)
class _Reading:
    """The newest snapshot of a run and its files, each with the state that it was read in."""

    guard: threading.Lock = field(default_factory=threading.Lock)
    files: tuple[object, _RunFiles] | None = None
    snapshot: tuple[object, RunSnapshot] | None = None


_guard = threading.Lock()
_readings: OrderedDict[str, _Reading] = OrderedDict()


def snapshot(run_id: str) -> RunSnapshot:
    """The run as it is now. Raises what reading the ledger raises."""
    run = ledger_answer(core().ledger.get, run_id)
    progress = ledger_answer(core().ledger.progress, run_id)
    revision = core().files.revision(run_id)
    state = (run, progress, revision, int(core().clock().timestamp() / SECONDS))
    reading = _reading_of(run_id)
    with reading.guard:  # the others wait for the first
        if reading.files is None or reading.files[0] != revision:
            reading.files = (revision, _read(run_id))
        if reading.snapshot is None or reading.snapshot[0] != state:
            files = reading.files[1]
            overview = core().overviews.of(run, files.points)
            reading.snapshot = (
                state,
                RunSnapshot(run, progress, files.details, files.samples, overview, files.derived),
            )
        return reading.snapshot[1]


def _reading_of(run_id: str) -> _Reading:
    with _guard:
        reading = _readings.pop(run_id, None) or _Reading()
        _readings[run_id] = reading
        if len(_readings) > MAX_RUNS:
            _readings.popitem(last=False)
        return reading


def _read(run_id: str) -> _RunFiles:
    files = core().files
    return _RunFiles(job_details(run_id), tuple(files.samples(run_id)), tuple(files.training_points(run_id)))
