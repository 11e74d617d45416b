"""An entry of the audit: who changed what, and the hash that ties it to the entry before."""

import hashlib
import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum

# Longer values are cut: the audit says what changed, and is no second copy of it.
MOST_LETTERS = 300


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
        values = [self.number, self.at.astimezone(UTC).isoformat(), asdict(self.act), self.previous]
        return hashlib.sha256(json.dumps(values, sort_keys=True, ensure_ascii=True).encode()).hexdigest()


def excerpt(text: str) -> str:
    """A value for the audit: on one line, and cut."""
    line = " ".join(text.split())
    return line if len(line) <= MOST_LETTERS else line[: MOST_LETTERS - 1] + "…"
