"""The interface of both engines, and the engine that really runs boot files."""

import logging
import os
import threading
import time
from dataclasses import dataclass
from typing import Protocol

from aisbench_sandbox.attempts import FaultScenario
from aisbench_sandbox.engine import boot
from aisbench_sandbox.engine.node import processes
from aisbench_sandbox.engine.recovery import JobOutcome, job_after
from aisbench_sandbox.engine.scheduling import check_size, fail_if_overdue, to_waiting
from aisbench_sandbox.engine.training import INTERRUPTED, Training, TrainingContext
from aisbench_sandbox.files import remove_tree
from aisbench_sandbox.job import WAITING, Job, JobPhase, TaskEnd
from aisbench_sandbox.queue import Occupied, QueueSnapshot, Waiting, decide_next
from aisbench_sandbox.refusals import Refused

log = logging.getLogger(__name__)

# As long as Huawei's boot helper (davincirun.py) waits between SIGTERM and SIGKILL.
GRACE_SECONDS = 15.0
# Shorter than for a job that is stopped: a person who pressed Ctrl-C waits for it.
SHUTDOWN_GRACE_SECONDS = 3.0
MANY_CARDS = 1_000_000
_DISK_SECONDS = 0.5
_OWN_CODE = "Sandbox.0001"  # the cloud has no such error
_REMEDY = "Run the sandbox where Linux allows namespaces."


def default_cards() -> int:
    """The default number of cards: 16, so that 2 nodes x 8 cards fit on a laptop, or 4 per core."""
    return max(16, 4 * (os.cpu_count() or 1))


@dataclass(frozen=True, slots=True)
class EngineLimits:
    """How many cards may run at once, and the grace period of a process in seconds."""

    cards: int
    grace: float = GRACE_SECONDS


class JobEngine(Protocol):
    """Takes jobs from Creating to their end."""

    def check(self, job: Job) -> None:
        """Raises Refused if this engine can never run the job."""

    def start(self, job: Job) -> None:
        """Run a new job, or queue it."""

    def refresh(self) -> None:
        """Bring all jobs up to date; called before they are read."""

    def stop(self, job_id: str) -> None:
        """End a job whose stop was requested."""

    def advance(self, job_id: str) -> None:
        """Move a job one phase on, if the engine is stepped by hand."""

    def end_all(self) -> None:
        """End every job and wait for that; all jobs are about to be deleted."""

    def close(self) -> None:
        """End everything that runs; the sandbox shuts down."""


class SubprocessEngine:
    """Really runs jobs, as many as fit; the others wait in queue order."""

    def __init__(self, context: TrainingContext) -> None:
        self._context = context
        self._jobs = context.jobs
        self._lock = threading.RLock()
        self._running: dict[str, Training] = {}
        self._closing = False
        context.work.mkdir(parents=True, exist_ok=True)
        # What a killed sandbox left: its processes, and its directories
        processes.kill_marked(f"MA_JOB_DIR={context.work}/")
        # After the processes, which would go on writing into them.
        for folder in context.work.iterdir():
            remove_tree(folder)
        self._resume_jobs()
        self._start_next()

    def check(self, job: Job) -> None:
        """Raises Refused for jobs that this machine cannot start, and for those that can never fit."""
        refusal = self._context.why_no_jobs()
        if refusal:
            raise Refused(400, _OWN_CODE, refusal, _REMEDY)
        boot.check_starter(job)
        check_size(job, self._context.capacity)

    def start(self, job: Job) -> None:
        """Run the job now, or leave it in the queue."""
        self._jobs.change(job.job_id, self._queue_job)
        self._start_next()

    def refresh(self) -> None:
        """Fail overdue jobs and start what fits now: plans and priorities may have changed."""
        self._start_next()

    def stop(self, job_id: str) -> None:
        """End the job's processes, or remove it from the queue."""
        with self._lock:
            # Under the lock: between this and the change below, the job could be started.
            training = self._running.get(job_id)
            if training:
                training.stop()
            else:
                self._jobs.change(job_id, self._dequeue_job)

    def advance(self, job_id: str) -> None:
        """Nothing: these jobs run by themselves."""

    def end_all(self) -> None:
        """Empty the queue, end all processes and wait for that."""
        with self._lock:
            for job in self._jobs.all():
                if not job.has_ended:
                    self._jobs.change(job.job_id, Job.to_terminating)
                    self.stop(job.job_id)
        self._interrupt_all()

    def close(self) -> None:
        """End all processes and wait for that; queued jobs keep their place for the next start."""
        # Before the jobs end, because the end of each starts the next one.
        self._closing = True
        self._interrupt_all()

    def _interrupt_all(self) -> None:
        with self._lock:
            running = list(self._running.values())
        for training in running:
            training.interrupt(SHUTDOWN_GRACE_SECONDS)
        # Without the lock, which the end of each job needs. Longer than the grace, because the last logs are uploaded
        # after it.
        for training in running:
            training.join(2 * SHUTDOWN_GRACE_SECONDS)

    def _queue_job(self, job: Job) -> Job:
        return job.to_queued(self._jobs.now()) if job.phase is JobPhase.CREATING else job

    def _dequeue_job(self, job: Job) -> Job:
        return job.to_terminated(self._jobs.now()) if job.phase is JobPhase.TERMINATING else job

    def _start_next(self) -> None:
        with self._lock:
            if self._closing:
                return
            decision = decide_next(
                QueueSnapshot(self._context.capacity.hosts(), self._list_waiting(), self._list_occupied())
            )
            for job_id, hosts in decision.starts.items():
                self._begin_training(job_id, hosts)
            for job_id in decision.preempted:
                self._running[job_id].preempt()

    def _list_waiting(self) -> list[Waiting]:
        longest_s = self._context.capacity.plan.requeue_s
        self._jobs.change_all(lambda job: fail_if_overdue(job, longest_s, self._jobs.now()))
        jobs = self._jobs.all()
        return [to_waiting(job) for job in jobs if job.phase in WAITING and job.job_id not in self._running]

    def _list_occupied(self) -> list[Occupied]:
        return [training.occupied for training in self._running.values()]

    def _begin_training(self, job_id: str, hosts: tuple[str, ...]) -> None:
        now = self._jobs.now()
        job = self._jobs.change(job_id, lambda job: job.to_running(now, hosts))
        if job is None or job.phase is not JobPhase.RUNNING:  # deleted or stopped meanwhile
            return
        training = Training(job, self._context, self._end_training)
        # Before it starts: a job may end at once, and is looked up here when it does.
        self._running[job_id] = training
        training.start()

    def _end_training(self, job_id: str, outcome: JobOutcome) -> None:
        while not self._store_outcome(job_id, outcome) and not self._closing:
            time.sleep(_DISK_SECONDS)
        self._start_next()

    def _store_outcome(self, job_id: str, outcome: JobOutcome) -> bool:
        """Store the job's outcome; False while the disk is full, since the job would otherwise run forever."""
        try:
            # Atomically, so that nobody sees the job waiting while its old attempt still holds its nodes.
            with self._lock:
                job = self._running[job_id].job
                if outcome.faulty and job.max_retries:
                    hosts = job.attempts[-1].hosts
                    # Before the job is queued again, or it could get the same nodes.
                    self._context.capacity.isolate(job.pool, [hosts[index] for index in outcome.faulty])
                if self._jobs.change(job_id, lambda job: job_after(job, outcome, self._jobs.now())) is None:
                    self._jobs.remove_logs(job)  # deleted while it ran
                del self._running[job_id]
        except OSError:
            log.exception("job %s: its end cannot be written down yet", job_id)
            return False
        return True

    def _resume_jobs(self) -> None:
        """Resume what a previous sandbox left: running jobs are lost, or restarted if they tolerate faults."""
        for job in self._jobs.all():
            if job.phase in WAITING:
                self._jobs.change(job.job_id, self._queue_job)
            elif not job.has_ended:
                self._jobs.change(job.job_id, self._lose_job)

    def _lose_job(self, job: Job) -> Job:
        # What a container reports for SIGKILL.
        ends = tuple(TaskEnd(task, 128 + 9, INTERRUPTED) for task in job.tasks)
        return job_after(job, JobOutcome("interrupted", ends, FaultScenario.LOST), self._jobs.now())
