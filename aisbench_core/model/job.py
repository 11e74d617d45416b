"""A job, which is the cloud's: what is asked for, what is told of it, and what a region offers."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from aisbench_core.model.spec import Channel, RunSpec


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
    """One look at a job. `phase` is the cloud's own word; `duration_s` counts running, not queueing.

    `outputs`: the OBS directories that it writes to. `version`: where jobs have versions, which one this is, from 1."""

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
    outputs: tuple[str, ...] = ()
    version: int = 0

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
    """An instance type of a region. `accelerator` is CPU, GPU or Ascend; `cards` is per node, at least 1.

    `architecture`: of its processors, aarch64 or x86_64. Where the region does not tell, `accelerator` and
    `architecture` are empty, `cards` and `max_nodes` None."""

    flavor_id: str
    name: str
    accelerator: str
    cards: int | None
    max_nodes: int | None
    product: str = ""
    architecture: str = ""


@dataclass(frozen=True, slots=True)
class Engine:
    """A preset image of a region."""

    engine_id: str
    name: str
    version: str


@dataclass(frozen=True, slots=True)
class Pool:
    """A dedicated resource pool. `free_nodes` is None where the region does not tell."""

    pool_id: str
    name: str
    phase: str
    flavors: tuple[str, ...] = ()
    free_nodes: int | None = None


@dataclass(frozen=True, slots=True)
class MetricSample:
    """One value of one metric on one node, a minute apart; a value that was not measured is not a sample."""

    at: datetime
    node: int
    name: str
    value: float
