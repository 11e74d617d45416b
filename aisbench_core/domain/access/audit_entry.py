"""An entry of the audit: who changed what, and the hash that ties it to the entry before."""

import hashlib
import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from unicodedata import category

# Longer values are cut: the audit says what changed, and is no second copy of it.
MOST_LETTERS = 300

INSTEAD = "\N{REPLACEMENT CHARACTER}"
_NO_TEXT = ("Cc", "Cs")  # control characters, and halves of characters


class ActOutcome(StrEnum):
    """How a change ended."""

    DONE = "done"
    REFUSED = "refused"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Act:
    """One change, or a try at one. `object`: the id or name of what was changed; `detail`: what it says of itself, or
    why it failed; `before` and `after` are empty where they are not known."""

    who: str
    role: str
    via: str
    change: str
    object: str
    outcome: ActOutcome
    before: str = ""
    after: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """A stored act. `hash` covers it and `previous`, the hash of the entry before; the first one has an empty one."""

    number: int
    at: datetime
    act: Act
    previous: str
    hash: str = ""

    def expected_hash(self) -> str:
        """The SHA-256 that it has if nobody changed it."""
        return self._hash_of(asdict(self.act))

    @property
    def is_intact(self) -> bool:
        """Whether nobody changed it.

        Earlier versions hashed a NUL, in place of which PostgreSQL stores what `excerpt` now puts there itself."""
        return self.hash == self.expected_hash() or self.hash == self._hash_of(
            {name: text.replace(INSTEAD, "\0") for name, text in asdict(self.act).items()}
        )

    def _hash_of(self, act: dict[str, str]) -> str:
        values = [self.number, self.at.astimezone(UTC).isoformat(), act, self.previous]
        return hashlib.sha256(json.dumps(values, sort_keys=True, ensure_ascii=True).encode()).hexdigest()


def clip_audit_text(text: str) -> str:
    """A value for the audit: on one line, cut, and without characters that not every database stores."""
    line = " ".join(text.split())
    cut = line if len(line) <= MOST_LETTERS else line[: MOST_LETTERS - 1] + "…"
    return "".join(INSTEAD if category(letter) in _NO_TEXT else letter for letter in cut)
