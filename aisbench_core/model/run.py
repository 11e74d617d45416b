"""A run, which is ours: its states and their legal moves, its progress, events and findings."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Self

from aisbench_core.messages import Hint, Message
from aisbench_core.model.job import JobStatus
from aisbench_core.model.spec import RunSpec, Scalar


class RunState(StrEnum):
    """Where a run stands on the line from launch to leaderboard."""

    PREPARING = "preparing"
    UPLOADING = "uploading"
    SUBMITTING = "submitting"
    QUEUED = "queued"
    RUNNING = "running"
    STOPPING = "stopping"
    COLLECTING = "collecting"
    COMPLETED = "completed"
    FAILED = "failed"
    STOPPED = "stopped"

    @property
    def is_terminal(self) -> bool:
        """Whether the run has ended."""
        return self in TERMINAL


class RunSort(StrEnum):
    """What a list of runs can be sorted by."""

    LAUNCHED = "created_at"
    ENDED = "ended_at"
    RAN_FOR = "duration_s"
    WORKLOAD = "workload"
    STATE = "state"
    BY = "created_by"
    ID = "run_id"


TERMINAL = frozenset({RunState.COMPLETED, RunState.FAILED, RunState.STOPPED})
ACTIVE = frozenset(RunState) - TERMINAL

LINE = (
    RunState.PREPARING,
    RunState.UPLOADING,
    RunState.SUBMITTING,
    RunState.QUEUED,
    RunState.RUNNING,
    RunState.COLLECTING,
)
"""The states of a run that nothing stops, in order, without its end."""

MOVES: Mapping[RunState, frozenset[RunState]] = {
    RunState.PREPARING: frozenset({RunState.UPLOADING, RunState.STOPPING, RunState.COLLECTING}),
    RunState.UPLOADING: frozenset({RunState.SUBMITTING, RunState.STOPPING, RunState.COLLECTING}),
    RunState.SUBMITTING: frozenset({RunState.QUEUED, RunState.STOPPING, RunState.COLLECTING}),
    RunState.QUEUED: frozenset({RunState.RUNNING, RunState.STOPPING, RunState.COLLECTING}),
    RunState.RUNNING: frozenset({RunState.QUEUED, RunState.STOPPING, RunState.COLLECTING}),
    RunState.STOPPING: frozenset({RunState.COLLECTING}),
    RunState.COLLECTING: TERMINAL,
    RunState.COMPLETED: frozenset(),
    RunState.FAILED: frozenset({RunState.COLLECTING}),
    RunState.STOPPED: frozenset(),
}
"""The legal moves. A failed run may be collected again (`aisbench collect`); a fault may requeue a running job."""


@dataclass(frozen=True, slots=True)
class Run:
    """One benchmark run: what was asked for, where it stands, and the job that carries it out.

    `version` is the compare-and-set token of the ledger, `updated_at` when the run came to its state. `verdict` is
    where COLLECTING leads. `detail` is one sentence for a person. `attempts` counts failures in a row; 0 means that the
    last step went well. A run of a series says which cell it measures: `series_index` counts from 1 in the order of
    launching, and runs of one cell share it.
    """

    run_id: str
    spec: RunSpec
    profile: str
    state: RunState
    created_at: datetime
    created_by: str
    updated_at: datetime
    next_step_at: datetime
    version: int = 0
    job_name: str = ""
    job_id: str = ""
    phase: str = ""
    attempts: int = 0
    verdict: RunState | None = None
    detail: str = ""
    code_sha256: str = ""
    submitted_at: datetime | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    duration_s: float | None = None
    series_id: str = ""
    series_index: int | None = None

    def to(self, state: RunState, **changes: object) -> Self:
        """The same run in another state. Raises ValueError on a move that the table does not hold."""
        if state is not self.state and state not in MOVES[self.state]:
            raise ValueError(f"a run cannot go from {self.state} to {state}")
        return replace(self, state=state, **changes)  # type: ignore[arg-type]  # the names are this class's own

    @property
    def is_retrying(self) -> bool:
        """Whether the last step failed for a reason that passes."""
        return self.attempts > 0 and not self.state.is_terminal

    @property
    def trouble(self) -> str:
        """What the last step failed with, where it is tried again: the detail without that it is."""
        known = self.detail.values.get("trouble") if isinstance(self.detail, Message) else None
        return known if isinstance(known, str) else self.detail

    @property
    def detail_is_quoted(self) -> bool:
        """Whether the detail is what the cloud says of the job, in its own words."""
        return self.state in (RunState.QUEUED, RunState.RUNNING) and not self.is_retrying

    @property
    def stage(self) -> tuple[int, int]:
        """How far along the line: (states done, states in all). A run that did not complete stays where it got to."""
        if self.state in LINE:
            return LINE.index(self.state), len(LINE)
        if self.state is RunState.COMPLETED:
            return len(LINE), len(LINE)
        return LINE.index(self._reached), len(LINE)

    @property
    def _reached(self) -> RunState:
        """The furthest state that the run's facts speak of."""
        if self.started_at:
            return RunState.RUNNING
        if self.job_id:
            return RunState.QUEUED
        if self.submitted_at:
            return RunState.SUBMITTING
        return RunState.UPLOADING if self.code_sha256 else RunState.PREPARING

    @property
    def can_stop(self) -> bool:
        """Whether asking to stop still changes anything."""
        return RunState.STOPPING in MOVES[self.state] or self.can_give_up

    @property
    def can_give_up(self) -> bool:
        """Whether the job has ended and what it left cannot be fetched; `aisbench collect` tries again later."""
        return self.state is RunState.COLLECTING and self.is_retrying

    @property
    def can_collect_again(self) -> bool:
        """Whether the run failed after its job existed, so that its results may still be rescued."""
        return self.state is RunState.FAILED and bool(self.job_id)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far one state of a run has come: `done` of `total` `unit`s."""

    run_id: str
    state: RunState
    done: int
    total: int
    unit: str
    at: datetime

    @property
    def fraction(self) -> float:
        """Between 0 and 1; a state with nothing to do is done."""
        return min(1.0, self.done / self.total) if self.total else 1.0


class Level(StrEnum):
    """How much an event or a finding matters."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to a run: `source` is ours ("console", "follower") or the cloud's ("cloud")."""

    run_id: str
    at: datetime
    source: str
    level: Level
    message: str
    actor: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """What preflight says about one field: an error forbids the launch, a warning does not.

    `source`: who says so. `fix`: fields by their dotted names and the values that would mend them; None takes
    a name away."""

    rule: str
    level: Level
    field: str
    message: Message
    hint: Hint = ""
    _: KW_ONLY
    source: str = ""
    fix: tuple[tuple[str, Scalar | None], ...] = ()

    @property
    def sentence(self) -> Message:
        """What is said, and what to do, in one line."""
        return Message("{message} ({hint})", message=self.message, hint=self.hint) if self.hint else self.message


@dataclass(frozen=True, slots=True)
class RegionJob:
    """A job of a region. `run` is the run of this console that it carries out; None when it was made elsewhere."""

    status: JobStatus
    run: Run | None

    @property
    def can_stop(self) -> bool:
        """Whether there is still something to stop."""
        return self.run.can_stop if self.run else not self.status.has_ended
