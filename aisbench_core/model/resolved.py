"""What the names in a spec stood for when its job was created: what was behind the paths that it reads."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import TypeAdapter, ValidationError

from aisbench_core.messages import from_json
from aisbench_core.model.spec import canonical_json


@dataclass(frozen=True, slots=True)
class ResolvedInput:
    """The objects of an input, as OBS listed them: how many, their bytes, and SHA-256 (hex) over the list.

    Without a hash, `reason` says why its data is not known."""

    sha256: str = ""
    objects: int = 0
    size: int = 0
    reason: str = ""
    reason_data: str = ""

    @property
    def why_unknown(self) -> str:
        """The reason as a Message; empty where the data is known."""
        return from_json(self.reason, self.reason_data)


@dataclass(frozen=True, slots=True)
class Resolved:
    """`inputs`: by the name of the channel. What is not set is in no hash and no JSON of a run."""

    inputs: Mapping[str, ResolvedInput] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """What is set, as canonical JSON."""
        return canonical_json(_RESOLVED.dump_python(self, mode="json", exclude_defaults=True))

    @property
    def input_hashes(self) -> Mapping[str, str]:
        """The hash of each input whose data is known."""
        return {name: one.sha256 for name, one in self.inputs.items() if one.sha256}


_RESOLVED = TypeAdapter(Resolved)

NOTHING_RESOLVED = Resolved()


def resolved_of(text: str | None) -> Resolved:
    """The inverse of `text`; nothing where there is none, as of runs of earlier versions, or where it is damaged."""
    try:
        return _RESOLVED.validate_json(text) if text else NOTHING_RESOLVED
    except ValidationError:
        return NOTHING_RESOLVED
