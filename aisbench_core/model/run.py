"""Runs: states and transitions, progress, events and findings; and the actors who change them."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Self

from aisbench_core.base.messages import Hint, Message
from aisbench_core.model.job import JobStatus
from aisbench_core.model.spec import RunSpec, Scalar
from aisbench_core.model.stop_cause import StopCause, StopKind

NOTABLE_SKEW_S = 30.0
"""Times of two clocks that differ by more than this say nothing of what lies between them."""


class RunState(StrEnum):
    """The state of a run between launch and leaderboard."""

    HELD = "held"
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
    """Sort keys of lists of runs."""

    LAUNCHED = "created_at"
    ENDED = "ended_at"
    RAN_FOR = "duration_s"
    WORKLOAD = "workload"
    STATE = "state"
    BY = "created_by"
    ID = "run_id"


TERMINAL = frozenset({RunState.COMPLETED, RunState.FAILED, RunState.STOPPED})
ACTIVE = frozenset(RunState) - TERMINAL

# The states of an undisturbed run, in order, without the terminal one.
LINE = (
    RunState.PREPARING,
    RunState.UPLOADING,
    RunState.SUBMITTING,
    RunState.QUEUED,
    RunState.RUNNING,
    RunState.COLLECTING,
)

# Allowed transitions. A launch that no budget has room for is held until somebody approves it. A failed run may be
# collected again (`aisbench collect`); a fault may requeue a running job.
MOVES: Mapping[RunState, frozenset[RunState]] = {
    RunState.HELD: frozenset({RunState.PREPARING, RunState.STOPPING, RunState.COLLECTING}),
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


@dataclass(frozen=True, slots=True)
class Run:
    """One benchmark run: its spec, its state, and the job that executes it.

    `version`: compare-and-set token of the ledger. `updated_at`: when the run entered its state. `final_state`: the
    state after COLLECTING. `detail`: one sentence for people; while a step is tried again, why it failed. `attempts`:
    consecutive failures of the current step. `stop_cause`: why its job was to be stopped; None of one that nobody
    stopped.
    `series_index`: number of the series' cell, from 1 in the order of launching; attempts at a cell share it.
    `price_per_node_hour` in `currency`: as at the launch, so that what a run cost never changes; None is not known.
    `expected_cost`: in the same currency, reserved until it ends; None is not known. A run that is HELD waits for an
    approval until `next_step_at`. `region_ahead_s`: the region's clock less the ledger's at submission, ± 1 s; None is
    not known.
    """

    run_id: str
    spec: RunSpec
    profile: str
    state: RunState
    created_at: datetime
    created_by: str
    updated_at: datetime
    next_step_at: datetime
    """When the follower looks at it again, in UTC."""
    version: int = 0
    """Grows with each change of the run."""
    job_name: str = ""
    job_id: str = ""
    phase: str = ""
    attempts: int = 0
    """How often the step that is due was tried."""
    final_state: RunState | None = None
    detail: str = ""
    code_sha256: str = ""
    submitted_at: datetime | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    duration_s: float | None = None
    series_id: str = ""
    series_index: int | None = None
    price_per_node_hour: float | None = None
    currency: str = ""
    expected_cost: float | None = None
    """What the launch expected it to cost, in its currency."""
    region_ahead_s: float | None = None
    """How far the region's clock was ahead of the ledger's at submission, in s; null if not known."""
    stop_cause: StopCause | None = None

    @property
    def is_timed_by_one_clock(self) -> bool:
        """Whether the region's clock, which times the job, agreed with the ledger's, as far as is known."""
        return self.region_ahead_s is None or abs(self.region_ahead_s) <= NOTABLE_SKEW_S

    def to(self, state: RunState, **changes: object) -> Self:
        """The run in another state. Raises ValueError for a transition that MOVES does not contain."""
        if state is not self.state and state not in MOVES[self.state]:
            raise ValueError(f"a run cannot go from {self.state} to {state}")
        return replace(self, state=state, **changes)  # type: ignore[arg-type]  # the names are this class's own

    def to_stopping(self, cause: StopCause, at: datetime) -> Self:
        """The run whose job is to be stopped; its next step is due."""
        changes = {"updated_at": at, "next_step_at": at, "attempts": 0}
        return self.to(RunState.STOPPING, stop_cause=cause, detail=cause.sentence, **changes)

    @property
    def is_retrying(self) -> bool:
        """Whether the last step failed and will be tried again."""
        return self.attempts > 0 and not self.state.is_terminal

    @property
    def explanation(self) -> str:
        """The detail; of a step that failed with the note that it is tried again."""
        return Message("retrying: {trouble}", trouble=self.detail) if self.is_retrying and self.detail else self.detail

    @property
    def is_stopped_early(self) -> bool:
        """Whether the search of its series stopped it."""
        return self._is_stopped_by(StopKind.SEARCH)

    @property
    def is_stopped_as_stalled(self) -> bool:
        """Whether it was stopped because it gave no sign of life."""
        return self._is_stopped_by(StopKind.STALL)

    def _is_stopped_by(self, kind: StopKind) -> bool:
        return self.state is RunState.STOPPED and self.stop_cause is not None and self.stop_cause.kind is kind

    @property
    def stage(self) -> tuple[int, int]:
        """(finished states, all states) of LINE. A failed or stopped run stays at the last state that it reached."""
        if self.state is RunState.COMPLETED:
            return len(LINE), len(LINE)
        if self.state in LINE:
            return LINE.index(self.state), len(LINE)
        # What proves that it has left each of the first states.
        proofs = (self.code_sha256, self.submitted_at, self.job_id, self.started_at)
        return max((number for number, proof in enumerate(proofs, start=1) if proof), default=0), len(LINE)

    @property
    def can_stop(self) -> bool:
        """Whether the run can still be stopped."""
        return RunState.STOPPING in MOVES[self.state] or self.can_give_up

    @property
    def waits_in_pool(self) -> bool:
        """Whether its job waits for nodes of a dedicated pool, where priorities decide."""
        return self.state is RunState.QUEUED and bool(self.job_id and self.spec.pool_id)

    @property
    def is_polled(self) -> bool:
        """Whether its job waits or runs, so that the platform may say something new about it."""
        return self.state in (RunState.QUEUED, RunState.RUNNING)

    @property
    def can_give_up(self) -> bool:
        """Whether the job has ended but its results cannot be fetched; `aisbench collect` tries again later."""
        return self.state is RunState.COLLECTING and self.is_retrying

    def node_hours(self, now: datetime) -> float | None:
        """The hours for which its nodes were occupied so far, times their number; None before they are."""
        if self.started_at is None:
            return None
        seconds = self.duration_s
        if seconds is None:
            seconds = max(0.0, ((self.ended_at or now) - self.started_at).total_seconds())
        return self.spec.node_count * seconds / 3600

    def money(self, node_hours: float | None) -> Mapping[str, float]:
        """What node hours of it cost, by currency; empty if they or the price are not known."""
        if node_hours is None or self.price_per_node_hour is None:
            return {}
        return {self.currency: node_hours * self.price_per_node_hour}

    @property
    def can_collect_again(self) -> bool:
        """Whether the run failed after its job was created, so that there may be results."""
        return self.state is RunState.FAILED and bool(self.job_id)


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress within a state: `done` of `total` `unit`s; 0 of `total` while nobody knows how many there are."""

    run_id: str
    state: RunState
    done: int
    """How much is done, in `unit`."""
    total: int
    """How much there is to do, in `unit`; null if unknown."""
    unit: str
    at: datetime
    stage: str = ""
    """What a running job does instead of training, such as `evaluating`, or what its script calls it."""

    @property
    def is_plausible(self) -> bool:
        """Whether it can be shown as so many of so many."""
        return 0 <= self.done <= self.total and self.total > 0

    @property
    def has_no_total(self) -> bool:
        """Whether it can only be shown as so many so far."""
        return self.total == 0 < self.done

    @property
    def fraction(self) -> float:
        """Between 0 and 1; a state with nothing to do is done."""
        return max(0.0, min(1.0, self.done / self.total)) if self.total else 1.0


class Level(StrEnum):
    """Severity of an event or a finding."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class Role(StrEnum):
    """Permissions, from reading to administration."""

    VIEWER = "viewer"
    ENGINEER = "engineer"
    LEAD = "lead"
    ADMIN = "admin"

    @property
    def included(self) -> frozenset["Role"]:
        """The role and all below it."""
        order = list(Role)
        return frozenset(order[: order.index(self) + 1])


class WayIn(StrEnum):
    """Interface through which a change is made; the `source` of its events."""

    CONSOLE = "console"
    CLI = "cli"
    API = "api"
    FOLLOWER = "follower"


@dataclass(frozen=True, slots=True)
class Grant:
    """By what right somebody asked for something that is done later: the role of then, and the token, if it was one."""

    role: Role
    token_id: str = ""


@dataclass(frozen=True, slots=True)
class Actor:
    """Who makes a change. `name` is what runs, events and annotations record.

    `read_only`: reads what its roles may read, and changes nothing. `token_id`: of the token that it acts with."""

    name: str
    roles: frozenset[Role]
    via: WayIn
    read_only: bool = False
    token_id: str = ""

    @property
    def grant(self) -> Grant:
        """What is stored with that which a follower does later in this name."""
        return Grant(max(self.roles, key=list(Role).index, default=Role.VIEWER), self.token_id)


def local_actor(name: str, via: WayIn) -> Actor:
    """An actor on this machine, with all roles, since whoever can read the data folder can also change it."""
    return Actor(name, frozenset(Role), via)


@dataclass(frozen=True, slots=True)
class Event:
    """An event of a run. `source`: a `WayIn`, or "cloud" for the platform's events."""

    run_id: str
    at: datetime
    source: str
    level: Level
    message: str
    actor: str = ""

    @classmethod
    def by(cls, actor: Actor, run_id: str, at: datetime, message: Message) -> "Event":
        """An action on a run or a series."""
        return cls(run_id, at, actor.via, Level.INFO, message, actor.name)


@dataclass(frozen=True, slots=True)
class Finding:
    """A preflight result about one field; errors prevent the launch, warnings do not.

    `source`: who reports it. `fix`: dotted field names with the values that would fix them; None removes the field."""

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
        """Message and hint in one line."""
        return Message("{message} ({hint})", message=self.message, hint=self.hint) if self.hint else self.message


@dataclass(frozen=True, slots=True)
class RegionJob:
    """A job of a region. `run`: this console's run that it executes, or None."""

    status: JobStatus
    run: Run | None

    @property
    def can_stop(self) -> bool:
        """Whether the job can still be stopped."""
        return self.run.can_stop if self.run else not self.status.has_ended


class RunPart(StrEnum):
    """A part of a run outside its record: in the region, in OBS or on this machine."""

    JOB = "job"
    OUTPUTS = "outputs"
    LOGS = "logs"
    FOLDER = "folder"


@dataclass(frozen=True, slots=True)
class Removal:
    """A removal of one directory, folder or job, with what it held when the removal began; `size` in bytes.

    `ended_at` is None while it runs, and after an interruption until it is repeated."""

    part: RunPart
    path: str
    objects: int
    size: int
    who: str
    began_at: datetime
    ended_at: datetime | None = None
