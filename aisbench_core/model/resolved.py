"""What the names in a spec stood for when its job was created: paths that it reads, tags of images, algorithms."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import TypeAdapter, ValidationError

from aisbench_core.base.messages import Message
from aisbench_core.base.messages.stored import from_json, to_json
from aisbench_core.model.spec import canonical_json


@dataclass(frozen=True, slots=True)
class ResolvedContent:
    """What was behind a name: SHA-256 (hex) of it, its bytes, and the number of objects where it is a directory.

    Without a hash, `reason` says why it is not known."""

    sha256: str = ""
    objects: int = 0
    size: int = 0
    reason: str = ""
    reason_data: str = ""

    @classmethod
    def unknown(cls, reason: Message) -> "ResolvedContent":
        """What could not be found out."""
        return cls(reason=str(reason), reason_data=to_json(reason))

    @property
    def why_unknown(self) -> str:
        """The reason as a Message; empty where it is known."""
        return from_json(self.reason, self.reason_data)


@dataclass(frozen=True, slots=True)
class Resolved:
    """`inputs`: the list of the objects of each input, by the channel's name. `files`: configuration files outside of
    the code, by the parameter that names them. `code`: of an algorithm, with how it is started. `image`: the digest
    behind a tag. What is not set is in no hash and no JSON of a run."""

    inputs: Mapping[str, ResolvedContent] = field(default_factory=dict)
    files: Mapping[str, ResolvedContent] = field(default_factory=dict)
    code: ResolvedContent | None = None
    image: ResolvedContent | None = None

    @property
    def text(self) -> str:
        """What is set, as canonical JSON."""
        return canonical_json(_RESOLVED.dump_python(self, mode="json", exclude_defaults=True))

    @property
    def input_hashes(self) -> Mapping[str, str]:
        """The hash of each input whose data is known."""
        return _get_hashes(self.inputs)

    @property
    def file_hashes(self) -> Mapping[str, str]:
        """The hash of each configuration file whose content is known."""
        return _get_hashes(self.files)

    @property
    def digest(self) -> str:
        """What the tag of the image named, as `sha256:<hex>`; empty where that is not known or nothing was asked."""
        return f"sha256:{self.image.sha256}" if self.image and self.image.sha256 else ""


def _get_hashes(contents: Mapping[str, ResolvedContent]) -> Mapping[str, str]:
    return {name: one.sha256 for name, one in contents.items() if one.sha256}


_RESOLVED = TypeAdapter(Resolved)

NOTHING_RESOLVED = Resolved()


def resolved_of(text: str | None) -> Resolved:
    """The inverse of `text`; nothing where there is none, as of runs of earlier versions, or where it is damaged."""
    try:
        return _RESOLVED.validate_json(text) if text else NOTHING_RESOLVED
    except ValidationError:
        return NOTHING_RESOLVED
