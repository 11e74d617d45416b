"""What fields of a spec mean beyond their types: each is declared once, and everything that treats fields follows."""

from dataclasses import KW_ONLY, dataclass
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


class FormGroup(StrEnum):
    """Where the form shows a field; one without a widget is changed in the YAML view."""

    OWN = "own"
    PLACEMENT = "placement"
    LABELS = "labels"
    CONTAINER = "container"
    LIMITS = "limits"
    RECOVERY = "recovery"
    YAML = "yaml"


@dataclass(frozen=True, slots=True)
class SpecField:
    """Stands beside a field of RunSpec; what it leaves out is so for a field that has none, too.

    `why`: the reason for a role other than DECIDES. `reproduced`: whether a reproduction is compared in it; by default
    unless it is HARMLESS. `of_workload`: dropped from a draft when another workload is picked. `of_algorithm`: an
    algorithm of ModelArts decides it. `upstream`: its key in modelarts_config.py; empty: written there in another way;
    None: the file cannot say it. `group`: of a field with several values YAML, unless that says otherwise."""

    role: SpecRole = SpecRole.DECIDES
    why: str = ""
    _: KW_ONLY
    reproduced: bool | None = None
    of_workload: bool = False
    of_algorithm: bool = False
    upstream: str | None = None
    group: FormGroup = FormGroup.CONTAINER

    @property
    def is_reproduced(self) -> bool:
        """Whether the specs of a run and its reproduction are compared in it."""
        return self.role is not SpecRole.HARMLESS if self.reproduced is None else self.reproduced


COMPARED_ALONG = (SpecRole.COMPARED_ALONG, "hardware and software are what a benchmark compares")
OF_QUEUE = (SpecRole.DESCRIBES, "decides when the job runs, not how fast")
OF_RECOVERY = (SpecRole.DESCRIBES, "what happens after a failure; a result is of one attempt")
LIMIT = (SpecRole.HARMLESS, "ends a job, and changes nothing before that")
LABEL = (SpecRole.HARMLESS, "a text for people")
