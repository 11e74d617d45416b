"""Connections on which no request arrives are ended, whatever is sent slowly; others go on."""

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.auto import AutoHTTPProtocol
from uvicorn.protocols.http.h11_impl import H11Protocol

from aisbench_core.interfaces.web.half_requests import limit_half_requests

WHOLE = b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"
HALF = b"GET / HTTP/1.1\r\nHost: here\r\nX-Slow: "


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers when the body is complete."""
    assert scope["type"] == "http"
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"4")]})
    await send({"type": "http.response.body", "body": b"done"})


@contextmanager
def served(seconds: float, most: int = 50) -> Iterator[Callable[[], socket.socket]]:
    """A server with these limits; connects to it."""
    protocol: Any = type("Limited", (H11Protocol,), {})
    limit_half_requests(protocol, seconds, most)
    config = uvicorn.Config(app, http=protocol, lifespan="off", log_config=None, timeout_keep_alive=1)
    server = uvicorn.Server(config)
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listener])))
        thread.start()
        try:
            yield lambda: socket.create_connection(listener.getsockname(), 20)
        finally:
            server.should_exit = True
            thread.join()


def is_ended(connection: socket.socket) -> bool:
    """Whether the server ends it; waits for that."""
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True


@pytest.mark.parametrize(
    "sent", [b"", b"GET", HALF, WHOLE + HALF], ids=["nothing", "a word", "half the headers", "half of the next one"]
)
def test_a_connection_without_whole_headers_is_ended(sent: bytes) -> None:
    with served(0.3) as connect, connect() as connection:
        connection.sendall(sent)
        if sent.startswith(WHOLE):
            answer = b""
            while not answer.endswith(b"done"):
                answer += connection.recv(1000)

        assert is_ended(connection)


def test_headers_that_arrive_letter_by_letter_get_no_more_time() -> None:
    began = time.monotonic()
    with served(0.5) as connect, connect() as connection:
        connection.settimeout(0.05)
        connection.sendall(HALF)
        while time.monotonic() - began < 20:
            try:
                connection.sendall(b"a")
                if connection.recv(1) == b"":
                    break
            except TimeoutError:
                continue
            except ConnectionError:
                break

    assert time.monotonic() - began < 15


def test_a_body_has_as_much_time_as_ever() -> None:
    with served(0.2) as connect, connect() as slow, connect() as half:
        slow.sendall(b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 2\r\n\r\na")
        half.sendall(HALF)
        assert is_ended(half)  # so much time is over

        slow.sendall(b"b")

        assert slow.recv(1000).startswith(b"HTTP/1.1 200")


def test_many_of_them_end_the_oldest_and_keep_nobody_else_waiting() -> None:
    with served(60, most=20) as connect:
        half = [connect() for _ in range(100)]
        for connection in half:
            connection.sendall(HALF)

        assert all(map(is_ended, half[:79]))
        with connect() as connection:
            connection.sendall(WHOLE)
            assert connection.recv(1000).startswith(b"HTTP/1.1 200")
        for connection in half:
            connection.close()


def test_the_protocol_that_is_limited_is_the_one_that_servers_use() -> None:
    assert AutoHTTPProtocol is H11Protocol
