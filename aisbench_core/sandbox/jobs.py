"""Training jobs: what is known of each, how it may change, and the files that let it survive a restart."""

import json
import threading
import uuid
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from aisbench_core.sandbox.catalogue import FLAVORS, Flavor
from aisbench_core.sandbox.events import JobEvent
from aisbench_core.sandbox.files import write_atomically

Clock = Callable[[], float]
"""Seconds since the epoch."""


class Phase(StrEnum):
    """Where a job stands, in the API's words."""

    CREATING = "Creating"
    PENDING = "Pending"
    RUNNING = "Running"
    TERMINATING = "Terminating"
    COMPLETED = "Completed"
    FAILED = "Failed"
    TERMINATED = "Terminated"


ENDED = frozenset({Phase.COMPLETED, Phase.FAILED, Phase.TERMINATED})


@dataclass(frozen=True, slots=True)
class TaskEnd:
    """How one task ended."""

    task: str
    exit_code: int
    message: str


@dataclass(frozen=True, slots=True)
class Channel:
    """An input or output: the OBS directory, and how the code learns the local one (parameter or env)."""

    name: str
    path: str
    access_method: str


@dataclass(frozen=True, slots=True)
class Job:
    """One training job. `body` is the accepted request; times are ms since the epoch, 0 when not reached.

    `metrics` holds one value per minute by task and metric. `script` is what a scripted job pretends."""

    job_id: str
    body: Mapping[str, Any]
    created_at: int
    phase: Phase = Phase.CREATING
    started_at: int = 0
    ended_at: int = 0
    ends: tuple[TaskEnd, ...] = ()
    events: tuple[JobEvent, ...] = ()
    metrics: Mapping[str, Mapping[str, tuple[float, ...]]] = field(default_factory=dict)
    script: Mapping[str, Any] | None = None

    @property
    def name(self) -> str:
        """The name that the user gave."""
        return str(self.body["metadata"]["name"])

    @property
    def algorithm(self) -> Mapping[str, Any]:
        """The request's algorithm block."""
        block: Mapping[str, Any] = self.body["algorithm"]
        return block

    @property
    def flavor(self) -> Flavor:
        """The instance type of every node."""
        return FLAVORS[self.body["spec"]["resource"]["flavor_id"]]

    @property
    def node_count(self) -> int:
        """How many nodes."""
        return int(self.body["spec"]["resource"]["node_count"])

    @property
    def card_count(self) -> int:
        """All cards: nodes times cards per node."""
        return self.node_count * self.flavor.cards

    @property
    def tasks(self) -> tuple[str, ...]:
        """worker-0, worker-1 and so on: one task per node."""
        return tuple(f"worker-{node}" for node in range(self.node_count))

    @property
    def has_ended(self) -> bool:
        """Whether nothing more will happen."""
        return self.phase in ENDED

    @property
    def log_path(self) -> str:
        """The OBS directory for logs, or nothing."""
        export = self.body["spec"].get("log_export_path") or {}
        return str(export.get("obs_url") or "")

    @property
    def longest_hours(self) -> int:
        """After how many hours of running it is stopped; 0: never."""
        return int((self.body["spec"].get("auto_stop") or {}).get("duration") or 0)

    def log_object(self, node: int) -> str:
        """The OBS path of a node's log, or nothing."""
        return f"{self.log_path}modelarts-job-{self.job_id}-worker-{node}.log" if self.log_path else ""

    def channels(self, kind: str) -> tuple[Channel, ...]:
        """The job's `inputs` or `outputs`."""
        return tuple(
            Channel(entry["name"], entry["remote"]["obs"]["obs_url"], entry.get("access_method") or "parameter")
            for entry in self.algorithm.get(kind) or ()
        )

    def told(self, at: int, kind: str, **facts: str) -> "Job":
        """The job with one more event."""
        return replace(self, events=(*self.events, JobEvent(at, kind, facts)))

    def queued(self, at: int) -> "Job":
        """The job, waiting for its turn."""
        return replace(self, phase=Phase.PENDING).told(at, "queued")

    def running(self, at: int) -> "Job":
        """The job, with nodes of its own."""
        return replace(self, phase=Phase.RUNNING, started_at=at).told(at, "running")

    def terminating(self) -> "Job":
        """The job, asked to stop."""
        return replace(self, phase=Phase.TERMINATING)

    def terminated(self, at: int, kind: str = "terminated", **facts: str) -> "Job":
        """The job, stopped by a person or by its longest running time."""
        return replace(self, phase=Phase.TERMINATED, ended_at=at).told(at, kind, **facts)

    def ended(self, at: int, ends: tuple[TaskEnd, ...], kind: str = "") -> "Job":
        """The job, ended by itself: completed if every task returned 0. A job that was asked to stop is terminated."""
        if self.phase is Phase.TERMINATING:
            return replace(self, ends=ends).terminated(at)
        failed = any(end.exit_code for end in ends)
        phase = Phase.FAILED if failed else Phase.COMPLETED
        return replace(self, phase=phase, ended_at=at, ends=ends).told(at, kind or phase.value.lower())


class Jobs:
    """All jobs, each with a file under `folder`; a change is written before anybody sees it."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        self._folder = folder
        self._clock = clock
        self._lock = threading.RLock()
        folder.mkdir(parents=True, exist_ok=True)
        stored = (_read(file) for file in folder.glob("*.json"))
        self._jobs = {job.job_id: job for job in sorted(stored, key=lambda job: job.created_at)}

    def now(self) -> int:
        """The time in ms since the epoch."""
        return round(self._clock() * 1000)

    def add(self, body: Mapping[str, Any], script: Mapping[str, Any] | None) -> Job | None:
        """A new job, or None when its name is taken."""
        with self._lock:
            if self.has_name(body["metadata"]["name"]):
                return None
            job = Job(str(uuid.uuid4()), body, self._unused_time(), script=script)
            return self._store(job.told(job.created_at, "created"))

    def has_name(self, name: str) -> bool:
        """Whether a job has this name."""
        with self._lock:
            return any(job.name == name for job in self._jobs.values())

    def find(self, job_id: str) -> Job | None:
        """The job, if there is one."""
        return self._jobs.get(job_id)

    def all(self) -> list[Job]:
        """Every job, oldest first."""
        with self._lock:
            return list(self._jobs.values())

    def change(self, job_id: str, step: Callable[[Job], Job]) -> Job | None:
        """The job after `step`, stored; None when it was deleted meanwhile."""
        with self._lock:
            job = self._jobs.get(job_id)
            return None if job is None else self._store(step(job))

    def remove(self, job_id: str) -> None:
        """Forget the job and its files."""
        with self._lock:
            job = self._jobs.pop(job_id)
            self._file(job_id).unlink(missing_ok=True)
            self.remove_logs(job)

    def remove_logs(self, job: Job) -> None:
        """Forget what the job's nodes printed."""
        for node in range(job.node_count):
            self.log_file(job.job_id, node).unlink(missing_ok=True)

    def log_file(self, job_id: str, node: int) -> Path:
        """Where this sandbox keeps a node's log, whether or not it is exported to OBS."""
        return self._folder / f"{job_id}-worker-{node}.log"

    def _unused_time(self) -> int:
        # Lists are ordered by this; two jobs of the same millisecond would have no order.
        newest = max((job.created_at for job in self._jobs.values()), default=0)
        return max(self.now(), newest + 1)

    def _store(self, job: Job) -> Job:
        write_atomically(self._file(job.job_id), json.dumps(asdict(job), ensure_ascii=False).encode())
        self._jobs[job.job_id] = job
        return job

    def _file(self, job_id: str) -> Path:
        return self._folder / f"{job_id}.json"


def _read(file: Path) -> Job:
    stored = json.loads(file.read_bytes())
    stored["phase"] = Phase(stored["phase"])
    stored["ends"] = tuple(TaskEnd(**end) for end in stored["ends"])
    stored["events"] = tuple(JobEvent(**event) for event in stored["events"])
    stored["metrics"] = {
        task: {name: tuple(values) for name, values in metrics.items()} for task, metrics in stored["metrics"].items()
    }
    return Job(**stored)
