"""Series: one spec on several node counts, repeated, launched together within a budget."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field, field_validator

from aisbench_core.messages import Message, joined, plural
from aisbench_core.model.spec import Frozen, RunSpec

MOST_CELLS = 1000


class SeriesState(StrEnum):
    """The state of a series, derived from its cells."""

    PLANNED = "planned"
    RUNNING = "running"
    HELD = "held"
    STOPPED = "stopped"
    COMPLETED = "completed"
    COMPLETED_WITH_FAILURES = "completed with failures"

    @property
    def has_ended(self) -> bool:
        """Whether nothing more is launched without a person's request."""
        return self in (SeriesState.STOPPED, SeriesState.COMPLETED, SeriesState.COMPLETED_WITH_FAILURES)


class CellState(StrEnum):
    """The state of an attempt at a cell. Only VALID ones enter statistics; INVALID: completed, result not valid."""

    PLANNED = "planned"
    ACTIVE = "active"
    VALID = "valid"
    INVALID = "not valid"
    FAILED = "failed"
    STOPPED = "stopped"
    CANCELLED = "cancelled"


# States that ended without a valid measurement; such cells can be run again.
LOST = frozenset({CellState.INVALID, CellState.FAILED, CellState.STOPPED, CellState.CANCELLED})

Count = Annotated[int, Field(ge=1, le=4096)]
Name = Annotated[str, Field(min_length=1)]


class SeriesPlan(Frozen):
    """The request: each node count is measured `repeats` times, in each version and image.

    `images`: engine versions, or image addresses if the spec has a custom image. `parallel`: the limit of active jobs
    of series in the pool. `hours_per_run`: a person's estimate. `budget`: node hours, or None."""

    spec: RunSpec
    name: Annotated[str, Field(max_length=80)] = ""
    node_counts: tuple[Count, ...] = (1,)
    repeats: Annotated[int, Field(ge=1, le=100)] = 3
    versions: tuple[Name, ...] = ()
    images: tuple[Name, ...] = ()
    parallel: Annotated[int, Field(ge=1, le=256)] = 1
    hours_per_run: Annotated[float, Field(gt=0, le=720, allow_inf_nan=False)] = 1.0
    budget: Annotated[float | None, Field(gt=0, allow_inf_nan=False)] = None

    @field_validator("node_counts", "versions", "images")
    @classmethod
    def _once(cls, values: tuple[object, ...]) -> tuple[object, ...]:
        """Remove duplicates; repetitions are requested by `repeats`."""
        return tuple(dict.fromkeys(values))

    @field_validator("node_counts")
    @classmethod
    def _some(cls, counts: tuple[int, ...]) -> tuple[int, ...]:
        if not counts:
            raise ValueError(Message("enter at least one node count"))
        return counts

    @property
    def cell_count(self) -> int:
        """The total number of runs."""
        return len(self.node_counts) * max(1, len(self.versions)) * max(1, len(self.images)) * self.repeats


@dataclass(frozen=True, slots=True)
class SeriesRow:
    """Cells with the same spec. `version` and `image` are empty if the plan names none."""

    node_count: int
    version: str
    image: str
    spec: RunSpec

    @property
    def title(self) -> Message:
        """What distinguishes it from the other rows."""
        nodes = plural(self.node_count, "{number} node", "{number} nodes")
        return joined(" · ", [part for part in (nodes, self.version, self.image) if part])


@dataclass(frozen=True, slots=True)
class Series:
    """A launched plan with the values of that time; only `budget` and `launch_error` change.

    `launch_error`: why its next cell could not be launched, one sentence, or empty."""

    series_id: str
    plan: SeriesPlan
    rows: tuple[SeriesRow, ...]
    profile: str
    created_at: datetime
    created_by: str
    budget: float | None
    launch_error: str = ""

    @property
    def title(self) -> str:
        """Its name, or else its workload."""
        return self.plan.name or self.plan.spec.workload


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt at a cell. `cell` counts from 1 in the order of launching; `row` is an index of the series' rows.

    `run_id` is empty until it is launched; a cancelled attempt never is."""

    series_id: str
    cell: int
    number: int
    row: int
    repeat: int
    requested_by: str
    requested_at: datetime
    run_id: str = ""
    cancelled: bool = False

    @property
    def is_waiting(self) -> bool:
        """Whether it has not been launched yet."""
        return not self.run_id and not self.cancelled
