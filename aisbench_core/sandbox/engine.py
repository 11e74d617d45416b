"""What running a job means: the interface of both engines, and the one that really runs the boot files."""

import os
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from aisbench_core.sandbox import processes
from aisbench_core.sandbox.jobs import Job, Jobs, Phase, TaskEnd
from aisbench_core.sandbox.objects import Objects
from aisbench_core.sandbox.refusals import Refused
from aisbench_core.sandbox.training import INTERRUPTED, Training

GRACE_SECONDS = 15.0
SHUTDOWN_GRACE_SECONDS = 3.0


def usual_cards() -> int:
    """How many cards run at once: 16, so that 2 nodes x 8 cards can be rehearsed on a laptop, or 4 per core."""
    return max(16, 4 * (os.cpu_count() or 1))


@dataclass(frozen=True, slots=True)
class Limits:
    """How many cards run at once, and how many seconds a process has to end when it is asked to."""

    cards: int
    grace: float = GRACE_SECONDS


class Engine(Protocol):
    """Carries jobs from Creating to their end."""

    def check(self, job: Job) -> None:
        """Raises Refused if this engine can never run the job."""

    def start(self, job: Job) -> None:
        """Take care of a new job from now on."""

    def look(self) -> None:
        """Somebody is about to look at the jobs."""

    def stop(self, job_id: str) -> None:
        """End a job that was told to stop."""

    def advance(self, job_id: str) -> None:
        """Move a job one phase on, if that is for others to decide."""

    def end_all(self) -> None:
        """End every job and wait for that: all jobs are about to be forgotten."""

    def close(self) -> None:
        """End everything that runs: the sandbox stops."""


class SubprocessEngine:
    """Runs each job's boot file once per card on every node; jobs beyond the capacity wait in their order."""

    def __init__(self, jobs: Jobs, objects: Objects, work: Path, obs_url: str, limits: Limits) -> None:
        self._jobs = jobs
        self._objects = objects
        self._work = work
        self._obs_url = obs_url
        self._limits = limits
        self._lock = threading.RLock()
        self._running: dict[str, Training] = {}
        self._closing = False
        work.mkdir(parents=True, exist_ok=True)
        processes.kill_marked(f"MA_JOB_DIR={work}/")  # of a sandbox that was killed
        self._end_lost_jobs()
        self._start_next()

    def check(self, job: Job) -> None:
        """Raises Refused for custom images and for jobs that never fit."""
        if job.algorithm["engine"].get("image_url"):
            solution = "Use a preset engine with code_dir and boot_file."
            raise Refused(400, "ModelArts.2810", "This sandbox runs no container images.", solution)
        if job.card_count > self._limits.cards:
            message = (
                f"The job needs {job.card_count} cards and this sandbox runs at most {self._limits.cards} at once."
            )
            raise Refused(400, "ModelArts.2815", message, "Use fewer nodes, or start the sandbox with --cards.")

    def start(self, job: Job) -> None:
        """Run the job now, or let it wait for its turn."""
        self._start_next()
        self._jobs.change(job.job_id, lambda now: now.queued(self._jobs.now()) if now.phase is Phase.CREATING else now)

    def look(self) -> None:
        """Nothing: these jobs move by themselves."""

    def stop(self, job_id: str) -> None:
        """End the job's processes, or take it from the queue."""
        with self._lock:
            training = self._running.get(job_id)
            if training:
                training.stop()
            else:
                self._jobs.change(job_id, self._taken_from_queue)

    def advance(self, job_id: str) -> None:
        """Nothing: these jobs move by themselves."""

    def end_all(self) -> None:
        """Take every job from the queue, end all processes and wait for that."""
        with self._lock:
            for job in self._jobs.all():
                if job.job_id not in self._running and not job.has_ended:
                    self._jobs.change(job.job_id, lambda job: job.terminated(self._jobs.now()))
        self._interrupt()

    def close(self) -> None:
        """End all processes and wait for that; queued jobs keep their place for the next start."""
        self._closing = True
        self._interrupt()

    def _interrupt(self) -> None:
        with self._lock:
            running = list(self._running.values())
        for training in running:
            training.interrupt(SHUTDOWN_GRACE_SECONDS)
        for training in running:
            training.join(2 * SHUTDOWN_GRACE_SECONDS)

    def _taken_from_queue(self, job: Job) -> Job:
        return job.terminated(self._jobs.now()) if job.phase is Phase.TERMINATING else job

    def _start_next(self) -> None:
        with self._lock:
            for job in self._jobs.all():
                if self._closing or job.phase not in (Phase.CREATING, Phase.PENDING) or job.job_id in self._running:
                    continue
                if self._cards_in_use() + job.card_count > self._limits.cards:
                    return  # nobody overtakes
                training = Training(
                    job, self._jobs, self._objects, self._work, self._obs_url, self._limits.grace, self._ended
                )
                self._running[job.job_id] = training
                training.start()

    def _cards_in_use(self) -> int:
        return sum(training.job.card_count for training in self._running.values())

    def _ended(self, job_id: str) -> None:
        with self._lock:
            del self._running[job_id]
        self._start_next()

    def _end_lost_jobs(self) -> None:
        for job in self._jobs.all():
            if job.phase in (Phase.RUNNING, Phase.TERMINATING):
                self._jobs.change(job.job_id, self._lost)

    def _lost(self, job: Job) -> Job:
        ends = tuple(TaskEnd(task, 128 + 9, INTERRUPTED) for task in job.tasks)
        return job.ended(self._jobs.now(), ends, "interrupted")
