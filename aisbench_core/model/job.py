"""Jobs of the cloud: requests, status, and what a region offers."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from aisbench_core.model.job_details import RunAttempt
from aisbench_core.model.spec import Channel, RunSpec


@dataclass(frozen=True, slots=True)
class JobRequest:
    """A RunSpec with all paths resolved to OBS paths (/bucket/...), to be submitted as a job."""

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
    """The phases of jobs in the ModelArts v2 API. Phases that it may add are kept as text."""

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
    """The status of a job at one time. `phase` is the cloud's word; `duration_s` is the running time without queueing.

    `outputs`: the job's OBS output directories. `version`: from 1, in APIs whose jobs have versions.
    `priority`: 1 to 3, if the cloud states it. `attempts`: oldest first, in APIs that list them."""

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
    priority: int | None = None
    attempts: tuple[RunAttempt, ...] = ()

    @property
    def has_ended(self) -> bool:
        """Whether the job has reached its final phase."""
        return self.phase in ENDED_PHASES

    @property
    def succeeded(self) -> bool:
        """Whether every task ended with exit code 0."""
        return self.phase == Phase.COMPLETED


@dataclass(frozen=True, slots=True)
class Flavor:
    """An instance type of a region. `accelerator` is CPU, GPU or Ascend; `cards` is per node, at least 1.

    `architecture`: aarch64 or x86_64. What the region does not state is empty, or None for numbers."""

    flavor_id: str
    name: str
    accelerator: str
    cards: int | None
    """Cards of a node."""
    max_nodes: int | None
    """The most nodes of one job."""
    product: str = ""
    architecture: str = ""
    card_gb: float | None = None
    """Memory of a card, in GB."""


@dataclass(frozen=True, slots=True)
class Engine:
    """A preset image of a region."""

    engine_id: str
    name: str
    version: str


@dataclass(frozen=True, slots=True)
class Pool:
    """A dedicated resource pool. `free_nodes` and the like are None if the region does not state them.

    `kind` is the cloud's word: Dedicate or Logical. `faulty_nodes` are neither free nor used."""

    pool_id: str
    name: str
    phase: str
    flavors: tuple[str, ...] = ()
    free_nodes: int | None = None
    """Number of nodes that no job occupies."""
    total_nodes: int | None = None
    """Number of all nodes."""
    faulty_nodes: int | None = None
    """Number of nodes that cannot be used."""
    kind: str = ""

    @property
    def used_nodes(self) -> int | None:
        """Nodes that are neither free nor faulty; None unless total and free nodes are known."""
        if self.total_nodes is None or self.free_nodes is None:
            return None
        # Counts are taken one after another, so they may not add up while jobs start and end.
        return max(0, self.total_nodes - self.free_nodes - (self.faulty_nodes or 0))


@dataclass(frozen=True, slots=True)
class CardSample:
    """One value that a tool inside the job measured on a card; cards count from 0 on each node.

    `name`: coreUtil (percent), memoryUsed and memoryTotal (MB), power (W) or temperature (degrees Celsius)."""

    at: datetime
    node: int
    card: int
    name: str
    value: float


@dataclass(frozen=True, slots=True)
class MetricSample:
    """One measured value of a metric on a node; samples are a minute apart."""

    at: datetime
    node: int
    name: str
    value: float


@dataclass(frozen=True, slots=True)
class Algorithm:
    """An algorithm of "my algorithms" (training guide, section 3). Paths are /bucket/key.

    It starts `boot_path` in the preset image `engine`, or `command` in the image of this address. `inputs` and
    `outputs` are names; a job gives their directories. `usable` is None if the region does not say."""

    algorithm_id: str
    name: str
    description: str
    created_at: datetime | None
    usable: bool | None
    code_path: str
    boot_path: str
    command: str
    engine: str
    parameters: Mapping[str, str]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SubscribedAlgorithm:
    """A version of an algorithm that the account has subscribed to in AI Gallery (training guide, section 3.2).

    A job names both ids. `name` and `version` are empty if the region does not say them."""

    subscription_id: str
    item_version_id: str
    name: str
    version: str
