"""One training job: its state, and its transitions."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from aisbench_sandbox.attempts import FaultScenario, JobAttempt, Recovery
from aisbench_sandbox.catalogue import InstanceType, find_flavor
from aisbench_sandbox.events import PlatformEvent

_FAULT_TOLERANCE = "fault-tolerance/"


class JobPhase(StrEnum):
    """The phase of a job, in the API's words."""

    CREATING = "Creating"
    PENDING = "Pending"
    RUNNING = "Running"
    TERMINATING = "Terminating"
    COMPLETED = "Completed"
    FAILED = "Failed"
    TERMINATED = "Terminated"


ENDED = frozenset({JobPhase.COMPLETED, JobPhase.FAILED, JobPhase.TERMINATED})
WAITING = frozenset({JobPhase.CREATING, JobPhase.PENDING})


@dataclass(frozen=True, slots=True)
class TaskEnd:
    """How one task ended."""

    task: str
    exit_code: int
    message: str


@dataclass(frozen=True, slots=True)
class DataChannel:
    """An input or output: the OBS directory, and how the code gets the local one (parameter or env)."""

    name: str
    path: str
    access_method: str


@dataclass(frozen=True, slots=True)
class Job:
    """One training job. `body` is the accepted request; times are ms since the epoch, 0 when not reached.

    `attempts` are its executions, `started_at` is the start of the first, `queued_at` when it was last queued; `ahead`:
    first in the queue because it was requeued. `metrics` has one value per minute by task and metric. `script` is for
    the scripted engine."""

    job_id: str
    body: Mapping[str, Any]
    created_at: int
    phase: JobPhase = JobPhase.CREATING
    started_at: int = 0
    ended_at: int = 0
    ends: tuple[TaskEnd, ...] = ()
    events: tuple[PlatformEvent, ...] = ()
    metrics: Mapping[str, Mapping[str, tuple[float, ...]]] = field(default_factory=dict)
    script: Mapping[str, Any] | None = None
    attempts: tuple[JobAttempt, ...] = ()
    queued_at: int = 0
    ahead: bool = False

    @property
    def name(self) -> str:
        """The name given by the user."""
        return str(self.body["metadata"]["name"])

    @property
    def algorithm(self) -> Mapping[str, Any]:
        """The request's algorithm block."""
        block: Mapping[str, Any] = self.body["algorithm"]
        return block

    @property
    def flavor(self) -> InstanceType:
        """The instance type of every node."""
        flavor = find_flavor(self.body["spec"]["resource"]["flavor_id"])
        assert flavor is not None  # noqa: S101 - checked when the job was accepted
        return flavor

    @property
    def node_count(self) -> int:
        """How many nodes."""
        return int(self.body["spec"]["resource"]["node_count"])

    @property
    def card_count(self) -> int:
        """All cards: nodes times cards per node."""
        return self.node_count * self.flavor.cards

    @property
    def pool(self) -> str:
        """The dedicated pool that it runs in, or empty."""
        return str(self.body["spec"]["resource"].get("pool_id") or "")

    @property
    def priority(self) -> int:
        """1 to 3; 3 goes first. Only dedicated pools have priorities; other jobs count as 1."""
        # Training guide 5.5 and table 4-6.
        return int(self._schedule.get("priority") or 1) if self.pool else 1

    @property
    def preemptible(self) -> bool:
        """Whether a job of higher priority may take its nodes."""
        return bool(self.pool and self._schedule.get("preemptible"))

    @property
    def max_retries(self) -> int:
        """How often it may be restarted after a fault; 0: no fault tolerance and no environment check."""
        return int(self._annotations.get(f"{_FAULT_TOLERANCE}job-retry-num") or 0)

    @property
    def retries_always(self) -> bool:
        """Whether it is restarted when its own code fails."""
        return self._annotations.get(f"{_FAULT_TOLERANCE}job-unconditional-retry") == "true"

    @property
    def retries_hangs(self) -> bool:
        """Whether it is restarted when it seems to hang."""
        return self._annotations.get(f"{_FAULT_TOLERANCE}hang-retry") == "true"

    @property
    def is_checked_first(self) -> bool:
        """Whether its nodes' environment is checked before it starts."""
        # Training guide 5.2.1 and table 4-18: no check without restarts, and none if the job switches it off.
        return self.max_retries > 0 and (self.algorithm.get("environments") or {}).get("MA_SKIP_IMAGE_DETECT") != "0"

    @property
    def tasks(self) -> tuple[str, ...]:
        """worker-0, worker-1 and so on, one per node; TensorFlow has a parameter server on each of several nodes."""
        workers = tuple(f"worker-{node}" for node in range(self.node_count))
        # Starting a Preset Image's Boot File: one parameter server per worker, from two nodes on.
        if self.node_count > 1 and self.algorithm.get("engine", {}).get("engine_name") == "TensorFlow":
            return (*(f"ps-{node}" for node in range(self.node_count)), *workers)
        return workers

    def node_of(self, task: str) -> int:
        """The index of the node that a task runs on; the node has one log for all its tasks."""
        return int(task.rpartition("-")[2])

    @property
    def has_ended(self) -> bool:
        """Whether the job is in a final phase."""
        return self.phase in ENDED

    @property
    def log_path(self) -> str:
        """The OBS directory for logs, or empty."""
        export = self.body["spec"].get("log_export_path") or {}
        return str(export.get("obs_url") or "")

    @property
    def max_hours(self) -> int:
        """The maximum running time in hours; 0: unlimited."""
        return int((self.body["spec"].get("auto_stop") or {}).get("duration") or 0)

    def running_ms(self, now: int) -> int:
        """How long it has run; time in the queue does not count."""
        # Waiting does not count, as for automatic stop in the training guide (table 4-6).
        return sum((attempt.ended_at or now) - attempt.started_at for attempt in self.attempts)

    def log_object(self, node: int) -> str:
        """The OBS path of a node's log, or empty."""
        # Jobs of the older API (v1) bring the prefix of their logs' names.
        prefix = self.body.get("log_prefix") or f"modelarts-job-{self.job_id}-worker-"
        # Training guide, table 4-9 and below it.
        return f"{self.log_path}{prefix}{node}.log" if self.log_path else ""

    def channels(self, kind: str) -> tuple[DataChannel, ...]:
        """The job's `inputs` or `outputs`."""
        return tuple(
            DataChannel(entry["name"], entry["remote"]["obs"]["obs_url"], entry.get("access_method") or "parameter")
            for entry in self.algorithm.get(kind) or ()
        )

    def with_event(self, at: int, kind: str, **facts: str) -> "Job":
        """The job with one more event."""
        return replace(self, events=(*self.events, PlatformEvent(at, kind, facts)))

    def to_queued(self, at: int) -> "Job":
        """The job, queued."""
        return replace(self, phase=JobPhase.PENDING, queued_at=at).with_event(at, "queued")

    def to_running(self, at: int, hosts: tuple[str, ...] = ()) -> "Job":
        """The job, running on these nodes; unchanged if its stop was requested meanwhile."""
        # Between the scheduler's decision and this change, a person may have stopped it.
        if self.phase not in WAITING:
            return self
        attempts = (*self.attempts, JobAttempt(at, hosts))
        # The first start stays: measurements count their minutes from it.
        started_at = self.started_at or at
        return replace(self, phase=JobPhase.RUNNING, started_at=started_at, attempts=attempts).with_event(at, "running")

    def to_requeued(self, at: int, fault: FaultScenario, reason: str, task: str, recovery: Recovery) -> "Job":
        """The job, back in the queue: first in it after a fault, or in its old place after preemption."""
        failed = self.attempts[-1].to_failed(at, fault, reason, task, recovery)
        preempted = fault is FaultScenario.PREEMPTED
        job = replace(self, attempts=(*self.attempts[:-1], failed), ahead=not preempted)
        return job.with_event(at, "preempted" if preempted else "restarted").to_queued(at)

    def to_terminating(self) -> "Job":
        """The job with its stop requested."""
        return replace(self, phase=JobPhase.TERMINATING)

    def to_terminated(self, at: int, kind: str = "terminated", **facts: str) -> "Job":
        """The job, stopped by a user or by its maximum running time."""
        return self._finish_at(at, JobPhase.TERMINATED).with_event(at, kind, **facts)

    def to_ended(self, at: int, ends: tuple[TaskEnd, ...], kind: str = "", **facts: str) -> "Job":
        """The job after its processes ended: completed if every task returned 0, terminated if a stop was requested."""
        # Whatever its exit codes: processes that are asked to end rarely return 0.
        if self.phase is JobPhase.TERMINATING:
            return replace(self, ends=ends).to_terminated(at)
        failed = [end for end in ends if end.exit_code]
        phase = JobPhase.FAILED if failed else JobPhase.COMPLETED
        job = replace(self._finish_at(at, phase), ends=ends)
        if failed and job.attempts:
            reason = f"exit with {failed[0].exit_code}"
            last = replace(job.attempts[-1], reason=reason, task=failed[0].task)
            job = replace(job, attempts=(*job.attempts[:-1], last))
        return job.with_event(at, kind or phase.value.lower(), **facts)

    def _finish_at(self, at: int, phase: JobPhase) -> "Job":
        attempts = (*self.attempts[:-1], *(attempt.to_finished(at) for attempt in self.attempts[-1:]))
        return replace(self, phase=phase, ended_at=at, attempts=attempts)

    @property
    def _schedule(self) -> Mapping[str, Any]:
        return self.body["spec"].get("schedule_policy") or {}

    @property
    def _annotations(self) -> Mapping[str, Any]:
        return self.body["metadata"].get("annotations") or {}
