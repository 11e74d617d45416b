"""What a person says about results to be imported, and what became of them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from aisbench_core.history.found import FoundResult
from aisbench_core.messages import Message
from aisbench_core.model import Mode, RunRecord
from aisbench_core.warehouse.values import Check, Validity

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
    """A found result and the record it would become; `here` is the run that it already is, or empty.

    `duplicate_of`: the source of the same result earlier in what is read, which is stored once. `validity` and the
    `failed` checks are what its verdict would be."""

    found: FoundResult
    record: RunRecord
    here: str = ""
    duplicate_of: str = ""
    validity: Validity = Validity.CLAIMED
    failed: tuple[Check, ...] = ()

    @property
    def not_counted(self) -> tuple[str, ...]:
        """Where the result will not count, and why: sentences for a person, the failed checks aside."""
        return tuple(_not_counted(self))

    @property
    def reasons(self) -> tuple[str, ...]:
        """The same with the failed checks, as the command line says them."""
        failed = (f"{check.id}: expected {check.expected}, found {check.found}" for check in self.failed)
        return (*self.not_counted, *failed)


def _not_counted(preview: Preview) -> Iterator[str]:
    record = preview.record
    if record.rehearsal:
        yield Message("a rehearsal: it joins no measurements, whatever is said about where it was made")
    if preview.validity is Validity.INCOMPLETE:
        yield Message("incomplete: it enters no statistic")
    if preview.validity is Validity.INVALID:
        yield Message("invalid: it enters no statistic")
    stated = record.imported.stated if record.imported else ()
    if record.imported and record.run.created_at >= record.imported.imported_at:
        yield Message("its time is not known: it has no place in a history")
    if record.run.spec.mode is Mode.CLUSTER and not {"node_count", "cards_per_node"} <= {*stated}:
        yield Message("its nodes or cards are not known: it has no place in a scaling curve")


@dataclass(frozen=True, slots=True)
class Saved:
    """How an import ended: ids of the runs that are new, and how many were here already.

    `corrected`: how many of these are rows of a table that say something else by the columns of now."""

    new: tuple[str, ...] = ()
    known: int = 0
    corrected: int = 0
