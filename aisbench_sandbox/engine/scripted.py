"""An engine for tests: jobs follow a script instead of running, and write the script's outputs to OBS."""

import math
import threading
from collections.abc import Mapping, Sequence, Set
from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from aisbench_sandbox.attempts import FaultScenario
from aisbench_sandbox.capacity import Capacity
from aisbench_sandbox.engine.recovery import JobOutcome, job_after
from aisbench_sandbox.engine.scheduling import check_size, fail_if_overdue, to_occupied, to_waiting
from aisbench_sandbox.engine.stamp import output_paths, stamp_results
from aisbench_sandbox.job import Job, JobPhase, TaskEnd
from aisbench_sandbox.jobs import JobStore
from aisbench_sandbox.obs.paths import bucket_and_key
from aisbench_sandbox.obs.storage.objects import Objects
from aisbench_sandbox.queue import QueueSnapshot, decide_next


class Pace(StrEnum):
    """When a job moves on: to its end at once, at each poll, with time, or only by `advance`."""

    AT_ONCE = "at_once"
    # The words of the admin API, which tests send.
    EACH_POLL = "look"
    TIME = "time"
    HOLD = "hold"


class Script(BaseModel):
    """What a scripted job does. Without `outputs`, every rank reports 100 samples/s and the accuracy is 0.9."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    by: Pace = Pace.EACH_POLL
    seconds_per_phase: Annotated[float, Field(ge=0)] = 0.0
    outputs: dict[str, str] | None = None
    log: str = "a scripted job pretends to train\n"
    exit_code: Annotated[int, Field(ge=0, le=255)] = 0
    message: str = ""


class ScriptedEngine:
    """Moves jobs by their scripts, as far as nodes are free; a stopped job ends at the next poll.

    Nothing runs, so a restart loses nothing."""

    def __init__(self, jobs: JobStore, objects: Objects, capacity: Capacity) -> None:
        self._jobs = jobs
        self._objects = objects
        self._capacity = capacity
        self._lock = threading.RLock()
        self._held_up: set[str] = set()

    def check(self, job: Job) -> None:
        """Raises Refused when the job can never fit."""
        check_size(job, self._capacity)

    def start(self, job: Job) -> None:
        """Nothing: the job moves by its script."""

    def refresh(self) -> None:
        """Move every job as far as its script says."""
        with self._lock:
            self._jobs.change_all(self._fail_if_overdue)
            # Counted once, before anything moves, so that a job makes as many steps as were due at this poll.
            due = {job.job_id: self._count_due_phases(job) for job in self._jobs.all() if not job.has_ended}
            while any(due.values()):
                self._move_jobs({job_id for job_id, phases in due.items() if phases})
                due = {job_id: phases - 1 for job_id, phases in due.items() if phases}

    def stop(self, job_id: str) -> None:
        """Nothing: the job is Terminating, and the next poll ends it."""

    def advance(self, job_id: str) -> None:
        """Move the job: Creating, Pending, Running if nodes are free, end; or Terminating, Terminated."""
        with self._lock:
            self._move_jobs({job_id})

    def end_all(self) -> None:
        """Nothing runs."""

    def close(self) -> None:
        """Nothing runs."""

    def _move_jobs(self, ids: Set[str]) -> None:
        """Move these jobs one phase on; those that end first, so that they make room for others."""
        jobs = [job for job in self._jobs.all() if job.job_id in ids]
        # Jobs that were held up stay in the queue, else a later job would overtake them in the same poll.
        line = {job.job_id for job in jobs if job.phase is JobPhase.PENDING} | self._held_up
        for job in jobs:
            if job.phase in (JobPhase.RUNNING, JobPhase.TERMINATING):
                self._end_job(job)
        self._start_jobs([job for job in self._jobs.all() if job.phase is JobPhase.PENDING and job.job_id in line])
        for job in jobs:
            if job.phase is JobPhase.CREATING:
                self._jobs.change(job.job_id, lambda job: job.to_queued(self._jobs.now()))

    def _start_jobs(self, jobs: Sequence[Job]) -> None:
        running = [
            job for job in self._jobs.all() if job.phase in (JobPhase.RUNNING, JobPhase.TERMINATING) and job.attempts
        ]
        held = [to_occupied(job, is_ending=job.phase is JobPhase.TERMINATING) for job in running]
        decision = decide_next(QueueSnapshot(self._capacity.hosts(), [to_waiting(job) for job in jobs], held))
        for job_id, hosts in decision.starts.items():
            self._run_job(job_id, hosts)
        for job_id in decision.preempted:
            self._record_outcome(job_id, JobOutcome("preempted", fault=FaultScenario.PREEMPTED))
        self._held_up |= {job.job_id for job in jobs} - set(decision.starts)

    def _run_job(self, job_id: str, hosts: tuple[str, ...]) -> None:
        waits = self._jobs.find(job_id)
        if waits is None:
            return
        # Before the job runs, because whoever sees it running may ask for its log.
        self._write_logs(waits)
        job = self._jobs.change(job_id, lambda job: job.to_running(self._jobs.now(), hosts))
        if job is None or job.phase is not JobPhase.RUNNING:
            return
        bad = self._capacity.take_bad_nodes(job.pool, job.node_count)
        are_bad = [index < bad or self._capacity.is_bad(job.pool, host) for index, host in enumerate(hosts)]
        faulty = tuple(index for index, is_bad in enumerate(are_bad) if is_bad)
        if faulty:
            ends = tuple(TaskEnd(f"worker-{index}", 137, "the node is faulty") for index in faulty)
            if job.max_retries:
                self._capacity.isolate(job.pool, [hosts[index] for index in faulty])
            self._record_outcome(job_id, JobOutcome("failed", ends, FaultScenario.NODE, faulty))

    def _record_outcome(self, job_id: str, outcome: JobOutcome) -> None:
        self._jobs.change(job_id, lambda job: job_after(job, outcome, self._jobs.now()))

    def _fail_if_overdue(self, job: Job) -> Job:
        return fail_if_overdue(job, self._capacity.plan.requeue_s, self._jobs.now())

    def _count_due_phases(self, job: Job) -> int:
        """How many phases the job moves on at this poll."""
        script = Script.model_validate(job.script)
        if job.phase is JobPhase.TERMINATING or script.by is Pace.EACH_POLL:
            return 1
        if script.by is Pace.AT_ONCE:
            return {JobPhase.CREATING: 3, JobPhase.PENDING: 2}.get(job.phase, 1)
        if script.by is Pace.HOLD:
            # A held job runs; only its end waits.
            return {JobPhase.CREATING: 2, JobPhase.PENDING: 1}.get(job.phase, 0)
        return self._phases_passed(job, script.seconds_per_phase)

    def _phases_passed(self, job: Job, seconds: float) -> int:
        done = {JobPhase.CREATING: 0, JobPhase.PENDING: 1, JobPhase.RUNNING: 2}[job.phase]
        since = job.created_at
        if job.phase is JobPhase.RUNNING and (job.job_id in self._held_up or len(job.attempts) > 1):
            since = job.attempts[-1].started_at - round(2000 * seconds)  # it waited longer than its script says
        passed = math.inf if seconds == 0 else (self._jobs.now() - since) / 1000 / seconds
        return max(0, int(min(3, passed)) - done)

    def _end_job(self, job: Job) -> None:
        script = Script.model_validate(job.script)
        message = script.message or (f"exited with code {script.exit_code}" if script.exit_code else "")
        # Like a real job, which names only the task that failed.
        tasks = job.tasks[:1] if script.exit_code else job.tasks
        ends = tuple(TaskEnd(task, script.exit_code, message) for task in tasks)
        if job.phase is JobPhase.RUNNING:
            self._write_outputs(job, standard_outputs(job) if script.outputs is None else script.outputs)
        else:
            ends = ()
        fault = FaultScenario.CODE if script.exit_code else None
        self._record_outcome(job.job_id, JobOutcome("failed" if fault else "completed", ends, fault))

    def _write_outputs(self, job: Job, outputs: Mapping[str, str]) -> None:
        paths = output_paths(job)
        if not paths:
            return
        bucket, folder = bucket_and_key(paths[0])
        for name, text in outputs.items():
            self._objects.put(bucket, f"{folder}{name}", text.encode())
        stamp_results(self._objects, job)

    def _write_logs(self, job: Job) -> None:
        text = f"[ModelArts Service Log][init] AISBench sandbox, scripted\n{Script.model_validate(job.script).log}"
        for node in range(job.node_count):
            self._jobs.log_file(job.job_id, node).write_text(text)
            bucket, key = bucket_and_key(job.log_object(node))
            if bucket:
                self._objects.put(bucket, key, text.encode())


def standard_outputs(job: Job) -> dict[str, str]:
    """The files that a cluster's training code writes when all goes well."""
    # The files that ais-bench-stubs collects: one number per rank, and their count.
    ranks = {f"throughput_{rank}.json": "100.0" for rank in range(job.card_count)}
    return {**ranks, "ranksize.json": str(job.card_count), "accuracy.json": "0.9"}
