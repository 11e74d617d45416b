"""The nouns of the product: specs, runs, jobs and results. No I/O happens here."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field

Clock = Callable[[], datetime]
"""Tells the time, aware and in UTC."""

Scalar = bool | int | float | str
"""A hyperparameter's value. Strings stay strings: "90" and 90 are different answers of a person."""


# --- what a person asks for -------------------------------------------------------------------------


class Frozen(BaseModel):
    """A document that people or files hand to us: unknown keys are errors, and it never changes."""

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)


class Mode(StrEnum):
    """How nodes work together: as one cluster, or each server on its own."""

    CLUSTER = "cluster"
    SINGLE_SERVER = "single_server"


class Api(StrEnum):
    """Which interface of the cloud creates the job."""

    V2 = "v2"
    V1 = "v1"
    SDK = "sdk"


class AccessMethod(StrEnum):
    """How the training code learns a local directory: as `--name=dir`, or as environment variable `name`."""

    PARAMETER = "parameter"
    ENV = "env"


class Channel(Frozen):
    """One input or output of a job: a name the code knows and an OBS directory."""

    name: Annotated[str, Field(min_length=1, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
    path: Annotated[str, Field(description="OBS directory, written /bucket/directory/")] = ""
    access_method: AccessMethod = AccessMethod.PARAMETER


class NfsVolume(Frozen):
    """An SFS Turbo share mounted into every node."""

    server_path: Annotated[str, Field(description="address:/path")]
    local_path: str
    read_only: bool = False


class RunSpec(Frozen):
    """Everything that decides a run; it is stored with the run for ever.

    Empty strings mean "not set": the workload's manifest, the profile or the cloud decides then.
    """

    workload: Annotated[str, Field(min_length=1)]
    framework_version: str = ""
    parameters: dict[str, Scalar] = {}
    inputs: tuple[Channel, ...] = ()
    outputs: tuple[Channel, ...] = ()
    code_dir: Annotated[str, Field(description="local directory; empty: the workload's own code")] = ""
    boot_file: Annotated[str, Field(description="relative to code_dir")] = ""
    image_url: str = ""
    command: Annotated[str, Field(description="start command of a custom image")] = ""
    engine_name: str = ""
    engine_version: str = ""
    flavor: str = ""
    pool_id: str = ""
    node_count: Annotated[int, Field(ge=1, le=4096)] = 1
    cards_per_node: Annotated[int, Field(ge=1, le=64)] = 1
    mode: Mode = Mode.CLUSTER
    environments: dict[str, str] = {}
    volumes: tuple[NfsVolume, ...] = ()
    priority: Annotated[int, Field(ge=1, le=3)] = 1
    auto_stop_hours: Annotated[int | None, Field(ge=1, le=720)] = None
    retries: Annotated[int, Field(ge=0, le=128)] = 0
    log_path: Annotated[str, Field(description="OBS directory; empty: the profile's")] = ""
    name: Annotated[str, Field(description="the start of the job's name")] = ""
    description: str = ""
    api: Api = Api.V2

    @property
    def card_count(self) -> int:
        """All cards of the job: nodes x cards per node."""
        return self.node_count * self.cards_per_node

    @property
    def sha256(self) -> str:
        """SHA-256 (hex) over the spec's canonical JSON."""
        return hashlib.sha256(canonical_json(self.model_dump(mode="json")).encode()).hexdigest()


def canonical_json(value: object) -> str:
    """JSON with sorted keys and no blanks, so that equal values have equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


# --- a run, which is ours ---------------------------------------------------------------------------


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
    last step went well.
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
        return RunState.STOPPING in MOVES[self.state]

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
    """What preflight says about one field: an error forbids the launch, a warning does not."""

    rule: str
    level: Level
    field: str
    message: str
    hint: str = ""


# --- a job, which is the cloud's --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class JobRequest:
    """What the cloud is asked to run: a RunSpec with every path made concrete. All paths are /bucket/... ones."""

    name: str
    spec: RunSpec
    code_path: str
    boot_path: str
    log_path: str
    inputs: tuple[Channel, ...]
    outputs: tuple[Channel, ...]
    environments: Mapping[str, str]
    parameters: Mapping[str, str]


class Phase(StrEnum):
    """The cloud's words for where a job stands (ModelArts v2 API). Words it may add later are kept as text."""

    CREATING = "Creating"
    PENDING = "Pending"
    RUNNING = "Running"
    TERMINATING = "Terminating"
    COMPLETED = "Completed"
    FAILED = "Failed"
    TERMINATED = "Terminated"
    ABNORMAL = "Abnormal"


ENDED_PHASES = frozenset({Phase.COMPLETED, Phase.FAILED, Phase.TERMINATED, Phase.ABNORMAL})


@dataclass(frozen=True, slots=True)
class TaskStatus:
    """How one task of a job ended."""

    task: str
    exit_code: int | None
    message: str


@dataclass(frozen=True, slots=True)
class JobStatus:
    """One look at a job. `phase` is the cloud's own word; `duration_s` counts running, not queueing."""

    job_id: str
    name: str
    phase: str
    secondary_phase: str = ""
    message: str = ""
    created_at: datetime | None = None
    started_at: datetime | None = None
    duration_s: float | None = None
    tasks: tuple[str, ...] = ()
    task_statuses: tuple[TaskStatus, ...] = ()
    node_count: int = 1

    @property
    def has_ended(self) -> bool:
        """Whether the job will not change any more."""
        return self.phase in ENDED_PHASES

    @property
    def succeeded(self) -> bool:
        """Whether every task ended with exit code 0."""
        return self.phase == Phase.COMPLETED


@dataclass(frozen=True, slots=True)
class JobEvent:
    """One line of the cloud's event list for a job."""

    at: datetime
    level: str
    message: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class LogPreview:
    """The newest part (at most 5 MB) of one task's log; sizes in bytes."""

    content: str
    current_size: int
    full_size: int


@dataclass(frozen=True, slots=True)
class Flavor:
    """An instance type of a region. `accelerator` is CPU, GPU or Ascend; `cards` is per node, at least 1."""

    flavor_id: str
    name: str
    accelerator: str
    cards: int
    max_nodes: int
    product: str = ""


@dataclass(frozen=True, slots=True)
class Engine:
    """A preset image of a region."""

    engine_id: str
    name: str
    version: str


@dataclass(frozen=True, slots=True)
class Pool:
    """A dedicated resource pool."""

    pool_id: str
    name: str
    phase: str
    flavors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MetricSample:
    """One value of one metric on one node, a minute apart; a value that was not measured is not a sample."""

    at: datetime
    node: int
    name: str
    value: float


# --- a result ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RankResult:
    """One card's throughput in the workload's own unit (samples/s). `server` is 0 in cluster mode."""

    server: int
    rank: int
    throughput: float


@dataclass(frozen=True, slots=True)
class TrainResultInfo:
    """The 15 keys of upstream's block, typed. None means not measured; 0 is a measurement.

    Units: throughput_ratio samples/s, powers W, energy J as upstream gives it, ratios 0 to 1, times aware UTC.
    `efficientcy` is spelt as upstream spells it.
    """

    accuracy: float | None = None
    throughput_ratio: float | None = None
    average_power: float | None = None
    max_power: float | None = None
    energy_consumption: float | None = None
    efficientcy: float | None = None
    resource_util_ratio: float | None = None
    prepare_start_time: datetime | None = None
    prepare_end_time: datetime | None = None
    dataload_start_time: datetime | None = None
    dataload_end_time: datetime | None = None
    proc_start_time: datetime | None = None
    proc_end_time: datetime | None = None
    total_start_time: datetime | None = None
    total_end_time: datetime | None = None


@dataclass(frozen=True, slots=True)
class CollectedResult:
    """What was found in a run's output directory.

    `problems` name each file that is missing or holds no number; a result with problems is kept, but not valid.
    """

    ranks_expected: int
    rank_results: tuple[RankResult, ...]
    info: TrainResultInfo
    raw: str
    synthetic_data: bool = False
    dataset_sha256: str = ""
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WorkloadFacts:
    """What a run's workload said when it was launched, kept so that a record never depends on later edits."""

    title: str
    model: str
    framework: str
    throughput_definition: str
    throughput_unit: str
    dataset: str
    accuracy_target: float | None
    accuracy_target_source: str
    speed_parameters: Mapping[str, Scalar]


@dataclass(frozen=True, slots=True)
class RunRecord:
    """All that the warehouse stores of one run; written to and read from data/runs/<run_id>/ as text."""

    run: Run
    workload: WorkloadFacts
    region: str
    rehearsal: bool
    accelerator: str
    result: CollectedResult | None
    samples: tuple[MetricSample, ...] = ()
    events: tuple[Event, ...] = ()
