"""What the nodes of a job were, as captured on each before its first step."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import TypeAdapter, ValidationError

from aisbench_core.model.spec import canonical_json

# Of a fact's name, before the first dot: what decides speed most comes first.
PASSPORT_GROUPS = ("config", "setting", "argument", "accelerator", "software", "environment", "host", "package")

# Arguments that say how a training is cut into pieces, and in which numbers it computes.
_SPEED = re.compile(
    r"batch|precision|dtype|(^|[_.-])(bf16|fp16|fp8|fp32|amp|tp|pp|cp|ep|dp|zero)([_.-]|$)"
    r"|(tensor|pipeline|context|expert|data|sequence|model)[_-]{0,2}(model[_-])?parallel|accumulat|seq(uence)?[_-]?len"
    r"|recomput",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class NodeDifference:
    """A fact in which a node differs from the others of its run; a value is empty where there is none."""

    node: int
    """Number of the node, from 0."""
    host: str
    """Its host's name or address; empty if unknown."""
    name: str
    """The fact."""
    value: str
    """What it is on this node."""
    usual: str
    """What it is on most nodes."""


@dataclass(frozen=True, slots=True)
class Passport:
    """What was captured on the nodes of a run."""

    nodes: int
    """On how many nodes."""
    expected: int
    """How many the run had."""
    facts: Mapping[str, str] = field(default_factory=dict)
    """What most of them have in common, by `<group>.<name>`."""
    differences: tuple[NodeDifference, ...] = ()
    """Where others differ."""

    @property
    def differing_nodes(self) -> tuple[int, ...]:
        """The nodes that differ from the others."""
        return tuple(sorted({one.node for one in self.differences}))

    @property
    def text(self) -> str:
        """As canonical JSON, with the differing nodes separated by `;`."""
        differing = ";".join(map(str, self.differing_nodes))
        return canonical_json({**_PASSPORT.dump_python(self, mode="json"), "differing": differing})

    @property
    def speed(self) -> Mapping[str, str]:
        """What it adds to that which decides what is measured: configuration files, and arguments about batches,
        precision and parallelism that no spec has."""
        return {name: value for name, value in self.facts.items() if _decides_speed(name)}


def passport_of(text: str | None) -> Passport | None:
    """The inverse of `text`; None where there is none, or where it is damaged."""
    try:
        return _PASSPORT.validate_json(text) if text else None
    except ValidationError:
        return None


def names_speed(name: str) -> bool:
    """Whether a setting of this name is about batches, precision or parallelism."""
    return _SPEED.search(name) is not None


def _decides_speed(name: str) -> bool:
    group, _, rest = name.partition(".")
    return group == "config" or (group == "argument" and names_speed(rest))


_PASSPORT = TypeAdapter(Passport)
