"""Signed statements about single files, such as exports and reports: who changes a byte of one is found out."""

import base64
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC
from importlib.metadata import version
from typing import IO

from aisbench_core.base.errors import AisbenchError
from aisbench_core.base.messages import Message
from aisbench_core.domain.access import permitted
from aisbench_core.domain.access.changes import note_values
from aisbench_core.exchange.evidence.checking import CheckedBundle, FindKey
from aisbench_core.model import Actor, Clock
from aisbench_core.store.signing.heads import SignedHead
from aisbench_core.store.signing.public_key import PublicKey
from aisbench_core.store.signing.service import SigningKeys
from aisbench_core.store.signing.statements import build_statement, open_envelope, sign_statement

FILE_TYPE = "urn:aisbench:file:1"


@dataclass(frozen=True, slots=True)
class FileStatements:
    """Signs what this console has just written. Threads may share it."""

    keys: SigningKeys
    sign_head: Callable[[], SignedHead]
    clock: Clock

    @permitted
    def write(self, name: str, content: IO[bytes], actor: Actor) -> str:
        """The statement about a file: an in-toto Statement in a DSSE envelope. Raises ConfigError without a key."""
        content.seek(0)
        sha256 = hashlib.file_digest(content, "sha256").hexdigest()  # type: ignore[arg-type]  # any file will do
        note_values("", sha256)
        predicate = {
            "key": str(self.keys.get_public_key()),
            "made_at": self.clock().astimezone(UTC).isoformat(timespec="seconds"),
            "made_by": actor.name,
            "made_with": f"aisbench {version('aisbench-console')}",
            "head": str(self.sign_head()),
        }
        return sign_statement(build_statement(FILE_TYPE, {name: sha256}, predicate), self.keys.sign)


def check_file(content: IO[bytes], name: str, envelope: str, find_key: FindKey) -> CheckedBundle:
    """What is wrong with a file, by the statement about it."""
    try:
        predicate = json.loads(base64.b64decode(json.loads(envelope)["payload"]))["predicate"]
        key = PublicKey.parse(predicate["key"])
        statement = json.loads(open_envelope(envelope, key) or "")
        [subject] = statement["subject"]
        signed, made_by, made_at = subject["digest"]["sha256"], str(predicate["made_by"]), str(predicate["made_at"])
    except (ValueError, LookupError, TypeError, AisbenchError, RecursionError):
        problem = Message("{file} is damaged, or signed otherwise", file="the statement")
        return CheckedBundle((problem,), "", None, "", "", {})
    content.seek(0)
    is_same = hashlib.file_digest(content, "sha256").hexdigest() == signed  # type: ignore[arg-type]  # any file will do
    problems = () if is_same else (Message("{file} differs from what was signed", file=name),)
    return CheckedBundle(problems, key.fingerprint, find_key(key.fingerprint), made_by, made_at, {})
