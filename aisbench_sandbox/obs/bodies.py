"""What a request says about its body (length, digests, chunks), and whether the bytes that came keep that promise."""

import base64
import hashlib
import hmac
import re
from collections.abc import Callable, Iterable, Mapping

from aisbench_sandbox.obs.auth import Sender
from aisbench_sandbox.obs.checksums import CHECKSUMS, Digest
from aisbench_sandbox.obs.chunks import STREAMS, Chunks
from aisbench_sandbox.obs.objects import ObjectError
from aisbench_sandbox.obs.requests import whole_number

LARGEST_PUT = 5 * 1024**3
_MD5 = "content-md5"
_SHA256 = "x-amz-content-sha256"
_HEX_SHA256 = re.compile(r"[0-9a-f]{64}")
_MAKERS: Mapping[str, Callable[[], Digest]] = {
    **CHECKSUMS,
    _MD5: lambda: hashlib.md5(usedforsecurity=False),
    _SHA256: hashlib.sha256,
}


class BodyVerifier:
    """The digests that were promised for a body: `take` every block of it, then `check`."""

    def __init__(self, headers: Mapping[str, str], sender: Sender | None, names: Iterable[str]) -> None:
        """`names`: the headers that promise something for this body, among those that were sent."""
        self._expected = {name: _decoded(name, headers[name]) for name in names if name in headers}
        self._chunks = _chunks(sender)
        self._trailers = _announced(headers) if self._chunks else []
        self._length = whole_number(headers.get("x-amz-decoded-content-length", "")) if self._chunks else None
        _check_length(headers, self._length)
        if sender and sender.payload and not self._chunks:
            self._expected[_SHA256] = _hash(sender.payload)
        self._digests: dict[str, Digest] = {name: _MAKERS[name]() for name in [*self._expected, *self._trailers]}
        self._size = 0

    def take(self, data: bytes) -> Iterable[bytes]:
        """The object's bytes in what came: all of it, or what the chunks hold."""
        for piece in self._chunks.feed(data) if self._chunks else (data,):
            self._size += len(piece)
            for digest in self._digests.values():
                digest.update(piece)
            yield piece

    def check(self) -> None:
        """BadDigest, XAmzContentSHA256Mismatch or IncompleteBody when the body is not the one that was promised."""
        if self._chunks:
            self._chunks.finish()
            if self._length is not None and self._size != self._length:
                raise ObjectError("IncompleteBody", "The chunks do not hold as many bytes as was promised.")
            for name in self._trailers:
                self._expected[name] = _decoded(name, self._chunks.trailers.get(name, ""))
        for name, promised in self._expected.items():
            if not hmac.compare_digest(self._digests[name].digest(), promised):
                code = "XAmzContentSHA256Mismatch" if name == _SHA256 else "BadDigest"
                raise ObjectError(code, f"The {name} that was sent did not match what was received.")


OF_AN_OBJECT = (_MD5, *CHECKSUMS)
OF_A_DOCUMENT = (_MD5,)  # its checksum headers may speak of the object that it is about


def _chunks(sender: Sender | None) -> Chunks | None:
    if sender and sender.payload in STREAMS and sender.seed:
        return Chunks(sender.payload, sender.seed)
    return None


def _announced(headers: Mapping[str, str]) -> list[str]:
    names = [name.strip().lower() for name in headers.get("x-amz-trailer", "").split(",") if name.strip()]
    if unknown := [name for name in names if name not in CHECKSUMS]:
        raise ObjectError("InvalidRequest", f"A trailer is a checksum, not {unknown[0]!r}.")
    return names


def _check_length(headers: Mapping[str, str], length: int | None) -> None:
    sent = length if length is not None else whole_number(headers.get("content-length", "0"))
    if sent is None or sent > LARGEST_PUT:
        raise ObjectError("EntityTooLarge", "One request carries at most 5 GB; use a multipart upload.")


def _hash(payload: str) -> bytes:
    if not _HEX_SHA256.fullmatch(payload):
        raise ObjectError("InvalidArgument", "x-amz-content-sha256 is a SHA-256 or one of the names for streams.")
    return bytes.fromhex(payload)


def _decoded(name: str, text: str) -> bytes:
    """The digest that was sent in base64. InvalidDigest when it cannot be one of its kind."""
    try:
        digest = base64.b64decode(text, validate=True)
    except ValueError:  # also for letters that are no ASCII
        digest = b""
    if len(digest) != len(_MAKERS[name]().digest()):
        code = "InvalidDigest" if name == _MD5 else "InvalidRequest"
        raise ObjectError(code, f"The {name} that was sent is not valid.")
    return digest
