"""What fields of a spec mean for comparing runs; each field is declared with one, or decides speed."""

from dataclasses import dataclass
from enum import StrEnum


class SpecRole(StrEnum):
    """What a field of a spec means for comparing runs."""

    # Runs that differ in it are of two benchmark configurations: it enters the fingerprint.
    DECIDES = "decides speed"

    # Runs that differ in it are two rows of one benchmark: people compare along it.
    COMPARED_ALONG = "compared along"

    # A comparison lists it; it splits no row.
    DESCRIBES = "describes"

    # Neither changes a result nor explains one.
    HARMLESS = "harmless"


@dataclass(frozen=True, slots=True)
class SpecField:
    """Stands beside a field of RunSpec that does not decide speed, and says why."""

    role: SpecRole
    why: str


COMPARED_ALONG = SpecField(SpecRole.COMPARED_ALONG, "hardware and software are what a benchmark compares")
OF_QUEUE = SpecField(SpecRole.DESCRIBES, "decides when the job runs, not how fast")
OF_RECOVERY = SpecField(SpecRole.DESCRIBES, "what happens after a failure; a result is of one attempt")
LIMIT = SpecField(SpecRole.HARMLESS, "ends a job, and changes nothing before that")
LABEL = SpecField(SpecRole.HARMLESS, "a text for people")
