"""Originals, their reproductions, and comparisons of both: frozen values."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from aisbench_core.base.messages import Hint
from aisbench_core.model import RunSpec
from aisbench_core.warehouse.values.compared import Comparability
from aisbench_core.warehouse.values.runs import RunRow


@dataclass(frozen=True, slots=True)
class Original:
    """The run to clone or reproduce. `profile` is empty if it is not recorded.

    `known`: the fields of the spec that an imported run has; None: all of them."""

    run_id: str
    spec: RunSpec
    profile: str
    known: frozenset[str] | None = None


class Sameness(StrEnum):
    """Whether an aspect is now as it was when the original ran."""

    SAME = "same"
    DIFFERENT = "different"
    NOT_KNOWN = "not known"


@dataclass(frozen=True, slots=True)
class Aspect:
    """One thing that decides a result, then and now; empty if not known.

    `name`: a field of the spec or of the run. `note`: why it is not known."""

    name: str
    then: str
    now: str
    sameness: Sameness
    note: Hint = ""


@dataclass(frozen=True, slots=True)
class ReproductionCheck:
    """The spec and profile of a reproduction, and its aspects compared with the original's."""

    original: Original
    spec: RunSpec
    profile: str
    aspects: Sequence[Aspect]

    def list_aspects(self, sameness: Sameness) -> list[Aspect]:
        """The aspects of one kind."""
        return [aspect for aspect in self.aspects if aspect.sameness is sameness]

    @property
    def identical(self) -> bool | None:
        """True when everything is the same, False when something is not, None when something is not known."""
        if self.list_aspects(Sameness.DIFFERENT):
            return False
        return None if self.list_aspects(Sameness.NOT_KNOWN) else True


@dataclass(frozen=True, slots=True)
class Repeated:
    """A reproduction's result against the original's.

    `ratio`: its throughput over the original's; None if one is missing or they are `not_comparable` (the fields that
    differ). `low` to `high`: 95 % prediction interval for a single run of the original's group (`runs` valid runs
    without reproductions); None for fewer than two. `dataset`: whether both had the same data."""

    original: RunRow
    run: RunRow
    comparability: Comparability
    not_comparable: Sequence[str]
    ratio: float | None
    runs: int
    low: float | None
    high: float | None
    dataset: Sameness

    @property
    def is_within(self) -> bool | None:
        """Whether the result is within the prediction interval; None if there is none."""
        if self.low is None or self.high is None or self.ratio is None or self.run.throughput is None:
            return None
        return self.low <= self.run.throughput <= self.high
