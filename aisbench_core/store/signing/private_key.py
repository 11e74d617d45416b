"""The file with the console's private key: PEM (PKCS #8), for its owner only, and in no backup."""

import stat
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from aisbench_core.base.errors import ConfigError
from aisbench_core.base.messages import Message
from aisbench_core.base.private_files import file_mode, is_open_to_others, require_writable, write_whole
from aisbench_core.store.signing.public_key import PublicKey, Signature


@dataclass(frozen=True, slots=True)
class PrivateKey:
    """An Ed25519 key that signs."""

    _key: Ed25519PrivateKey

    @property
    def public(self) -> PublicKey:
        """What verifies its signatures."""
        return PublicKey.of(self._key.public_key())

    def to_pem(self) -> bytes:
        """As its file holds it."""
        return self._key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())

    def sign(self, payload: bytes) -> Signature:
        """Sign a payload; the same payload has the same signature."""
        return Signature(self.public, self._key.sign(payload))


@dataclass(frozen=True, slots=True)
class KeyFile:
    """A private key's file, which may be missing."""

    path: Path

    @property
    def next(self) -> "KeyFile":
        """Where a new key lies until the ledger knows it."""
        return KeyFile(self.path.with_name(f"{self.path.stem}-next{self.path.suffix}"))

    def load(self) -> PrivateKey | None:
        """The key; None without the file. Raises ConfigError if it holds no key, or others can read it."""
        try:
            content, mode = self.path.read_bytes(), stat.S_IMODE(self.path.stat().st_mode)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise ConfigError(
                Message("the signing key {file} cannot be read: {reason}", file=self.path.name, reason=error.strerror)
            ) from error
        if is_open_to_others(self.path):
            raise ConfigError(
                Message("the signing key {file} can be read by others (mode {mode})", file=self.path.name,
                        mode=f"{mode:04o}"),
                Message("run chmod {mode:o} {file}", mode=file_mode(self.path.parent), file=self.path.name),
            )  # fmt: skip
        try:
            key = load_pem_private_key(content, None)
        except (ValueError, TypeError, UnsupportedAlgorithm):  # TypeError: it needs a password
            key = None
        if not isinstance(key, Ed25519PrivateKey):
            raise ConfigError(
                Message("{file} does not hold an Ed25519 key in PEM without a password", file=self.path.name),
                Message("copy it again from where you keep it"),
            ) from None
        return PrivateKey(key)

    def create(self) -> PrivateKey:
        """Write a new key. Raises ReadOnlyFolder and DiskError."""
        require_writable(self.path.parent)
        key = PrivateKey(Ed25519PrivateKey.generate())
        write_whole(self.path, key.to_pem())
        return key
