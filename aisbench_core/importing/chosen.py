"""What a person says about results to be imported, and what became of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from aisbench_core.history.found import FoundResult
from aisbench_core.model import Mode, RunRecord

UNSAID = "imported"
"""The region of results of which nobody said where they were measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A person's answers about a result; empty and None: as the file tells."""

    workload: str = ""
    model: str = ""
    framework: str = ""
    framework_version: str = ""
    throughput_definition: str = ""
    mode: Mode | None = None
    node_count: int | None = None
    cards_per_node: int | None = None


@dataclass(frozen=True, slots=True)
class Where:
    """Which results on the leaderboard they join: a region's measurements, or rehearsals of nowhere in particular."""

    region: str = UNSAID
    rehearsal: bool = False
    profile: str = ""


@dataclass(frozen=True, slots=True)
class Choices:
    """What a person says about all results, and about single ones, by their identity."""

    where: Where = Where()
    about_all: Said = Said()
    about: Mapping[str, Said] = field(default_factory=dict)
    replace: bool = False
    """Whether results that were imported before are stored anew, with these answers."""


@dataclass(frozen=True, slots=True)
class Preview:
    """A found result and the record it would become; `here` is the run that it already is, or empty."""

    found: FoundResult
    record: RunRecord
    here: str = ""


@dataclass(frozen=True, slots=True)
class Saved:
    """How an import ended: ids of the runs that are new, and how many were here already.

    `corrected`: how many of these are rows of a table that say something else by the columns of now."""

    new: tuple[str, ...] = ()
    known: int = 0
    corrected: int = 0
