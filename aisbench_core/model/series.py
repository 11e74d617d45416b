"""A series: one spec on several node counts, several times, launched as one thing and kept within a budget."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field, field_validator

from aisbench_core.messages import Message, joined, plural
from aisbench_core.model.spec import Frozen, RunSpec

MOST_CELLS = 1000


class SeriesState(StrEnum):
    """Where a series stands, as its cells tell."""

    PLANNED = "planned"
    RUNNING = "running"
    HELD = "held"
    STOPPED = "stopped"
    COMPLETED = "completed"
    COMPLETED_WITH_FAILURES = "completed with failures"

    @property
    def has_ended(self) -> bool:
        """Whether nothing more happens unless a person asks for it."""
        return self in (SeriesState.STOPPED, SeriesState.COMPLETED, SeriesState.COMPLETED_WITH_FAILURES)


class CellState(StrEnum):
    """Where an attempt at a cell stands. Only VALID ones enter a statistic; INVALID ones completed without one."""

    PLANNED = "planned"
    ACTIVE = "active"
    VALID = "valid"
    INVALID = "not valid"
    FAILED = "failed"
    STOPPED = "stopped"
    CANCELLED = "cancelled"


LOST = frozenset({CellState.INVALID, CellState.FAILED, CellState.STOPPED, CellState.CANCELLED})
"""What ended without a measurement, and can be run again."""

Count = Annotated[int, Field(ge=1, le=4096)]
Name = Annotated[str, Field(min_length=1)]


class SeriesPlan(Frozen):
    """What a person asks for. Every number of nodes is measured `repeats` times, in each version and image.

    `images` are engine versions, or addresses of images where the spec has a custom one. `parallel`: how many jobs of
    series may be active at once in the pool. `hours_per_run`: the person's own guess. `budget`: node hours, or None."""

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
        """Naming one twice asks for nothing more than naming it once; repeats are said by `repeats`."""
        return tuple(dict.fromkeys(values))

    @field_validator("node_counts")
    @classmethod
    def _some(cls, counts: tuple[int, ...]) -> tuple[int, ...]:
        if not counts:
            raise ValueError(Message("name at least one number of nodes"))
        return counts

    @property
    def cell_count(self) -> int:
        """Runs in all."""
        return len(self.node_counts) * max(1, len(self.versions)) * max(1, len(self.images)) * self.repeats


@dataclass(frozen=True, slots=True)
class SeriesRow:
    """One distinct cell: its runs differ in nothing. `version` and `image` are empty where the plan names none."""

    node_count: int
    version: str
    image: str
    spec: RunSpec

    @property
    def title(self) -> Message:
        """What tells it from the other rows."""
        nodes = plural(self.node_count, "{number} node", "{number} nodes")
        return joined(" · ", [part for part in (nodes, self.version, self.image) if part])


@dataclass(frozen=True, slots=True)
class Series:
    """A plan that was launched, frozen with every answer of that moment; only `budget` and `trouble` change.

    `trouble`: why its next cell could not be launched, one sentence; empty when nothing is in the way."""

    series_id: str
    plan: SeriesPlan
    rows: tuple[SeriesRow, ...]
    profile: str
    created_at: datetime
    created_by: str
    budget: float | None
    trouble: str = ""

    @property
    def title(self) -> str:
        """What a person calls it."""
        return self.plan.name or self.plan.spec.workload


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try at a cell. `cell` counts from 1 in the order of launching; `row` is a position in the series' rows.

    `run_id` is empty before it is launched; a cancelled one never is."""

    series_id: str
    cell: int
    number: int
    row: int
    repeat: int
    asked_by: str
    asked_at: datetime
    run_id: str = ""
    cancelled: bool = False

    @property
    def is_waiting(self) -> bool:
        """Whether it is still to be launched."""
        return not self.run_id and not self.cancelled
