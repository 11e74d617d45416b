"""One attempt of a job on this machine, from its environment check to its end."""

import logging
import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from aisbench_sandbox.attempts import FaultScenario
from aisbench_sandbox.capacity import Capacity
from aisbench_sandbox.engine.node import precheck, processes
from aisbench_sandbox.engine.node.hang_detector import HangDetector
from aisbench_sandbox.engine.node.layout import Node, Site
from aisbench_sandbox.engine.node.meter import Meter
from aisbench_sandbox.engine.node.processes import Process
from aisbench_sandbox.engine.node_run import UPLOAD_SECONDS, NodeFailed, NodeRun
from aisbench_sandbox.engine.ports import master_port
from aisbench_sandbox.engine.rank_tables import get_loopback
from aisbench_sandbox.engine.recovery import JobOutcome, is_retried
from aisbench_sandbox.engine.scheduling import to_occupied
from aisbench_sandbox.engine.stamp import stamp_results
from aisbench_sandbox.files import remove_tree
from aisbench_sandbox.job import Job, TaskEnd
from aisbench_sandbox.jobs import JobStore
from aisbench_sandbox.obs.storage.objects import Objects
from aisbench_sandbox.obs.storage.stored import ObjectError
from aisbench_sandbox.queue import Occupied

log = logging.getLogger(__name__)

POLL_SECONDS = 0.1
FIRST_POLL_SECONDS = 0.3  # early, so that a short job has a measurement too
LOG_SECONDS = 1.0
INTERRUPTED = "the sandbox stopped while the job was running"
_TERMINATED = 128 + 15
_KILLED = 128 + 9

OnEnd = Callable[[str, JobOutcome], None]


@dataclass(frozen=True, slots=True)
class TrainingContext:
    """What all jobs of a sandbox share. `grace`: the grace period of a process in seconds.

    `why_no_jobs`: why this machine may not run jobs at the moment; empty if it may."""

    jobs: JobStore
    objects: Objects
    work: Path
    obs_url: str
    capacity: Capacity
    grace: float
    site: Site = field(default_factory=Site)
    why_no_jobs: Callable[[], str] = str


class TrainingStopped(Exception):
    """The job stops before its processes have ended."""

    def __init__(self, outcome: JobOutcome) -> None:
        super().__init__(outcome.event)
        self.outcome = outcome


class Training:
    """Runs one job that has just got its nodes, in a thread that lives as long as the job's processes.

    `on_end` gets the outcome; it is the only one that changes the job."""

    def __init__(
        self, job: Job, context: TrainingContext, on_end: OnEnd, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.job = job
        self._context = context
        self._jobs = context.jobs
        self._root = context.work / job.job_id
        self._on_end = on_end
        self._clock = clock
        self._meter = Meter(clock(), job.metrics, (self._jobs.now() - job.started_at) // 60_000)
        # All nodes share the machine's ports, so the manual's 18888 could serve one job only.
        port = master_port(job.node_count)
        folders = [self._root / f"node-{index}" for index in range(job.node_count)]
        nodes = [Node(job, index, folder, port, context.obs_url, context.site) for index, folder in enumerate(folders)]
        self._nodes = [NodeRun(node, context.jobs, context.objects) for node in nodes]
        self._stopping = threading.Event()
        self._stopped = JobOutcome("terminated")
        self._grace = context.grace
        self._marker = f"MA_JOB_DIR={self._root}/"
        self._ends_at = self._clock() + self._seconds_left()
        # Decided once per attempt: the plan counts down the bad nodes that it hands out.
        self._bad_from_start = context.capacity.take_bad_nodes(job.pool, job.node_count)
        self._hang_reported = False
        # PR_SET_PDEATHSIG fires when the thread that started a process ends, not just when the whole program does
        # (prctl(2)).
        self._thread = threading.Thread(target=self._run_job, name=f"job-{job.job_id}", daemon=True)

    @property
    def occupied(self) -> Occupied:
        """The cards that it holds."""
        return to_occupied(self.job, is_ending=self._stopping.is_set())

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the job on request; returns at once."""
        self._stop_with(JobOutcome("terminated"))

    def preempt(self) -> None:
        """End the job in favour of one with a higher priority; returns at once."""
        # A person's stop that came first must not become a restart.
        if not self._stopping.is_set():
            self._stop_with(JobOutcome("preempted", fault=FaultScenario.PREEMPTED))

    def interrupt(self, grace: float) -> None:
        """End the job because the sandbox shuts down; returns at once."""
        # Never longer than the job's own, which --grace may have made shorter.
        self._grace = min(grace, self._grace)
        ends = tuple(TaskEnd(node.task, _TERMINATED, INTERRUPTED) for node in self._nodes)
        self._stop_with(JobOutcome("interrupted", ends, FaultScenario.LOST))

    def join(self, timeout: float) -> None:
        """Wait for the end."""
        self._thread.join(timeout)

    def _stop_with(self, outcome: JobOutcome) -> None:
        self._stopped = outcome
        self._stopping.set()

    def _run_job(self) -> None:
        internal = "internal error of the sandbox; its own output says more"
        outcome = JobOutcome("failed", (TaskEnd(self._nodes[0].task, 1, internal),))
        try:
            outcome = self._train_job()
        except OSError as error:  # usually a full disk
            log.exception("job %s: this machine fails", self.job.job_id)
            reason = f"the sandbox's machine fails: {error.strerror or error}"
            outcome = JobOutcome("failed", (TaskEnd(self._nodes[0].task, 1, reason),))
        except Exception:  # a bug of ours must not leave a job running forever
            log.exception("job %s: internal error of the sandbox", self.job.job_id)
        finally:
            # Processes, directories, and only then the nodes: the next job may get the same ones.
            processes.kill_marked(self._marker)
            remove_tree(self._root)
            self._on_end(self.job.job_id, outcome)

    def _train_job(self) -> JobOutcome:
        """Run the job, and export its last logs and outputs."""
        outcome = self._find_outcome()
        codes = {end.task: end.exit_code for end in outcome.ends}
        refused: list[ObjectError] = []
        for node in self._nodes:
            try:
                node.finish(codes.get(node.task, _TERMINATED))
            except ObjectError as error:
                refused.append(error)
        try:
            # After the last upload, so that no directory with results is missed.
            stamp_results(self._context.objects, self.job)
        except ObjectError as error:
            refused.append(error)
        return self._cannot_upload(refused[0]) if refused else outcome

    def _find_outcome(self) -> JobOutcome:
        # Asked again: real keys may have been entered while the job waited.
        refusal = self._context.why_no_jobs()
        if refusal:
            return JobOutcome("failed", (TaskEnd(self._nodes[0].task, 1, refusal),), FaultScenario.CODE)
        try:
            self._check_environment()
            for node in self._nodes:
                self._raise_if_stopped()
                node.prepare()
                node.sync_log()
            # Each step ends on all nodes before the next begins on any: torchrun gives up when its nodes start too
            # far apart (Starting a Preset Image's Boot File: Socket Timeout).
            for begin in (NodeRun.install, NodeRun.pre_start, NodeRun.start):
                self._follow_processes([process for node in self._nodes for process in begin(node)])
        except NodeFailed as failed:
            return JobOutcome("failed", (failed.end,), FaultScenario.CODE)
        except TrainingStopped as stopped:
            return stopped.outcome
        except ObjectError as error:
            return self._cannot_upload(error)
        return JobOutcome("completed", tuple(TaskEnd(task, 0, "") for task in self.job.tasks))

    def _check_environment(self) -> None:
        """Check every node, so that all faulty ones are found. Raises TrainingStopped."""
        if not self.job.is_checked_first:
            return
        # Training guide 5.2.1 names the checks and the words to search the log for: `item` and `error,exiting`.
        names = [get_loopback(index) for index in range(self.job.node_count)]
        for index, node in enumerate(self._nodes):
            began = time.monotonic()
            self._add_event("precheck_started", task=node.task)
            for line in precheck.list_items(self._context.work, names):
                node.add_line(f"[precheck] {line}")
            bad = self._is_bad(index)
            if bad:
                node.add_line("[precheck] item: node, faulty; error,exiting")
            facts = {"reason": "the node is faulty"} if bad else {}
            seconds = f"{time.monotonic() - began:.3f}"
            self._add_event("precheck_failed" if bad else "precheck_done", task=node.task, seconds=seconds, **facts)
        self._raise_if_faulty()

    def _follow_processes(self, started: Sequence[Process]) -> None:
        """Wait until all processes have ended well. Raises NodeFailed if one has failed, or TrainingStopped."""
        self._meter.watch(started)
        hang_detector = HangDetector(self._clock())
        sync_log_at = time.monotonic() + FIRST_POLL_SECONDS
        sync_at = time.monotonic() + UPLOAD_SECONDS
        try:
            while any(process.exit_code is None for process in started if not process.serves):
                _raise_if_failed(started)
                self._raise_if_stopped()
                if time.monotonic() >= sync_log_at:
                    self._store_metrics()
                    self._raise_if_hanging(hang_detector)
                    sync_log_at = _next_time(LOG_SECONDS, *(node.sync_log for node in self._nodes))
                if time.monotonic() >= sync_at:
                    sync_at = _next_time(UPLOAD_SECONDS, *(node.sync_outputs for node in self._nodes))
                self._stopping.wait(POLL_SECONDS)
            _raise_if_failed(started)
        finally:
            processes.end_all(started, self._grace, self._marker)

    def _store_metrics(self) -> None:
        metrics = self._meter.sample(self._clock())
        self._jobs.change(self.job.job_id, lambda job: replace(job, metrics=metrics))

    def _raise_if_stopped(self) -> None:
        if self._stopping.is_set():
            raise TrainingStopped(self._stopped)
        if self._clock() >= self._ends_at:
            raise TrainingStopped(JobOutcome("timed_out"))
        self._raise_if_faulty()

    def _raise_if_faulty(self) -> None:
        faulty = tuple(index for index in range(self.job.node_count) if self._is_bad(index))
        if faulty:
            ends = tuple(TaskEnd(f"worker-{index}", _KILLED, "the node is faulty") for index in faulty)
            raise TrainingStopped(JobOutcome("failed", ends, FaultScenario.NODE, faulty))

    def _raise_if_hanging(self, hang_detector: HangDetector) -> None:
        idle_s = hang_detector.idle_seconds(self._meter.activity(), self._clock())
        if idle_s < self._context.capacity.plan.hang_s:
            self._hang_reported = False
            return
        if not self._hang_reported:
            self._hang_reported = True
            self._add_event("hanged")
            self._nodes[0].add_line(
                f"[detect] suspected to hang: nothing was read, written or computed for {idle_s:.0f} s"
            )
        # A suspicion is not a failure (training guide 5.4): without hang-retry the job goes on.
        if self.job.retries_hangs and is_retried(self.job, FaultScenario.HANG):
            raise TrainingStopped(JobOutcome("failed", fault=FaultScenario.HANG))

    def _is_bad(self, index: int) -> bool:
        hosts = self.job.attempts[-1].hosts
        return index < self._bad_from_start or self._context.capacity.is_bad(self.job.pool, hosts[index])

    def _seconds_left(self) -> float:
        if not self.job.max_hours:
            return math.inf
        # Time in the queue does not count (training guide, table 4-6), but that of earlier attempts does.
        return 3600 * self.job.max_hours - self.job.running_ms(self._jobs.now()) / 1000

    def _cannot_upload(self, error: ObjectError) -> JobOutcome:
        return JobOutcome("failed", (TaskEnd(self._nodes[0].task, 1, f"cannot upload: {error}"),), FaultScenario.CODE)

    def _add_event(self, kind: str, **facts: str) -> None:
        now = self._jobs.now()
        self._jobs.change(self.job.job_id, lambda job: job.with_event(now, kind, **facts))


def _raise_if_failed(started: Sequence[Process]) -> None:
    for process in started:
        # The first program that fails decides the task's exit code.
        if process.exit_code:
            message = f"{process.label} exited with code {process.exit_code}"
            raise NodeFailed(TaskEnd(process.task, process.exit_code, message))


def _next_time(seconds: float, *work: Callable[[], None]) -> float:
    """Do the work and return when to repeat it: later if it took long, so that it never takes most of the time."""
    began = time.monotonic()
    for part in work:
        part()
    now = time.monotonic()
    return now + max(seconds, 5 * (now - began))
