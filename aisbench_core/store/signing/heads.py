"""Signed heads of the audit: what is kept elsewhere proves later that nothing up to it is missing or changed."""

import logging
import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

from pydantic import Field

from aisbench_core.base.errors import AisbenchError, ConfigError, ReadOnlyFolder
from aisbench_core.base.messages import Message
from aisbench_core.domain.access import permitted
from aisbench_core.model import Actor
from aisbench_core.store.audit.audit import Audit, AuditChanged, AuditCheck, newest_entry, read_segment
from aisbench_core.store.audit.audit_heads import AuditHead
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.store.signing.public_key import PublicKey, parse_signature
from aisbench_core.store.signing.service import SigningKeys

LOG = logging.getLogger(__name__)

_LINE = re.compile(
    r"(?<![0-9A-Za-z])(?P<number>[0-9]{1,18}):(?P<hash>[0-9a-f]{64})\b"
    r"(?: (?P<at>[0-9]{4}(?:-[0-9]{2}){2}T[0-9]{2}(?::[0-9]{2}){2}Z) (?P<key>SHA256:[A-Za-z0-9+/]{43})"
    r" (?P<signature>[A-Za-z0-9+/]{86}==)(?:(?:\n|\\n)stamp (?P<stamp>[A-Za-z0-9+/]{64,90000}={0,2}))?)?"
)


@dataclass(frozen=True, slots=True)
class SignedHead:
    """The newest entry of the audit at a moment. `key`: the fingerprint of what signed it; both are empty in exports,
    and where the console cannot sign."""

    number: Annotated[int, Field(description="of the entry; entries that retention removed are counted, too")]
    hash: str
    at: datetime | None
    key: str = ""
    signature: str = ""
    stamp: Annotated[str, Field(description="RFC 3161 response about the line, in Base64; empty without one")] = ""

    def __str__(self) -> str:
        """One line: number and hash, time, key, signature; without a signature, number and hash."""
        return f"{self.entry} {_format_time(self.at)} {self.key} {self.signature}" if self.signature else self.entry

    @property
    def text(self) -> str:
        """The line and, if there is one, the time stamp's below it."""
        return f"{self}\nstamp {self.stamp}" if self.stamp else str(self)

    @property
    def entry(self) -> str:
        """Number and hash, as `aisbench audit --verify --head` takes them."""
        return f"{self.number}:{self.hash}"

    @property
    def payload(self) -> bytes:
        """What is signed."""
        return f"aisbench-head/1\nentry {self.entry}\nat {_format_time(self.at)}\n".encode()

    @classmethod
    def find_in(cls, text: str) -> "SignedHead | None":
        """The first head in a text: that of a head file, a CSV or a report."""
        found = _LINE.search(text)
        if not found:
            return None
        at = datetime.fromisoformat(found["at"]) if found["at"] else None
        rest = (found[name] or "" for name in ("key", "signature", "stamp"))
        return cls(int(found["number"]), found["hash"], at, *rest)


@dataclass(frozen=True, slots=True)
class CheckedHead:
    """A head that the audit continues, and the audit as it is now."""

    head: SignedHead
    audit: AuditCheck


class Heads:
    """Signs the head of the audit, and checks heads that were kept elsewhere."""

    def __init__(self, ledger: Ledger, audit: Audit, keys: SigningKeys) -> None:
        self._ledger, self._audit, self._keys = ledger, audit, keys

    def sign(self) -> SignedHead:
        """The head as it is now; making the key is the first entry. Raises as `SigningKeys.sign` does."""
        self._keys.get_public_key()
        head = self._find()
        signature = self._keys.sign(head.payload)
        return SignedHead(head.number, head.hash, head.at, signature.key.fingerprint, signature.text)

    def attach(self) -> SignedHead | None:
        """The same for what is written now, which no missing key keeps from being written: then without a signature.

        None while the audit is empty, or cannot be read."""
        try:
            return self.sign()
        except AisbenchError as error:
            if not isinstance(error, ReadOnlyFolder):
                LOG.warning("the head of the audit is not signed: %s", error)
        try:
            return self._find()
        except AisbenchError:
            return None

    def find_entry(self) -> str:
        """Number and hash, without a signature; empty while the audit is empty, or cannot be read."""
        try:
            return self._find().entry
        except AisbenchError:
            return ""

    def read_segment(self, head: SignedHead, objects: Collection[str]) -> dict[str, object]:
        """The entries about these objects up to a head, and the hashes of those between. Raises AuditChanged."""
        with self._ledger.snapshot() as con:
            return {"head": head.text, **read_segment(con, objects, head.number)}

    @permitted
    def check(self, head: SignedHead, actor: Actor) -> CheckedHead:
        """Prove that the audit continues from a head, and who signed it.

        Raises AuditChanged, naming what was changed or is missing, or ConfigError for the head of another console."""
        if head.signature:
            self._require_signature(head)
        return CheckedHead(head, self._audit.verify(actor, AuditHead(head.number, head.hash, head.at)))

    def _require_signature(self, head: SignedHead) -> None:
        key = self._keys.find(head.key)
        if key is None or not key.is_ours:
            owner = Message("of {name}", name=key.owner) if key else Message("unknown")
            raise ConfigError(
                Message("the head is signed with {key}, which is no key of this console ({owner})", key=head.key,
                        owner=owner),
                Message("check it on the console that signed it"),
            )  # fmt: skip
        signature = parse_signature(PublicKey.parse(key.public_key), head.signature)
        if signature is None or not signature.verifies(head.payload):
            raise AuditChanged(
                Message("the head {number} was changed: its signature does not fit", number=head.number),
                Message("use the head as it was printed"),
            )

    def _find(self) -> SignedHead:
        with self._ledger.connection() as con:
            newest = newest_entry(con)
        if newest is None:
            raise ConfigError(Message("the audit is empty"))
        at = newest.at.replace(microsecond=0) if newest.at else None  # as a line says it
        return SignedHead(newest.number, newest.hash, at)


def _format_time(at: datetime | None) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}" if at else ""
