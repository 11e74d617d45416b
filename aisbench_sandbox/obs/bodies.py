"""Verifies a request's body against the length, digests and chunk signatures that its headers announce."""

import base64
import hashlib
import hmac
import re
from collections.abc import Callable, Iterable, Mapping

from aisbench_sandbox.obs.auth import Sender
from aisbench_sandbox.obs.checksums import CHECKSUMS, Digest
from aisbench_sandbox.obs.chunks import STREAMS, Chunks
from aisbench_sandbox.obs.requests import whole_number
from aisbench_sandbox.obs.storage.stored import ObjectError

# For an object and for a part (OBS API reference, PUT Object and Upload Part).
LARGEST_PUT = 5 * 1024**3
_MD5 = "content-md5"
_SHA256 = "x-amz-content-sha256"
OF_AN_OBJECT = (_MD5, *CHECKSUMS)
OF_A_DOCUMENT = (_MD5,)  # its checksum headers may refer to the object that it describes
_HEX_SHA256 = re.compile(r"[0-9a-f]{64}")
_MAKERS: Mapping[str, Callable[[], Digest]] = {
    **CHECKSUMS,
    # Python builds that follow FIPS refuse MD5 and SHA-1 unless they are declared as no security measure.
    _MD5: lambda: hashlib.md5(usedforsecurity=False),
    _SHA256: hashlib.sha256,
}


class BodyVerifier:
    """The announced digests of a body: pass every block of it to `take`, then call `check`."""

    def __init__(self, headers: Mapping[str, str], sender: Sender | None, names: Iterable[str]) -> None:
        """`names`: the headers that announce a digest of this body, if present."""
        self._expected = {name: _decode_digest(name, headers[name]) for name in names if name in headers}
        self._chunks = _open_chunks(sender)
        self._trailers = _list_trailers(headers) if self._chunks else []
        # Content-Length counts the chunks' sizes and signatures too; this header counts the object's bytes.
        self._length = whole_number(headers.get("x-amz-decoded-content-length", "")) if self._chunks else None
        _check_length(headers, self._length)
        if sender and sender.payload and not self._chunks:
            self._expected[_SHA256] = _parse_hash(sender.payload)
        self._digests: dict[str, Digest] = {name: _MAKERS[name]() for name in [*self._expected, *self._trailers]}
        self._size = 0

    def take(self, data: bytes) -> Iterable[bytes]:
        """The object's bytes in a block: all of it, or the content of its chunks."""
        for piece in self._chunks.feed(data) if self._chunks else (data,):
            self._size += len(piece)
            for digest in self._digests.values():
                digest.update(piece)
            yield piece

    def check(self) -> None:
        """BadDigest, XAmzContentSHA256Mismatch or IncompleteBody if the body is not the announced one."""
        if self._chunks:
            self._chunks.finish()
            if self._length is not None and self._size != self._length:
                raise ObjectError("IncompleteBody", "The chunks do not hold as many bytes as was promised.")
            # A trailer's value arrives after the last byte that it was computed from.
            for name in self._trailers:
                self._expected[name] = _decode_digest(name, self._chunks.trailers.get(name, ""))
        for name, promised in self._expected.items():
            if not hmac.compare_digest(self._digests[name].digest(), promised):
                # S3 has a code of its own for the hash that a v4 request signs.
                code = "XAmzContentSHA256Mismatch" if name == _SHA256 else "BadDigest"
                raise ObjectError(code, f"The {name} that was sent did not match what was received.")


def _open_chunks(sender: Sender | None) -> Chunks | None:
    if sender and sender.payload in STREAMS and sender.seed:
        return Chunks(sender.payload, sender.seed)
    return None


def _list_trailers(headers: Mapping[str, str]) -> list[str]:
    names = [name.strip().lower() for name in headers.get("x-amz-trailer", "").split(",") if name.strip()]
    # Trailers are announced in a header, so that their checksums can be computed while the body arrives.
    if unknown := [name for name in names if name not in CHECKSUMS]:
        raise ObjectError("InvalidRequest", f"A trailer is a checksum, not {unknown[0]!r}.")
    return names


def _check_length(headers: Mapping[str, str], length: int | None) -> None:
    sent = length if length is not None else whole_number(headers.get("content-length", "0"))
    # Judged by what is announced, so that nothing of a body that is too large has to be stored.
    if sent is None or sent > LARGEST_PUT:
        raise ObjectError("EntityTooLarge", "One request carries at most 5 GB; use a multipart upload.")


def _parse_hash(payload: str) -> bytes:
    if not _HEX_SHA256.fullmatch(payload):
        raise ObjectError("InvalidArgument", "x-amz-content-sha256 is a SHA-256 or one of the names for streams.")
    return bytes.fromhex(payload)


def _decode_digest(name: str, text: str) -> bytes:
    """The digest sent in base64. InvalidDigest if it has the wrong length or encoding."""
    try:
        digest = base64.b64decode(text, validate=True)
    except ValueError:  # also for non-ASCII characters
        digest = b""
    if len(digest) != len(_MAKERS[name]().digest()):
        code = "InvalidDigest" if name == _MD5 else "InvalidRequest"
        raise ObjectError(code, f"The {name} that was sent is not valid.")
    return digest
