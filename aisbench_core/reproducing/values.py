"""What is known of a run that others are made after, and of those."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from aisbench_core.model import RunSpec
from aisbench_core.warehouse.answers.compared import Comparability
from aisbench_core.warehouse.values import RunRow


@dataclass(frozen=True, slots=True)
class Original:
    """A run that others are made after. `profile` is empty when nobody said it.

    `known`: the only fields of the spec that an imported run tells; None: all of them."""

    run_id: str
    spec: RunSpec
    profile: str
    known: frozenset[str] | None = None


class Sameness(StrEnum):
    """Whether something is now as it was when the original ran."""

    SAME = "same"
    DIFFERENT = "different"
    NOT_KNOWN = "not known"


@dataclass(frozen=True, slots=True)
class Aspect:
    """One thing that decides a result: as it was then and as it is now; empty where that is not known.

    `name` is a field of the spec or of the run. `note` says why something is not known."""

    name: str
    then: str
    now: str
    sameness: Sameness
    note: str = ""


@dataclass(frozen=True, slots=True)
class ReproductionCheck:
    """What a run would be that is to give the result of the original again, against what that was."""

    original: Original
    spec: RunSpec
    profile: str
    aspects: Sequence[Aspect]

    def having(self, sameness: Sameness) -> list[Aspect]:
        """The aspects of one kind."""
        return [aspect for aspect in self.aspects if aspect.sameness is sameness]

    @property
    def identical(self) -> bool | None:
        """True when everything is the same, False when something is not, None when something is not known."""
        if self.having(Sameness.DIFFERENT):
            return False
        return None if self.having(Sameness.NOT_KNOWN) else True


@dataclass(frozen=True, slots=True)
class Repeated:
    """How the result of a reproduction compares with the original's.

    `ratio`: its throughput over the original's; None where one is missing or they are `not_comparable`, by these
    fields. `low` to `high`: where 95 % of single runs of the original's group (`runs` of them, valid, without the
    reproductions) are to be expected; None for fewer than two. `dataset`: whether both had the same data."""

    original: RunRow
    run: RunRow
    verdict: Comparability
    not_comparable: Sequence[str]
    ratio: float | None
    runs: int
    low: float | None
    high: float | None
    dataset: Sameness

    @property
    def is_within(self) -> bool | None:
        """Whether the result is what the group lets expect; None when that cannot be said."""
        if self.low is None or self.high is None or self.ratio is None or self.run.throughput is None:
            return None
        return self.low <= self.run.throughput <= self.high
