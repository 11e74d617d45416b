"""System descriptions: fields stated by people, and fields from the job."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from aisbench_core.base.messages import Hint, Message
from aisbench_core.model import SYSTEM_FIELDS, Finding, Level, Stated, complete_stated
from aisbench_core.running.systems.agreement import are_contradictory

# Rules of findings about descriptions: level, and what is expected.
RULES: Mapping[str, tuple[Level, str]] = {
    "system.unknown": (Level.WARNING, "Each key is a field of the description or of the tester's configuration."),
    "system.duplicate": (Level.WARNING, "Each field is given once; of several, the first counts."),
    "system.type": (Level.ERROR, "Each value is one that its field takes."),
    "system.job": (Level.WARNING, "What is stated agrees with what the job says."),
    "system.captured": (Level.WARNING, "What is stated agrees with what was captured on the nodes."),
    "system.run-only": (Level.INFO, "What each job decides for itself is not kept for other runs."),
}

# Fields that are compared with the job, which is always right about them.
AGREEING = ("number_of_nodes", "accelerators_per_node")


def make_finding(rule: str, field: str, message: Message, hint: Hint = "") -> Finding:
    """A finding with the level of its rule."""
    return Finding(rule, RULES[rule][0], field, message, hint)


@dataclass(frozen=True, slots=True)
class SystemTemplate:
    """Identifies the description that new runs of a profile start with: on one flavor (or pool), or on any if empty."""

    profile: str
    flavor: str = ""

    def __str__(self) -> str:
        return f"@{self.profile}/{self.flavor}" if self.flavor else f"@{self.profile}"


@dataclass(frozen=True, slots=True)
class SystemValues:
    """The fields of a description by their source; stated ones take precedence."""

    stated: Stated
    from_job: Stated
    captured: Stated = field(default_factory=Stated)

    @property
    def unstated(self) -> Stated:
        """Fields captured on the nodes, and others that the job decides."""
        return complete_stated(self.captured, self.from_job)

    @property
    def merged(self) -> Stated:
        """Stated fields, and those that nobody had to state."""
        return complete_stated(self.stated, self.unstated)

    @property
    def job_fields(self) -> frozenset[str]:
        """The fields whose value is the job's."""
        return frozenset(self.from_job.values.keys() - self.stated.values.keys() - self.captured.values.keys())

    @property
    def captured_fields(self) -> frozenset[str]:
        """The fields whose value was captured."""
        return frozenset(self.captured.values.keys() - self.stated.values.keys())

    @property
    def counted(self) -> tuple[int, int]:
        """How many of the system description's fields have a value, and how many fields it has."""
        return self.merged.count, len(SYSTEM_FIELDS)

    @property
    def counted_from_job(self) -> int:
        """How many of them have the job's value, or one captured in it."""
        return len((self.job_fields | self.captured_fields) & set(SYSTEM_FIELDS))

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Differences between stated values and the job."""
        stated, actual, captured = self.stated.values, self.from_job.values, self.captured.values
        contradicted = (
            make_finding(
                "system.captured",
                name,
                Message("{stated} is stated, and {captured} was captured", stated=stated[name], captured=value),
            )
            for name, value in captured.items()
            if name in stated and are_contradictory(stated[name], value)
        )
        return (*contradicted, *self._compare_job(stated, actual))

    def _compare_job(self, stated: Mapping[str, str | int], actual: Mapping[str, str | int]) -> Iterator[Finding]:
        yield from (
            make_finding(
                "system.job",
                name,
                Message("{stated} is stated, and the job had {known}", stated=stated[name], known=actual[name]),
            )
            for name in AGREEING
            if name in stated and name in actual and stated[name] != actual[name]
        )


@dataclass(frozen=True, slots=True)
class StatedFields:
    """Field values from the upstream tool's files, and findings about them."""

    values: Mapping[str, str | int]
    findings: tuple[Finding, ...]

    @property
    def has_errors(self) -> bool:
        """Whether a field was left out because its value is invalid."""
        return any(finding.level is Level.ERROR for finding in self.findings)
