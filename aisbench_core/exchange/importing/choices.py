"""The user's answers about results to import, the preview, and the outcome of an import."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from aisbench_core.base.messages import Message
from aisbench_core.exchange.readers.results import ParsedResult
from aisbench_core.model import Mode, RunRecord
from aisbench_core.warehouse.values.runs import FIELDS_CHECK, Check, Validity

UNKNOWN_REGION = "imported"  # the region of results without a known region
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
class Exclusion:
    """Why results do not count somewhere; `mended_by`: the fields of ImportAnswers, or `where`, that can mend it."""

    sentence: Message
    mended_by: tuple[str, ...] = ()


STORED = Exclusion(Message("already stored"))
DUPLICATE = Exclusion(Message("a duplicate: the same result is stored once"))
_REHEARSAL = Exclusion(Message("a rehearsal: never compared with measurements"), ("where",))
_INCOMPLETE = Exclusion(Message("incomplete: left out of statistics"))
_NO_DEFINITION = Exclusion(Message("throughput definition missing"), ("throughput_definition", "workload"))
_NO_TIME = Exclusion(Message("time unknown: left out of histories"))
_NO_SIZE = Exclusion(Message("nodes or cards unknown: left out of scaling curves"), ("node_count", "cards_per_node"))


@dataclass(frozen=True, slots=True)
class Preview:
    """A result and the record that it would become.

    `existing`: the id of the run that it already is, or empty. `duplicate_of`: the source of the same result earlier in
    this import, which is stored once. `validity`, `failed`: what its verdict would be; `missing`: the fields that the
    ruleset requires and the record does not have. `mends`: the answers that its throughput needs."""

    result: ParsedResult
    record: RunRecord
    existing: str = ""
    duplicate_of: str = ""
    validity: Validity = Validity.CLAIMED
    failed: tuple[Check, ...] = ()
    missing: tuple[str, ...] = ()
    mends: tuple[str, ...] = ()

    @property
    def causes(self) -> tuple[Exclusion, ...]:
        """Why the result will not count on the leaderboard; empty if it will, without a rank."""
        if self.existing:
            return (STORED,)
        return (DUPLICATE,) if self.duplicate_of else tuple(dict.fromkeys(self._off_statistics))

    @property
    def _off_statistics(self) -> Iterator[Exclusion]:
        if self.record.rehearsal:
            yield _REHEARSAL
        yield from self._gaps
        for check in self.failed:
            if check.id != FIELDS_CHECK or not [*self._gaps]:
                values = {"id": check.id, "expected": check.expected, "found": check.found}
                yield Exclusion(Message("{id}: {found} (expected: {expected})", **values))
        if self.validity is Validity.INCOMPLETE and not self.failed:
            yield _INCOMPLETE

    @property
    def _gaps(self) -> Iterator[Exclusion]:
        """The missing fields and what was wrong with those that were read: why the check of all fields failed."""
        for name in self.missing:
            if name == "throughput_definition":
                yield _NO_DEFINITION
            elif name != "throughput" or not self.result.problems:
                yield Exclusion(Message("{name} missing", name=name))
        for problem in self.result.problems:
            yield Exclusion(problem, self.mends)

    @property
    def limits(self) -> Iterator[Exclusion]:
        """Where else the result will not count, and why; and what of it was read otherwise than it is written."""
        run, imported = self.record.run, self.record.imported
        # A result without a time has that of its import.
        if imported and run.created_at >= imported.imported_at:
            yield _NO_TIME
        stated = imported.stated if imported else ()
        if run.spec.mode is Mode.CLUSTER and not {"node_count", "cards_per_node"} <= {*stated}:
            yield _NO_SIZE
        for header in dict.fromkeys(cell.header for cell in self.result.dropped):
            yield Exclusion(Message("cells of {column} not understood, left out", column=header[:40]))
        yield from map(Exclusion, self.result.remarks)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Every reason why a new result will not count somewhere, in English."""
        return tuple(cause.sentence for cause in (*dict.fromkeys(self._off_statistics), *self.limits))


@dataclass(frozen=True, slots=True)
class Saved:
    """The outcome of an import: ids of the new runs, the number of existing ones, and the id of the import, if any.

    `corrected`: how many of the latter are rows that would be different with the present mapping of columns."""

    new: tuple[str, ...] = ()
    existing: int = 0
    corrected: int = 0
    import_id: str = ""
