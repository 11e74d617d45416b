"""All training jobs, stored in files so that they survive a restart."""

import json
import logging
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from aisbench_sandbox.attempts import JobAttempt, read_attempt
from aisbench_sandbox.events import PlatformEvent
from aisbench_sandbox.files import write_atomically
from aisbench_sandbox.job import Job, JobPhase, TaskEnd

log = logging.getLogger(__name__)

Clock = Callable[[], float]
"""Seconds since the epoch."""


class JobStore:
    """All jobs, each in a file under `folder`; a change is stored before it becomes visible."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        self._folder = folder
        self._clock = clock
        self._lock = threading.RLock()
        folder.mkdir(parents=True, exist_ok=True)
        self._jobs = {job.job_id: job for job in sorted(_read_all(folder), key=lambda job: job.created_at)}

    def now(self) -> int:
        """The time in ms since the epoch."""
        return round(self._clock() * 1000)

    def add(self, body: Mapping[str, Any], script: Mapping[str, Any] | None) -> Job | None:
        """A new job, or None if its name exists."""
        with self._lock:
            if self.has_name(body["metadata"]["name"]):
                return None
            # Ids in the cloud are UUIDs, too.
            job = Job(str(uuid.uuid4()), body, self._unused_time(), script=script)
            return self._store_job(job.with_event(job.created_at, "created"))

    def has_name(self, name: str) -> bool:
        """Whether a job has this name."""
        with self._lock:
            return any(job.name == name for job in self._jobs.values())

    def find(self, job_id: str) -> Job | None:
        """The job, if there is one."""
        # Without the lock: one look-up in a dict is atomic, and jobs are immutable.
        return self._jobs.get(job_id)

    def all(self) -> list[Job]:
        """Every job, oldest first."""
        with self._lock:
            return list(self._jobs.values())

    def change(self, job_id: str, step: Callable[[Job], Job]) -> Job | None:
        """Store and return the job after `step`; None if it was deleted meanwhile."""
        with self._lock:
            job = self._jobs.get(job_id)
            return None if job is None else self._store_job(step(job))

    def change_all(self, step: Callable[[Job], Job]) -> None:
        """Apply `step` to every job; unchanged jobs are not stored again."""
        with self._lock:
            for job in self.all():
                changed = step(job)
                # By identity: every stored change rewrites a file.
                if changed is not job:
                    self._store_job(changed)

    def remove(self, job_id: str) -> None:
        """Delete the job and its files, if they still exist."""
        with self._lock:
            job = self._jobs.pop(job_id, None)
            # Also if the job is unknown here, such as one whose file was damaged.
            self._locate_file(job_id).unlink(missing_ok=True)
            if job is not None:
                self.remove_logs(job)

    def remove_logs(self, job: Job) -> None:
        """Delete the job's logs."""
        for node in range(job.node_count):
            self.log_file(job.job_id, node).unlink(missing_ok=True)

    def log_file(self, job_id: str, node: int) -> Path:
        """The sandbox's own copy of a node's log, whether or not it is exported to OBS."""
        return self._folder / f"{job_id}-worker-{node}.log"

    def _unused_time(self) -> int:
        # Lists are ordered by this; two jobs of the same millisecond would have no order.
        newest = max((job.created_at for job in self._jobs.values()), default=0)
        return max(self.now(), newest + 1)

    def _store_job(self, job: Job) -> Job:
        # The file first: if the disk is full, the change has not happened.
        write_atomically(self._locate_file(job.job_id), json.dumps(asdict(job), ensure_ascii=False).encode())
        self._jobs[job.job_id] = job
        return job

    def _locate_file(self, job_id: str) -> Path:
        return self._folder / f"{job_id}.json"


def _read_all(folder: Path) -> Iterator[Job]:
    """All readable jobs. A damaged file is kept for inspection and does not prevent the start."""
    for file in folder.glob("*.json"):
        try:
            yield _read_job(file)
        except (ValueError, KeyError, TypeError) as error:
            log.warning("%s is damaged and its job is left out: %s", file, error)


def _read_job(file: Path) -> Job:
    stored = json.loads(file.read_bytes())
    stored["phase"] = JobPhase(stored["phase"])
    stored["ends"] = tuple(TaskEnd(**end) for end in stored["ends"])
    stored["events"] = tuple(PlatformEvent(**event) for event in stored["events"])
    stored["metrics"] = {
        task: {name: tuple(values) for name, values in metrics.items()} for task, metrics in stored["metrics"].items()
    }
    stored["attempts"] = _read_attempts(stored)
    return Job(**stored)


def _read_attempts(stored: Mapping[str, Any]) -> tuple[JobAttempt, ...]:
    if "attempts" in stored:
        return tuple(read_attempt(attempt) for attempt in stored["attempts"])
    # Written before jobs could be restarted.
    return (JobAttempt(stored["started_at"], (), stored["ended_at"]),) if stored["started_at"] else ()
