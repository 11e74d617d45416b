"""The API as a server of its own."""

import asyncio
import socket
from collections.abc import Callable

import uvicorn
from starlette.types import ASGIApp

from aisbench_core.base.errors import AisbenchError
from aisbench_core.base.messages import Message
from aisbench_core.config.console_address import url_of
from aisbench_core.interfaces.api.app import ApiServer
from aisbench_core.interfaces.web.half_requests import limit_half_requests
from aisbench_core.interfaces.web.security_headers import SecurityHeaders
from aisbench_core.interfaces.web.slow_readers import SlowReaders
from aisbench_core.wiring import open_core

POLL_SECONDS = 0.01
LAST_ANSWERS_SECONDS = 5


def serve_api(host: str, port: int, on_ready: Callable[[str], None]) -> None:
    """Answer until interrupted; `on_ready` gets the address. Raises AisbenchError if it cannot be listened on."""
    server = uvicorn.Server(
        uvicorn.Config(
            program_app(ApiServer(open_core)),
            ws="none",
            lifespan="off",
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=LAST_ANSWERS_SECONDS,
        )
    )
    limit_half_requests()
    open_core()  # settings that cannot be used are an error now, not at the first request
    with _open_listener(host, port) as listener:
        asyncio.run(_run_server(server, listener, lambda: on_ready(url_of(host, listener.getsockname()[1]))))


def program_app(server: ApiServer) -> ASGIApp:
    """The API with the headers and the time limit that it has on the console's port."""
    return SlowReaders(SecurityHeaders(server.app()))


async def _run_server(server: uvicorn.Server, listener: socket.socket, on_ready: Callable[[], None]) -> None:
    task = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started and not task.done():  # uvicorn has no event for this
        await asyncio.sleep(POLL_SECONDS)
    if server.started:
        on_ready()
    await task


def _open_listener(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise AisbenchError(
            Message("cannot listen on {host}:{port}: {why}", host=host, port=port, why=error.strerror or error),
            Message("choose another --port"),
        ) from error
