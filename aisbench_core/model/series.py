"""Series: one spec on several node counts, repeated, launched together within a budget."""

import math
import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field, field_validator

from aisbench_core.base.messages import Message, choose_plural, join_parts
from aisbench_core.base.value_errors import make_refusal
from aisbench_core.model.run import Grant, Role
from aisbench_core.model.search import ParameterSearch
from aisbench_core.model.spec import Frozen, RunSpec, Scalar

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
    """The state of an attempt at a cell. Only VALID ones enter statistics; INVALID: completed, result not valid.

    STOPPED_EARLY: the search stopped it, because it had no hope left; that is an outcome, not a loss."""

    PLANNED = "planned"
    ACTIVE = "active"
    VALID = "valid"
    INVALID = "not valid"
    FAILED = "failed"
    STOPPED = "stopped"
    STOPPED_EARLY = "stopped early"
    CANCELLED = "cancelled"


# States that ended without a valid measurement; such cells can be run again.
LOST = frozenset({CellState.INVALID, CellState.FAILED, CellState.STOPPED, CellState.CANCELLED})

Count = Annotated[int, Field(ge=1, le=4096)]
Name = Annotated[str, Field(min_length=1)]


# The widest interval that can be asked for, as a share of the mean.
WIDEST = 0.5
_FORM = "half-width<"


class StopRule(StrEnum):
    """What ends a series early."""

    HALF_WIDTH = "half-width"
    """The interval of each row is narrow enough."""
    DECIDED = "decided"
    """Its two rows can be told apart, or are as good as equal."""
    FIRST_SLOWER = "first-slower"
    """The first slower one of its versions, or images, is known."""


@dataclass(frozen=True, slots=True)
class Until:
    """A stopping rule. `share`: of the mean, as a fraction, that half the interval may take; 0 for other rules."""

    rule: StopRule
    share: float = 0.0


def parse_until(text: str) -> Until:
    """`half-width<1%`, `decided` or `first-slower`. Raises PydanticCustomError, as a validator does."""
    compact = text.replace(" ", "").lower()
    if compact in (StopRule.DECIDED, StopRule.FIRST_SLOWER):
        return Until(StopRule(compact))
    percent = compact.removeprefix(_FORM).removesuffix("%")
    if not compact.startswith(_FORM) or not compact.endswith("%"):
        raise make_refusal(Message("must be half-width<1%, decided or first-slower"))
    try:
        share = float(percent) / 100
    except ValueError:
        share = 0.0
    if not 0 < share <= WIDEST:
        raise make_refusal(Message("the half-width must be above 0 and at most {most}%", most=f"{100 * WIDEST:g}"))
    return Until(StopRule.HALF_WIDTH, share)


class SeriesPlan(Frozen):
    """The request: each node count is measured `repeats` times, in each version and image, with each set of values.

    `values`: those of hyperparameters, by name; every combination is a row. `images`: engine versions, or image
    addresses if the spec has a custom image. `search`: what a sampler chooses instead, with one run per cell, which is
    then a trial; of several node counts and images it chooses one, too. `until`: ends it before `repeats` are reached:
    `half-width<1%`, `decided` or `first-slower`. `parallel`: the limit of active jobs of series
    in the pool. `hours_per_run`: a person's estimate. `budget`: node hours, or None."""

    spec: RunSpec
    name: Annotated[str, Field(max_length=80)] = ""
    node_counts: tuple[Count, ...] = (1,)
    """A row for each."""
    repeats: Annotated[int, Field(ge=1, le=100)] = 3
    """Runs of each row."""
    versions: tuple[Name, ...] = ()
    images: tuple[Name, ...] = ()
    values: dict[Name, tuple[Scalar, ...]] = Field(default_factory=dict)
    search: Annotated[ParameterSearch | None, Field(exclude_if=operator.not_)] = None
    until: Annotated[str, Field(exclude_if=operator.not_)] = ""
    """What ends it early: `half-width<1%`, `decided` or `first-slower`; `repeats` are then the most."""
    parallel: Annotated[int, Field(ge=1, le=256)] = 1
    """The most active jobs of series in the pool."""
    hours_per_run: Annotated[float, Field(gt=0, le=720, allow_inf_nan=False)] = 1.0
    """Hours that each run is expected to take."""
    budget: Annotated[float | None, Field(gt=0, allow_inf_nan=False)] = None
    """Node hours in total; null: no limit."""

    @field_validator("node_counts", "versions", "images")
    @classmethod
    def _drop_duplicates(cls, values: tuple[object, ...]) -> tuple[object, ...]:
        """Remove duplicates; repetitions are requested by `repeats`."""
        return tuple(dict.fromkeys(values))

    @field_validator("values")
    @classmethod
    def _each_once(cls, values: dict[str, tuple[Scalar, ...]]) -> dict[str, tuple[Scalar, ...]]:
        empty = [name for name, given in values.items() if not given]
        if empty:
            raise ValueError(Message("enter at least one value of {name}", name=empty[0]))
        # 1 and True are equal in Python, but not as values of a hyperparameter.
        return {
            name: tuple(value for _, value in dict.fromkeys((type(value), value) for value in given))
            for name, given in values.items()
        }

    @field_validator("until")
    @classmethod
    def _require_rule(cls, text: str) -> str:
        if text:
            parse_until(text)
        return text

    @field_validator("node_counts")
    @classmethod
    def _require_counts(cls, counts: tuple[int, ...]) -> tuple[int, ...]:
        if not counts:
            raise ValueError(Message("enter at least one node count"))
        return counts

    @property
    def stopping(self) -> Until | None:
        """The rule that ends it early."""
        return parse_until(self.until) if self.until else None

    @property
    def cell_count(self) -> int:
        """The total number of runs."""
        if self.search:
            return self.search.trials
        combinations = math.prod(map(len, self.values.values()))
        rows = len(self.node_counts) * max(1, len(self.versions)) * max(1, len(self.images)) * combinations
        return rows * self.repeats


@dataclass(frozen=True, slots=True)
class SeriesRow:
    """Cells with the same spec. `version` and `image` are empty if the plan names none.

    `parameters`: the values that distinguish the row from the others of its node count, version and image; empty for a
    trial of a search until its values are chosen."""

    node_count: int
    version: str
    image: str
    spec: RunSpec
    parameters: Mapping[str, Scalar] = field(default_factory=dict)

    @property
    def title(self) -> Message:
        """What distinguishes it from the other rows."""
        nodes = choose_plural(self.node_count, "{number} node", "{number} nodes")
        return join_parts(" · ", [part for part in (nodes, self.version, self.image, self.parameters_text) if part])

    @property
    def parameters_text(self) -> str:
        """`batch_size=32, learning_rate=0.1`; empty if the series varies no hyperparameters."""
        return ", ".join(f"{name}={value}" for name, value in self.parameters.items())


@dataclass(frozen=True, slots=True)
class Series:
    """A launched plan with the values of that time; only the fields from `budget` on and rows of a search change.

    `launch_error`: why its next cell could not be launched, one sentence, or empty. `held`: why it waits for an
    approval, or empty; `approved`: whether somebody let it go on, so that no budget is asked again."""

    series_id: str
    plan: SeriesPlan
    rows: tuple[SeriesRow, ...]
    profile: str
    created_at: datetime
    created_by: str
    budget: float | None
    launch_error: str = ""
    held: str = ""
    approved: bool = False

    @property
    def title(self) -> str:
        """Its name, or else its workload."""
        return self.plan.name or self.plan.spec.workload


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt at a cell. `cell` counts from 1 in the order of launching; `row` is an index of the series' rows.

    `role`, `token_id`: by what right it was requested.
    `run_id` is empty until it is launched; a cancelled attempt never is. `expected_cost` in `currency` is reserved
    until then; None is not known."""

    series_id: str
    cell: int
    number: int
    row: int
    repeat: int
    requested_by: str
    requested_at: datetime
    run_id: str = ""
    cancelled: bool = False
    expected_cost: float | None = None
    currency: str = ""
    role: Role = Role.ENGINEER
    token_id: str = ""

    @property
    def grant(self) -> Grant:
        """By what right it is launched."""
        return Grant(self.role, self.token_id)

    @property
    def is_waiting(self) -> bool:
        """Whether it has not been launched yet."""
        return not self.run_id and not self.cancelled
