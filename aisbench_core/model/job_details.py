"""What the platform says about a job beside its status: events, stages, tasks, attempts, and its place in a queue."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class EventKind(StrEnum):
    """Events that matter to whoever watches a run; all others are OTHER."""

    OTHER = ""
    HANG = "hang"
    PREEMPTED = "preempted"


class EventLanguage(StrEnum):
    """The languages of the platform's events, in the words of the API."""

    ENGLISH = "en-us"
    CHINESE = "zh-cn"


class JobFault(StrEnum):
    """Why the platform interrupted a job, in the words of the API."""

    CARD = "chip_fault"
    NODE = "node_fault"
    CODE = "job_failed"
    HANG = "job_hanged"
    DEGRADED = "job_subhealth"
    LOG = "error_in_log"


@dataclass(frozen=True, slots=True)
class JobEvent:
    """One event of a job, as listed by the cloud; `chinese` is its message in that language, if it was requested."""

    at: datetime
    level: str
    message: str
    source: str = ""
    kind: EventKind = EventKind.OTHER
    chinese: str = ""


@dataclass(frozen=True, slots=True)
class StageStep:
    """A step of a stage, such as a reason to wait or a download, in the platform's words."""

    at: datetime
    english: str
    chinese: str = ""


@dataclass(frozen=True, slots=True)
class JobStage:
    """A stage of a job's attempt (from 1): scheduling, preparing, running or end, in the platform's words."""

    attempt: int
    name: str
    english: str
    chinese: str = ""
    started_at: datetime | None = None
    ended_at: datetime | None = None
    steps: tuple[StageStep, ...] = ()

    @property
    def is_running(self) -> bool:
        """Whether the training code runs, so that no stage follows before its end."""
        return self.name == "running" and self.ended_at is None


@dataclass(frozen=True, slots=True)
class JobTask:
    """A task of an attempt, the node that it was put on, and how it ended, if that is known."""

    task: str
    ip: str = ""
    host: str = ""
    exit_code: int | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class QueuePosition:
    """A job's place in the queue of its pool, from 1, among so many jobs; `at` is when it came there."""

    at: datetime
    position: int
    waiting: int


@dataclass(frozen=True, slots=True)
class RunAttempt:
    """One execution of a run's job; a restarted job has several. `number` is from 1.

    `fault` is a JobFault, another word of the API, or empty; `reason` is the platform's, and `task` the one that it
    names. `recovery` is how the platform starts the job again, in the API's words; empty if it does not.
    `last_event`: the last that went wrong in it. `last_words`: the last lines of the task's log."""

    number: int
    started_at: datetime
    ended_at: datetime | None = None
    fault: str = ""
    reason: str = ""
    task: str = ""
    recovery: str = ""
    tasks: tuple[JobTask, ...] = ()
    last_event: str = ""
    last_words: tuple[str, ...] = ()

    @property
    def is_restarted(self) -> bool:
        """Whether it has ended, and the platform starts the job again."""
        return self.ended_at is not None and bool(self.recovery)

    @property
    def host(self) -> str:
        """The node of the task that ended it; empty if the platform names neither."""
        return next((task.host for task in self.tasks if task.task == self.task), "")

    @property
    def exit_code(self) -> int | None:
        """The exit code of the task that ended it, if it is known."""
        return next((task.exit_code for task in self.tasks if task.task == self.task), None)


@dataclass(frozen=True, slots=True)
class DiagnosedFault:
    """A fault that the platform found in a job's log: its code, and what else it says, by the platform's own names.

    `sources`: where it was found, each in one line."""

    code: str
    facts: tuple[tuple[str, str], ...] = ()
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class JobDiagnosis:
    """The platform's own diagnosis of a job. `level`: Fatal, Error or Warning, in the API's words, or empty."""

    is_complete: bool
    level: str = ""
    faults: tuple[DiagnosedFault, ...] = ()


@dataclass(frozen=True, slots=True)
class DiagnosisTask:
    """A diagnosis that somebody requested of the platform, which runs it as a task of its own.

    `kind` and `status` are the API's words. `results`: what it says beyond that, by its own names, which are not
    documented."""

    task_id: str
    kind: str
    status: str
    results: tuple[tuple[str, str], ...] = ()

    @property
    def has_ended(self) -> bool:
        """Whether its results stay as they are; an unknown status is none of those before the end."""
        return self.status not in ("CREATING", "PENDING", "RUNNING")


class AlertKind(StrEnum):
    """What somebody who watches a run should know at once."""

    HANG = "hang"
    STALLED = "stalled"
    QUIET = "quiet"
    RESTARTING = "restarting"
    RESTARTED = "restarted"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class JobAlert:
    """`attempt`: the one that hangs, or that was interrupted. `is_measured`: the use of the cards is known."""

    kind: AlertKind
    at: datetime
    attempt: RunAttempt | None = None
    is_measured: bool = True

    @property
    def is_stall(self) -> bool:
        """Whether nothing moves, as the platform says or as the stall guard found."""
        return self.kind in (AlertKind.HANG, AlertKind.STALLED)


@dataclass(frozen=True, slots=True)
class JobDetails:
    """All of it so far, each part oldest first. Parts that the API does not have are empty.

    `queue`: the places that the job came to; the last one is where it waits, or waited.
    `diagnosis`: of a failed job."""

    events: tuple[JobEvent, ...] = ()
    stages: tuple[JobStage, ...] = ()
    attempts: tuple[RunAttempt, ...] = ()
    queue: tuple[QueuePosition, ...] = ()
    diagnosis: JobDiagnosis | None = None

    @property
    def restarts(self) -> int:
        """How often the job was started again."""
        return max(0, len(self.attempts) - 1)

    @property
    def waits_for(self) -> StageStep | None:
        """The last that the platform said about a job that waits for nodes."""
        stage = self.stages[-1] if self.stages else None
        return stage.steps[-1] if stage and stage.name == "scheduling" and stage.steps else None

    def alert(self, *, ended: bool, failed: bool) -> JobAlert | None:
        """The most important of what happened to a run that has `ended`, and maybe `failed`, or goes on."""
        last = self.attempts[-1] if self.attempts else None
        hang = None if ended else self._find_hang(last)
        if hang is not None:
            return JobAlert(AlertKind.HANG, hang.at, last)
        if last is None or last.ended_at is None or (ended and not failed):
            return self._find_restart()
        if last.is_restarted and not ended:
            return JobAlert(AlertKind.RESTARTING, last.ended_at, last)
        return JobAlert(AlertKind.ENDED, last.ended_at, last) if failed and last.reason else self._find_restart()

    def _find_hang(self, last: RunAttempt | None) -> JobEvent | None:
        # Whatever the platform says afterwards shows that the job went on, or that it was started again.
        event = self.events[-1] if self.events else None
        runs = last is None or (last.ended_at is None and event is not None and event.at >= last.started_at)
        return event if event is not None and event.kind is EventKind.HANG and runs else None

    def _find_restart(self) -> JobAlert | None:
        return JobAlert(AlertKind.RESTARTED, self.attempts[-1].started_at, self.attempts[-2]) if self.restarts else None
