"""Signed statements about files: in-toto Statement v1 in a DSSE envelope, which other tools verify as well."""

import base64
import json
from collections.abc import Callable, Mapping

from aisbench_core.model import canonical_json
from aisbench_core.store.signing.public_key import PublicKey, Signature, parse_signature

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PAYLOAD_TYPE = "application/vnd.in-toto+json"


def build_statement(kind: str, files: Mapping[str, str], predicate: Mapping[str, object]) -> bytes:
    """A statement about files by name, given their SHA-256; `kind`: the type of what is stated."""
    subject = [{"name": name, "digest": {"sha256": sha256}} for name, sha256 in sorted(files.items())]
    content = {"_type": STATEMENT_TYPE, "subject": subject, "predicateType": kind, "predicate": predicate}
    return canonical_json(content).encode()


def sign_statement(statement: bytes, sign: Callable[[bytes], Signature]) -> str:
    """The envelope, in canonical JSON."""
    signature = sign(_to_signed(statement))
    signatures = [{"keyid": signature.key.fingerprint, "sig": signature.text}]
    payload = base64.b64encode(statement).decode()
    return canonical_json({"payload": payload, "payloadType": PAYLOAD_TYPE, "signatures": signatures})


def open_envelope(envelope: str, key: PublicKey) -> bytes | None:
    """The statement, if this key signed it and not one bit of the envelope is another."""
    try:
        found = json.loads(envelope)
        statement = base64.b64decode(found["payload"], validate=True)
        [signed] = found["signatures"]
        signature = parse_signature(key, signed["sig"])
        if signature is None or not signature.verifies(_to_signed(statement)):
            return None
    except (ValueError, TypeError, KeyError):
        return None
    return statement if sign_statement(statement, lambda _: signature) == envelope else None


def _to_signed(statement: bytes) -> bytes:
    """What is signed (DSSE's PAE)."""
    kind = PAYLOAD_TYPE.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(statement), statement)
