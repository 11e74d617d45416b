"""Answers that nobody reads end, and others arrive."""

import asyncio
import select
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from aisbench_core.interfaces.web.slow_readers import SlowReaders

PART = b"x" * 1024 * 1024
PARTS = 64
END_SECONDS = 30.0


def answers(seconds: float) -> Starlette:
    """Large answers in parts and in one piece, behind the limit."""

    async def parts(_: Request) -> Response:
        return StreamingResponse(_iter_parts())

    async def whole(_: Request) -> Response:
        return Response(PART * PARTS)

    routes = [Route("/parts", parts), Route("/whole", whole)]
    return Starlette(routes=routes, middleware=[Middleware(SlowReaders, seconds=seconds)])


async def _iter_parts() -> AsyncIterator[bytes]:
    for _ in range(PARTS):
        yield PART


@contextmanager
def served(app: Starlette) -> Iterator[tuple[str, int]]:
    """The app on a port of its own."""
    config = uvicorn.Config(app, host="127.0.0.1", port=0, lifespan="off", log_config=None, access_log=False)
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = listener.getsockname()
        thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listener])))
        thread.start()
        try:
            yield address
        finally:
            server.should_exit = True
            thread.join(END_SECONDS)


def connect(address: tuple[str, int], path: str) -> socket.socket:
    connection = socket.create_connection(address, timeout=END_SECONDS)
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n".encode())
    return connection


@pytest.mark.parametrize("path", ["/parts", "/whole"])
def test_an_answer_that_nobody_reads_ends_and_its_connection_is_broken(
    path: str, caplog: pytest.LogCaptureFixture
) -> None:
    broken = select.poll()
    with served(answers(0.2)) as address, closing(connect(address, path)) as connection:
        broken.register(connection, 0)

        [(_, event)] = broken.poll(END_SECONDS * 1000)

    assert event & select.POLLERR
    assert [record.getMessage() for record in caplog.records] == [f"GET {path}: nobody reads the answer"]


def test_an_answer_that_is_read_arrives_as_a_whole(caplog: pytest.LogCaptureFixture) -> None:
    received = 0
    with served(answers(END_SECONDS)) as address, closing(connect(address, "/parts")) as connection:
        while part := connection.recv(65536):
            received += len(part)

    assert received > PARTS * len(PART)
    assert not caplog.records
