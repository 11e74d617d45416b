"""Checks bundles for this console: what `verify.py` finds, in both languages, and whose key signed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from aisbench_core.base.errors import ResultError
from aisbench_core.base.messages import Message, message_of
from aisbench_core.base.messages.file_names import readable_name
from aisbench_core.base.messages.stored import from_data
from aisbench_core.exchange.evidence import verify
from aisbench_core.store.signing.ledger import KnownKey

_DIRECTORY = 8 * 1024 * 1024  # bytes of the longest zip directory, at the end


FindKey = Callable[[str], KnownKey | None]
"""The known key with a fingerprint."""


@dataclass(frozen=True, slots=True)
class CheckedBundle:
    """What a bundle holds, and what is wrong with it.

    `signer`: the known key that signed it, and None for a key that nobody here has trusted. `made_by`: who made it, as
    it says itself."""

    problems: tuple[Message, ...]
    fingerprint: str
    signer: KnownKey | None
    made_by: str
    made_at: str
    files: Mapping[str, bytes]

    @property
    def is_trusted(self) -> bool:
        """Whether everything is as a trusted console, or this one, signed it."""
        return not self.problems and self.signer is not None and (self.signer.is_ours or self.signer.is_active)

    @property
    def run_ids(self) -> list[str]:
        """Its runs."""
        return sorted({name.split("/")[1] for name in self.files if name.startswith("runs/") and name.count("/") > 1})


def check_content(content: BinaryIO, name: str, find_key: FindKey) -> CheckedBundle:
    """Check a bundle; `name`: of the file. Raises ResultError if it is too large for one, or none at all."""
    content.seek(0)
    data = content.read(verify.LARGEST + 1)
    if len(data) > verify.LARGEST:
        raise ResultError(Message("{file} is larger than a bundle can be", file=name))
    if not data.startswith(b"PK\3\4") and verify.ENVELOPE.encode() not in data[-_DIRECTORY:]:
        raise ResultError(
            Message("{path} is not a bundle of evidence", path=name),
            Message("other files have a statement of their own: aisbench verify FILE --statement STATEMENT"),
        )
    problems, fingerprint, predicate, files = verify.check_bundle(data)
    return CheckedBundle(
        problems=tuple(map(_to_message, problems)),
        fingerprint=fingerprint,
        signer=find_key(fingerprint) if fingerprint else None,
        made_by=_to_text(predicate.get("made_by", "")),
        made_at=_to_text(predicate.get("made_at", "")),
        files=files,
    )


def is_bundle(file: Path) -> bool:
    """Whether a file is a bundle, or was one before somebody changed it."""
    if not file.is_file():
        return False
    with file.open("rb") as content:
        start = content.read(4)
        content.seek(max(file.stat().st_size - _DIRECTORY, 0))
        return start == b"PK\3\4" and verify.ENVELOPE.encode() in content.read()


def _to_message(found: verify.Mismatch) -> Message:
    values = {name: _to_text(value) for name, value in found.values.items()}
    return message_of(from_data(found.template.format(**values), {"id": found.template, "values": values}))


def _to_text(value: object) -> str:
    text = readable_name(str(value))[:200]
    return text if text.isprintable() else ascii(text)[1:-1]
