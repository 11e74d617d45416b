"""Decodes bodies that v4 clients send in signed chunks (`aws-chunked`), with checksums in trailers."""

# A chunk is `<size in hex>[;chunk-signature=<hex>]`, CRLF, the bytes, CRLF; one of size 0 is the last, and trailers
# follow it. Each signature covers the one before it, so chunks cannot be omitted, added or reordered.

import hmac
import re
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256

from aisbench_sandbox.obs.storage.stored import ObjectError

UNSIGNED_TRAILER = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
SIGNED_TRAILER = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER"
STREAMS = ("STREAMING-AWS4-HMAC-SHA256-PAYLOAD", SIGNED_TRAILER, UNSIGNED_TRAILER)

# 10 hex digits are more than the 5 GB that one request may carry needs.
_HEAD = re.compile(rb"([0-9a-fA-F]{1,10})(?:;chunk-signature=([0-9a-f]{64}))?")
# A body without a line feed must not be buffered as a whole.
_MAX_LINE = 4096
# AWS fixes this line of a chunk's signed text: the hash of nothing, where other requests have their headers.
_NOTHING = sha256(b"").hexdigest()
_TRAILER_SIGNATURE = "x-amz-trailer-signature"


@dataclass(frozen=True, slots=True)
class Seed:
    """What the first chunk's signature continues: the request's own signature, and what that was made with."""

    key: bytes
    stamp: str
    scope: str
    signature: str


class Chunks:
    """Takes the body in pieces, returns the object's bytes, and checks every signature."""

    def __init__(self, kind: str, seed: Seed) -> None:
        self._signed = kind != UNSIGNED_TRAILER
        self._signed_trailer = kind == SIGNED_TRAILER
        self._seed = seed
        self._previous = seed.signature
        self._claimed = ""
        self._waiting = bytearray()
        self._left = -1  # missing bytes of the current chunk; -1: its first line is not complete
        self._hash = sha256()
        self._ended = False
        self.trailers: dict[str, str] = {}

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The object's bytes in these and in the buffered ones."""
        self._waiting += data
        while not self._ended:
            if self._left > 0:
                piece = bytes(self._waiting[: self._left])
                if not piece:
                    return
                del self._waiting[: len(piece)]
                self._left -= len(piece)
                self._hash.update(piece)
                # Handed on before its chunk's signature is complete: the caller only stages it, and drops it if
                # `finish` raises.
                yield piece
            elif not self._read_step():
                return

    def finish(self) -> None:
        """IncompleteBody, MalformedTrailerError or SignatureDoesNotMatch if the last chunk or a trailer is wrong."""
        if not self._ended:
            raise ObjectError("IncompleteBody", "The last chunk of the body is missing.")
        # Trailers are sent with CRLF, but signed with LF.
        lines = bytes(self._waiting).decode("latin-1").replace("\r", "").split("\n")
        for name, colon, value in (line.partition(":") for line in lines if line):
            if not colon:
                raise ObjectError("MalformedTrailerError", "The body is followed by something else than trailers.")
            self.trailers[name.strip().lower()] = value.strip()
        # The signature itself is sent as a trailer and not signed.
        signature = self.trailers.pop(_TRAILER_SIGNATURE, "")
        if self._signed_trailer:
            text = "".join(f"{name}:{value}\n" for name, value in self.trailers.items())
            hashed = sha256(text.encode()).hexdigest()
            self._check_signature("\n".join(["AWS4-HMAC-SHA256-TRAILER", *self._get_chain(), hashed]), signature)

    def _read_step(self) -> bool:
        """Read the end of a chunk or the first line of the next; whether there was enough to read."""
        if self._left == 0:
            if len(self._waiting) < 2:
                return False
            # A chunk's bytes may hold CRLF themselves, so its end is known by its size, and the CRLF only confirms
            # it.
            if self._waiting[:2] != b"\r\n":
                raise _make_malformed_error()
            del self._waiting[:2]
            self._end_chunk()
            return True
        end = self._waiting.find(b"\r\n")
        if end < 0:
            if len(self._waiting) > _MAX_LINE:
                raise _make_malformed_error()
            return False
        head = _HEAD.fullmatch(self._waiting, 0, end)
        if not head or self._signed != bool(head[2]):
            raise _make_malformed_error()
        self._left, self._claimed = int(head[1], 16), (head[2] or b"").decode()
        del self._waiting[: end + 2]
        if self._left == 0:
            self._end_chunk()
            self._ended = True
        return True

    def _end_chunk(self) -> None:
        if self._signed:
            parts = ["AWS4-HMAC-SHA256-PAYLOAD", *self._get_chain(), _NOTHING, self._hash.hexdigest()]
            self._check_signature("\n".join(parts), self._claimed)
            self._previous = self._claimed
        self._hash = sha256()
        self._left = -1

    def _get_chain(self) -> tuple[str, str, str]:
        return self._seed.stamp, self._seed.scope, self._previous

    def _check_signature(self, text: str, signature: str) -> None:
        expected = hmac.digest(self._seed.key, text.encode(), "sha256").hex()
        if not hmac.compare_digest(expected.encode(), signature.encode()):
            raise ObjectError("SignatureDoesNotMatch", "The signature of a chunk or trailer does not match its bytes.")


def _make_malformed_error() -> ObjectError:
    return ObjectError("InvalidChunkSizeError", "The body is not made of chunks as its header says.")
