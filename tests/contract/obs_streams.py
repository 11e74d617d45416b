"""Bodies in chunks (aws-chunked), signed by the published rules, with no code of the sandbox or of a client."""

import hashlib
import hmac
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from tests.contract import obs_signer
from tests.contract.obs_server import ACCESS, SECRET, Served
from tests.contract.obs_wire import Answer, ask

SIGNED = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
SIGNED_TRAILER = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER"
UNSIGNED_TRAILER = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
_NOTHING = hashlib.sha256(b"").hexdigest()


class Stream:
    """One upload in chunks: its signed headers, and the chunks as they go over the wire."""

    def __init__(self, served: Served, path: str, kind: str, length: int, trailer: str = "") -> None:
        headers = {"content-encoding": "aws-chunked", "x-amz-decoded-content-length": str(length)}
        headers |= {"x-amz-trailer": trailer} if trailer else {}
        now, host = datetime.now(UTC), f"127.0.0.1:{served.port}"
        self.headers = obs_signer.v4(ACCESS, SECRET, "PUT", path, now, host=host, headers=headers, payload=kind)
        self._signed = kind != UNSIGNED_TRAILER
        self._stamp = f"{now:%Y%m%dT%H%M%SZ}"
        self._scope = f"{self._stamp[:8]}/{obs_signer.REGION}/s3/aws4_request"
        self._key = f"AWS4{SECRET}".encode()
        for part in self._scope.split("/"):
            self._key = hmac.new(self._key, part.encode(), hashlib.sha256).digest()
        found = re.search(r"Signature=(\w+)", self.headers["Authorization"])
        assert found
        self._previous = found[1]

    def chunk(self, data: bytes) -> bytes:
        """One chunk; without bytes, the last one without the line that ends the body."""
        hashed = hashlib.sha256(data).hexdigest()
        signature = self._sign("AWS4-HMAC-SHA256-PAYLOAD", f"{_NOTHING}\n{hashed}")
        head = f"{len(data):x};chunk-signature={signature}\r\n" if self._signed else f"{len(data):x}\r\n"
        return head.encode() + data + (b"\r\n" if data else b"")

    def end(self, trailers: Mapping[str, str]) -> bytes:
        """What follows the last chunk."""
        lines = "".join(f"{name}:{value}\n" for name, value in trailers.items())
        sent = lines.replace("\n", "\r\n")
        if trailers and self._signed:
            hashed = hashlib.sha256(lines.encode()).hexdigest()
            sent += f"x-amz-trailer-signature:{self._sign('AWS4-HMAC-SHA256-TRAILER', hashed)}\r\n"
        return sent.encode() + b"\r\n"

    def _sign(self, what: str, rest: str) -> str:
        text = f"{what}\n{self._stamp}\n{self._scope}\n{self._previous}\n{rest}"
        self._previous = hmac.new(self._key, text.encode(), hashlib.sha256).hexdigest()
        return self._previous


def send(
    served: Served, path: str, kind: str, pieces: Sequence[bytes], trailers: Mapping[str, str] | None = None
) -> Answer:
    """PUT these pieces, one chunk each, and the trailers."""
    stream = Stream(served, path, kind, sum(map(len, pieces)), ",".join(trailers or {}))
    body = b"".join(map(stream.chunk, [*pieces, b""])) + stream.end(trailers or {})
    return ask(served, "PUT", path, stream.headers, body)
