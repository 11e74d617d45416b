"""The user's answers about results to import, the preview, and the outcome of an import."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from aisbench_core.base.messages import Message
from aisbench_core.exchange.readers.results import ParsedResult
from aisbench_core.model import Mode, RunRecord
from aisbench_core.warehouse.values.runs import Check, Validity

UNKNOWN_REGION = "imported"  # the region of results without a known region
UNIT_NOT_STATED = "unit of the throughput: not stated, taken as samples/s"  # in the texts of a record
DEMO_REGION = "demo"  # of the demo history


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportAnswers:
    """The user's answers about a result; empty and None: the file decides."""

    workload: str = ""
    model: str = ""
    framework: str = ""
    framework_version: str = ""
    throughput_definition: str = ""
    unit: str = ""
    mode: Mode | None = None
    node_count: int | None = None
    cards_per_node: int | None = None


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where results were measured, which decides what they are compared with. Rehearsals have no region."""

    region: str = UNKNOWN_REGION
    rehearsal: bool = False
    profile: str = ""


@dataclass(frozen=True, slots=True)
class Choices:
    """The user's answers about all results, and about single ones by identity.

    `replace`: results that were imported before are stored again, with these answers."""

    where: Provenance = Provenance()
    about_all: ImportAnswers = ImportAnswers()
    about: Mapping[str, ImportAnswers] = field(default_factory=dict)
    replace: bool = False


@dataclass(frozen=True, slots=True)
class Preview:
    """A result and the record that it would become.

    `existing`: the id of the run that it already is, or empty. `duplicate_of`: the source of the same result earlier in
    this import, which is stored once. `validity`, `failed`: what its verdict would be."""

    result: ParsedResult
    record: RunRecord
    existing: str = ""
    duplicate_of: str = ""
    validity: Validity = Validity.CLAIMED
    failed: tuple[Check, ...] = ()

    @property
    def off_leaderboard(self) -> tuple[Message, ...]:
        """Why the result will not count on the leaderboard, besides failed checks; empty if it will, without a rank."""
        reasons = []
        if self.existing:
            reasons.append(Message("already stored as {run}", run=self.existing))
        if self.duplicate_of:
            reasons.append(Message("a duplicate: the same result is stored once"))
        return (*reasons, *self._off_statistics)

    @property
    def _off_statistics(self) -> Iterator[Message]:
        if self.record.rehearsal:
            yield Message("a rehearsal: it is never compared with measurements")
        if self.validity is Validity.INCOMPLETE:
            yield Message("incomplete: it is in no statistics")
        if self.validity is Validity.INVALID:
            yield Message("invalid: it is in no statistics")

    @property
    def limits(self) -> Iterator[Message]:
        """Where else the result will not count, and why."""
        run, imported = self.record.run, self.record.imported
        # A result without a time has that of its import.
        if imported and run.created_at >= imported.imported_at:
            yield Message("its time is unknown: it is in no history")
        if imported and UNIT_NOT_STATED in imported.details:
            yield Message("its unit of throughput is not stated: samples/s is assumed, unless you state another")
        stated = imported.stated if imported else ()
        if run.spec.mode is Mode.CLUSTER and not {"node_count", "cards_per_node"} <= {*stated}:
            yield Message("its nodes or cards are unknown: it is in no scaling curve")

    @property
    def reasons(self) -> tuple[str, ...]:
        """Every reason why a new result will not count somewhere, with the failed checks, in English."""
        failed = (f"{check.id}: expected {check.expected}, found {check.found}" for check in self.failed)
        return (*self._off_statistics, *self.limits, *failed)


@dataclass(frozen=True, slots=True)
class Saved:
    """The outcome of an import: ids of the new runs, and the number of existing ones.

    `corrected`: how many of the latter are rows that would be different with the present mapping of columns."""

    new: tuple[str, ...] = ()
    existing: int = 0
    corrected: int = 0
