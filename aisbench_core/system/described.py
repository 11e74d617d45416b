"""What is known of a system and a test: stated by people, or said by the job."""

from collections.abc import Mapping
from dataclasses import dataclass

from aisbench_core.messages import Hint, Message
from aisbench_core.model import SYSTEM_FIELDS, Finding, Level, Stated, completed

RULES: Mapping[str, tuple[Level, str]] = {
    "system.unknown": (Level.WARNING, "Each key is a field of the description or of the tester's configuration."),
    "system.duplicate": (Level.WARNING, "Each field is given once; of several, the first counts."),
    "system.type": (Level.ERROR, "Each value is one that its field takes."),
    "system.job": (Level.WARNING, "What is stated agrees with what the job says."),
    "system.run-only": (Level.INFO, "What each job decides for itself is not kept for other runs."),
}
"""Everything that may be said about a description: how grave it is, and what is expected."""

AGREEING = ("number_of_nodes", "accelerators_per_node")
"""Fields in which the job cannot be wrong."""


def finding(rule: str, field: str, message: Message, hint: Hint = "") -> Finding:
    """A finding of one of the rules above."""
    return Finding(rule, RULES[rule][0], field, message, hint)


def _disagreement(stated: str | int, known: str | int) -> Message:
    return Message("{stated} is stated, and the job had {known}", stated=stated, known=known)


@dataclass(frozen=True, slots=True)
class Kept:
    """Names the description that new runs of a profile take over; of one flavor (or pool), or of any if it is empty."""

    profile: str
    flavor: str = ""

    def __str__(self) -> str:
        return f"@{self.profile}/{self.flavor}" if self.flavor else f"@{self.profile}"


@dataclass(frozen=True, slots=True)
class Described:
    """A description as it stands: `stated` by people, `known` from the job; what is stated goes before."""

    stated: Stated
    known: Stated

    @property
    def whole(self) -> Stated:
        """What a report shows."""
        return completed(self.stated, self.known)

    @property
    def from_job(self) -> frozenset[str]:
        """The fields whose value nobody stated: the job says it."""
        return frozenset(self.known.values.keys() - self.stated.values.keys())

    @property
    def counted(self) -> tuple[int, int]:
        """How many fields of the system description have a value, and how many there are."""
        return self.whole.count, len(SYSTEM_FIELDS)

    @property
    def counted_from_job(self) -> int:
        """How many of the fields with a value the job says."""
        return len(self.from_job & set(SYSTEM_FIELDS))

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Where the statement and the job disagree."""
        stated, known = self.stated.values, self.known.values
        return tuple(
            finding("system.job", name, _disagreement(stated[name], known[name]))
            for name in AGREEING
            if name in stated and name in known and stated[name] != known[name]
        )


@dataclass(frozen=True, slots=True)
class StatedFields:
    """What files of the upstream tool state, by field, and what may be said about them."""

    values: Mapping[str, str | int]
    findings: tuple[Finding, ...]

    @property
    def has_errors(self) -> bool:
        """Whether a field was left out because its value cannot be used."""
        return any(each.level is Level.ERROR for each in self.findings)
