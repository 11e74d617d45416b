"""Public Ed25519 keys, as OpenSSH writes them, and what they signed."""

import base64
import binascii
import hashlib
import re
from dataclasses import dataclass
from typing import Self

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_public_key,
    load_ssh_public_key,
)

from aisbench_core.base.errors import ConfigError
from aisbench_core.base.messages import Message

FINGERPRINT = re.compile(r"SHA256:[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]")
"""As `ssh-keygen -l` prints it; the last of 43 digits in Base64 holds four bits only."""

_PEM = "-----BEGIN"


@dataclass(frozen=True, slots=True)
class PublicKey:
    """An Ed25519 key, of 32 bytes."""

    raw: bytes

    @classmethod
    def parse(cls, text: str) -> Self:
        """A key in OpenSSH's format (`ssh-ed25519 AAAA… comment`) or as PEM. Raises ConfigError."""
        content = text.strip().encode()
        try:
            key = load_pem_public_key(content) if text.lstrip().startswith(_PEM) else load_ssh_public_key(content)
        except (ValueError, UnsupportedAlgorithm):
            key = None
        if not isinstance(key, Ed25519PublicKey):
            raise ConfigError(
                Message("this is not a public Ed25519 key"),
                Message("expected a line `ssh-ed25519 AAAA…`, as `aisbench evidence keys --public` prints it, or PEM"),
            )
        return cls.of(key)

    @classmethod
    def of(cls, key: Ed25519PublicKey) -> Self:
        """The key of the library."""
        return cls(key.public_bytes(Encoding.Raw, PublicFormat.Raw))

    def __str__(self) -> str:
        """The line of OpenSSH, without a comment."""
        return f"ssh-ed25519 {base64.b64encode(self._wire).decode()}"

    @property
    def fingerprint(self) -> str:
        """As `ssh-keygen -l` prints it."""
        return f"SHA256:{base64.b64encode(hashlib.sha256(self._wire).digest()).decode().rstrip('=')}"

    @property
    def _wire(self) -> bytes:
        """Name and key, each after its length (RFC 8709)."""
        return b"".join(len(part).to_bytes(4) + part for part in (b"ssh-ed25519", self.raw))

    def verifies(self, payload: bytes, signature: bytes) -> bool:
        """Whether its private key signed the payload."""
        try:
            Ed25519PublicKey.from_public_bytes(self.raw).verify(signature, payload)
        except InvalidSignature:
            return False
        return True


@dataclass(frozen=True, slots=True)
class Signature:
    """What a key made of a payload: 64 bytes."""

    key: PublicKey
    content: bytes

    @property
    def text(self) -> str:
        """In Base64."""
        return base64.b64encode(self.content).decode()

    def verifies(self, payload: bytes) -> bool:
        """Whether it is of this payload."""
        return self.key.verifies(payload, self.content)


def parse_signature(key: PublicKey, text: str) -> Signature | None:
    """A signature in Base64, in the one form that encodes it; None for anything else."""
    try:
        content = base64.b64decode(text, validate=True)
    except (ValueError, binascii.Error):
        return None
    signature = Signature(key, content)
    return signature if len(content) == 64 and signature.text == text else None
