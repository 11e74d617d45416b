"""An OBS that costs next to nothing, so that a bench measures the client: objects in memory, 20 ms per request.

The real one takes thousands of requests per second; the sandbox, which keeps files and checks signatures, takes some
hundreds from one core. Run as a program it prints its port, and it ends with its standard input."""

import asyncio
import base64
import hashlib
import sys
from collections.abc import Mapping
from urllib.parse import parse_qsl

LATENCY_S = 0.020


class Connection(asyncio.Protocol):
    """One kept-open connection; requests follow each other, as the SDK sends them."""

    def __init__(self, objects: dict[str, bytes]) -> None:
        self._objects = objects
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, end, body = self._received.partition(b"\r\n\r\n")
        if not end:
            return
        request, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        if len(body) < int(headers.get("content-length", 0)):
            return
        self._received = b""
        method, path, _ = request.split(" ")
        answer = self._put(path, body, headers) if method == "PUT" else self._get(path)
        asyncio.get_running_loop().call_later(LATENCY_S, self._send, answer, headers.get("connection") == "close")

    def _put(self, path: str, body: bytes, headers: dict[str, str]) -> bytes:
        digest = hashlib.md5(body, usedforsecurity=False)
        promised = headers.get("content-md5")
        if promised and promised != base64.b64encode(digest.digest()).decode():
            return _answer("400 Bad Request", b"")
        self._objects[path] = body
        return _answer("200 OK", b"", digest.hexdigest())

    def _get(self, path: str) -> bytes:
        bucket, _, query = path.partition("?")
        if query:
            prefix = dict(parse_qsl(query)).get("prefix", "")
            return _answer("200 OK", _listed(bucket.strip("/"), prefix, self._objects))
        content = self._objects.get(path)
        if content is None:
            return _answer("404 Not Found", b"<Error><Code>NoSuchKey</Code><Message>It is not there.</Message></Error>")
        return _answer("200 OK", content, hashlib.md5(content, usedforsecurity=False).hexdigest())

    def _send(self, answer: bytes, last: bool) -> None:
        assert isinstance(self._transport, asyncio.Transport)
        self._transport.write(answer)
        if last:
            self._transport.close()


def _listed(bucket: str, prefix: str, objects: Mapping[str, bytes]) -> bytes:
    """One page with everything that starts with the prefix."""
    start = f"/{bucket}/"
    found = sorted(path.removeprefix(start) for path in objects if path.startswith(start + prefix))
    entries = "".join(
        f"<Contents><Key>{key}</Key><Size>{len(objects[start + key])}</Size>"
        f"<ETag>{hashlib.md5(objects[start + key], usedforsecurity=False).hexdigest()}</ETag></Contents>"
        for key in found
    )
    body = f"<Name>{bucket}</Name><IsTruncated>false</IsTruncated>{entries}"
    return f"<ListBucketResult>{body}</ListBucketResult>".encode()


def _answer(status: str, content: bytes, etag: str = "") -> bytes:
    tag = f'ETag: "{etag}"\r\n' if etag else ""
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(content)}\r\n{tag}x-amz-request-id: 1\r\n\r\n".encode() + content


async def serve() -> None:
    """Answer until standard input ends."""
    objects: dict[str, bytes] = {}
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(objects), "127.0.0.1", 0, backlog=512)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


if __name__ == "__main__":
    asyncio.run(serve())
