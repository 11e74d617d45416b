"""One job really running on this machine, from its first download to its end."""

import logging
import math
import shutil
import socket
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from aisbench_core.sandbox import processes
from aisbench_core.sandbox.jobs import Job, Jobs, TaskEnd
from aisbench_core.sandbox.meter import Meter
from aisbench_core.sandbox.node_run import NodeFailed, NodeRun
from aisbench_core.sandbox.nodes import Node
from aisbench_core.sandbox.objects import ObjectError, Objects
from aisbench_core.sandbox.processes import Process

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.1
FIRST_LOOK_SECONDS = 0.3  # early, so that a short job has a measurement too
LOG_SECONDS = 1.0
OUTPUT_SECONDS = 3.0
INTERRUPTED = "the sandbox stopped while the job was running"
_TERMINATED = 128 + 15


class Stopped(Exception):
    """The job ends before its processes have: `kind` is the event that says why."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


class Training:
    """Runs one job in a thread of its own, which lives as long as the job's processes."""

    def __init__(
        self,
        job: Job,
        jobs: Jobs,
        objects: Objects,
        work: Path,
        obs_url: str,
        grace: float,
        on_end: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.job = job
        self._jobs = jobs
        self._root = work / job.job_id
        self._on_end = on_end
        self._clock = clock
        self._meter = Meter(clock())
        port = _free_port()
        nodes = (Node(job, index, self._root / f"node-{index}", port, obs_url) for index in range(job.node_count))
        self._nodes = [NodeRun(node, jobs, objects) for node in nodes]
        self._stopping = threading.Event()
        self._stop_kind = ""
        self._grace = grace
        self._marker = f"MA_JOB_DIR={self._root}/"
        self._ends_at = math.inf
        self._thread = threading.Thread(target=self._run, name=f"job-{job.job_id}", daemon=True)

    def start(self) -> None:
        """Begin; the job is Running from now on."""
        self._jobs.change(self.job.job_id, lambda job: job.running(self._jobs.now()))
        if self.job.longest_hours:
            self._ends_at = self._clock() + 3600 * self.job.longest_hours
        self._thread.start()

    def stop(self) -> None:
        """End the job because somebody asked; returns at once."""
        self._stop_kind = "terminated"
        self._stopping.set()

    def interrupt(self, grace: float) -> None:
        """Fail the job because the sandbox stops; returns at once."""
        self._stop_kind = "interrupted"
        self._grace = min(grace, self._grace)
        self._stopping.set()

    def join(self, timeout: float) -> None:
        """Wait for the end."""
        self._thread.join(timeout)

    def _run(self) -> None:
        end: Callable[[Job], Job] = self._broken
        try:
            end = self._train()
        except Exception:  # a bug of ours must not leave a job running for ever
            log.exception("job %s: internal error of the sandbox", self.job.job_id)
        finally:
            processes.kill_marked(self._marker)
            shutil.rmtree(self._root, ignore_errors=True)
            if self._jobs.change(self.job.job_id, end) is None:  # deleted while it ran
                self._jobs.remove_logs(self.job)
            self._on_end(self.job.job_id)

    def _train(self) -> Callable[[Job], Job]:
        """Run it all; returns how the job changes then."""
        kind, ends = self._outcome()
        codes = {end.task: end.exit_code for end in ends}
        try:
            for node in self._nodes:
                node.finish(codes.get(node.task, _TERMINATED))
        except ObjectError as error:
            kind, ends = "failed", (TaskEnd(self._nodes[0].task, 1, f"cannot upload: {error}"),)
        now = self._jobs.now()
        if kind == "timed_out":
            return lambda job: job.terminated(now, kind, hours=str(job.longest_hours))
        return lambda job: job.ended(now, ends, kind)

    def _outcome(self) -> tuple[str, tuple[TaskEnd, ...]]:
        """Why the job ends, as the name of an event, and how its tasks ended."""
        try:
            for node in self._nodes:
                self._raise_if_stopping()
                node.prepare()
                node.pass_on()
            self._follow([process for node in self._nodes for process in node.pre_start()])
            self._follow([process for node in self._nodes for process in node.start_ranks()])
        except NodeFailed as failed:
            return "failed", (failed.end,)
        except Stopped as stopped:
            return stopped.kind, self._stopped_ends(stopped.kind)
        except ObjectError as error:
            return "failed", (TaskEnd(self._nodes[0].task, 1, f"cannot upload: {error}"),)
        return "completed", tuple(TaskEnd(node.task, 0, "") for node in self._nodes)

    def _follow(self, started: Sequence[Process]) -> None:
        """Look after processes until all have ended well. Raises NodeFailed when one has not, or Stopped."""
        self._meter.watch(started)
        pass_on_at = time.monotonic() + FIRST_LOOK_SECONDS
        sync_at = time.monotonic() + OUTPUT_SECONDS
        try:
            while any(process.exit_code is None for process in started):
                _raise_if_failed(started)
                self._raise_if_stopping()
                if time.monotonic() >= pass_on_at:
                    self._measure()
                    pass_on_at = _next_time(LOG_SECONDS, *(node.pass_on for node in self._nodes))
                if time.monotonic() >= sync_at:
                    sync_at = _next_time(OUTPUT_SECONDS, *(node.sync_outputs for node in self._nodes))
                self._stopping.wait(LOOK_SECONDS)
            _raise_if_failed(started)
        finally:
            processes.end_all(started, self._grace, self._marker)

    def _measure(self) -> None:
        metrics = self._meter.sample(self._clock())
        self._jobs.change(self.job.job_id, lambda job: replace(job, metrics=metrics))

    def _raise_if_stopping(self) -> None:
        if self._stopping.is_set():
            raise Stopped(self._stop_kind)
        if self._clock() >= self._ends_at:
            raise Stopped("timed_out")

    def _stopped_ends(self, kind: str) -> tuple[TaskEnd, ...]:
        if kind != "interrupted":
            return ()
        return tuple(TaskEnd(node.task, _TERMINATED, INTERRUPTED) for node in self._nodes)

    def _broken(self, job: Job) -> Job:
        end = TaskEnd(self._nodes[0].task, 1, "internal error of the sandbox; its own output says more")
        return job.ended(self._jobs.now(), (end,), "failed")


def _raise_if_failed(started: Sequence[Process]) -> None:
    for process in started:
        if process.exit_code:
            message = f"{process.label} exited with code {process.exit_code}"
            raise NodeFailed(TaskEnd(process.task, process.exit_code, message))


def _next_time(seconds: float, *work: Callable[[], None]) -> float:
    """Do the work; when to do it again: later when it took long, so that it never takes most of the time."""
    began = time.monotonic()
    for part in work:
        part()
    now = time.monotonic()
    return now + max(seconds, 5 * (now - began))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
