"""What a request says about its body (length, digests), and whether the bytes that came keep that promise."""

import base64
import hashlib
import hmac
import re
import zlib
from collections.abc import Callable, Mapping
from typing import Protocol

from aisbench_core.sandbox.objects import ObjectError

LARGEST_PUT = 5 * 1024**3
_SHA256 = re.compile(r"[0-9a-f]{64}")


class _Digest(Protocol):
    def update(self, data: bytes, /) -> None: ...
    def digest(self) -> bytes: ...


class _Crc32:
    def __init__(self) -> None:
        self._value = 0

    def update(self, data: bytes, /) -> None:
        self._value = zlib.crc32(data, self._value)

    def digest(self) -> bytes:
        return self._value.to_bytes(4, "big")


_DIGESTS: Mapping[str, Callable[[], _Digest]] = {
    "content-md5": lambda: hashlib.md5(usedforsecurity=False),
    "x-amz-checksum-crc32": _Crc32,
    "x-amz-checksum-sha1": lambda: hashlib.sha1(usedforsecurity=False),
    "x-amz-checksum-sha256": hashlib.sha256,
}


class Promises:
    """The digests that were promised for a body; `update` with every block, then `check`."""

    def __init__(self, headers: Mapping[str, str], body_sha256: str) -> None:
        _check_transfer(headers)
        self._promised = {name: _decoded(headers[name]) for name in _DIGESTS if name in headers}
        self._digests = {name: _DIGESTS[name]() for name in self._promised}
        if body_sha256:
            if not _SHA256.fullmatch(body_sha256):
                raise ObjectError("NotImplemented", f"A body hash {body_sha256!r} is not understood here.")
            self._promised["x-amz-content-sha256"] = bytes.fromhex(body_sha256)
            self._digests["x-amz-content-sha256"] = hashlib.sha256()

    def update(self, data: bytes) -> None:
        for digest in self._digests.values():
            digest.update(data)

    def check(self) -> None:
        """BadDigest or XAmzContentSHA256Mismatch when the body is not the one that was promised."""
        for name, promised in self._promised.items():
            if not hmac.compare_digest(self._digests[name].digest(), promised):
                code = "XAmzContentSHA256Mismatch" if name == "x-amz-content-sha256" else "BadDigest"
                raise ObjectError(code, f"The {name} that was sent did not match what was received.")


def _check_transfer(headers: Mapping[str, str]) -> None:
    length = headers.get("content-length", "0")
    if length.isdigit() and int(length) > LARGEST_PUT:
        raise ObjectError("EntityTooLarge", "One request carries at most 5 GB; use a multipart upload.")
    unknown = [name for name in headers if name.startswith("x-amz-checksum-crc") and name not in _DIGESTS]
    if "aws-chunked" in headers.get("content-encoding", "") or "x-amz-trailer" in headers or unknown:
        message = "Bodies with a signature per chunk, trailing checksums, CRC-32C and CRC-64 are not understood here."
        raise ObjectError("NotImplemented", message)


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError as error:
        raise ObjectError("InvalidDigest", "The digest that was sent is not base64.") from error
