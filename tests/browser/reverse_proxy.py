"""A small reverse proxy with a sign-in: it names to the console whom the browser's cookie of its own names."""

import asyncio
import re
import ssl
import threading
from collections.abc import Mapping
from http.cookies import SimpleCookie
from pathlib import Path

from tests.ports import free_port

ADDRESS = "127.0.0.2"
"""Where its requests come from: another address of this machine, so that a console can tell it from everybody else."""

COOKIE = "proxy_user"
_OWN = (b"x-forwarded-user", b"x-forwarded-groups", b"connection")


class ReverseProxy:
    """Passes HTTP and web sockets on to a server of this machine, with a name, and groups if it knows any."""

    def __init__(
        self, target_port: int, groups: Mapping[str, str], certificate: Path | None = None, prefix: str = ""
    ) -> None:
        """`certificate`: with its key, to serve TLS. `prefix`: the path below which the console is, such as /bench."""
        self.port = free_port()
        self._tls = _tls_with(certificate) if certificate else None
        self._target = target_port
        self._groups = groups
        self._prefix = prefix
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._is_up = threading.Event()

    @property
    def url(self) -> str:
        """What a browser opens."""
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}{self._prefix}"

    def start(self) -> None:
        """Accept connections."""
        self._thread.start()
        assert self._is_up.wait(10)

    def stop(self) -> None:
        """Close all connections."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(
            asyncio.start_server(self._connected, "127.0.0.1", self.port, ssl=self._tls)
        )
        self._is_up.set()
        self._loop.run_forever()
        server.close()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0.1))
        self._loop.close()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            if not head.partition(b" ")[2].startswith(f"{self._prefix}/".encode()):
                writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                writer.close()
                return
            upstream = await asyncio.open_connection("127.0.0.1", self._target, local_addr=(ADDRESS, 0))
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):  # `stop`, before anything was asked
            writer.close()
            return
        upstream[1].write(self._named(head))
        await asyncio.gather(_pass_on(reader, upstream[1]), _pass_on(upstream[0], writer), return_exceptions=True)

    def _named(self, head: bytes) -> bytes:
        """The request with whom the cookie names, and nothing that the browser itself says about that."""
        first, *lines = head.rstrip(b"\r\n").split(b"\r\n")
        first = first.replace(f" {self._prefix}/".encode(), b" /", 1)
        cookie = re.search(rb"^cookie:(.*)$", head, re.IGNORECASE | re.MULTILINE)
        morsel = SimpleCookie(cookie[1].decode().strip() if cookie else "").get(COOKIE)
        is_socket = b"upgrade: websocket" in head.lower()
        kept = [line for line in lines if line.partition(b":")[0].strip().lower() not in _OWN]
        kept.append(b"Connection: Upgrade" if is_socket else b"Connection: close")
        if morsel:
            kept.append(f"X-Forwarded-User: {morsel.value}".encode())
            kept.append(f"X-Forwarded-Groups: {self._groups.get(morsel.value, '')}".encode())
        return b"\r\n".join([first, *kept, b"", b""])


def _tls_with(certificate: Path) -> ssl.SSLContext:
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(certificate)
    return tls


async def _pass_on(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    try:
        while chunk := await source.read(65536):
            target.write(chunk)
            await target.drain()
    except OSError:  # either side has gone
        pass
    finally:
        target.close()
