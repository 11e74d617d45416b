"""Ends answers that nobody reads: each would hold its files, its slot and its part of the memory for ever."""

import asyncio
import logging
import socket
import struct
from typing import Any

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOG = logging.getLogger(__name__)

# A client that takes less of an answer in this time has stopped, or never reads: 4 kB/s.
LEAST_BYTES, SECONDS = 256 * 1024, 60.0


class NotRead(OSError):
    """The client takes nothing of its answer; an OSError, as when it has left."""


class SlowReaders:
    """Breaks connections whose clients do not take their answers. It must be the first middleware of the server."""

    def __init__(self, app: ASGIApp, seconds: float = SECONDS) -> None:
        self._app = app
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        cycle = _find_cycle(receive) if scope["type"] == "http" else None
        if cycle is None:
            await self._app(scope, receive, send)
            return

        async def send_when_read(message: Message) -> None:
            await self._wait_for_reader(cycle)
            await send(message)

        try:
            await self._app(scope, receive, send_when_read)
            await self._wait_for_reader(cycle)  # what is buffered at the end counts as well
        except (NotRead, ClientDisconnect) as error:
            if isinstance(error, NotRead):
                LOG.warning("%s %s: nobody reads the answer", scope["method"], scope["path"][:200])
            await asyncio.sleep(0)  # until uvicorn knows that the connection is broken; it would call that an error

    async def _wait_for_reader(self, cycle: Any) -> None:
        """Wait until there is room in the connection's buffer. Raises NotRead when too little of it is taken."""
        while cycle.flow.write_paused:
            left = cycle.transport.get_write_buffer_size()
            try:
                async with asyncio.timeout(self._seconds):
                    await cycle.flow.drain()
            except TimeoutError:
                if left - cycle.transport.get_write_buffer_size() < LEAST_BYTES:
                    _abort_transport(cycle.transport)
                    raise NotRead from None


def _abort_transport(transport: asyncio.Transport) -> None:
    """End the connection at once: closed, it would stay until the client has read what this side has buffered."""
    transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()


def _find_cycle(receive: Receive) -> Any:
    """uvicorn's object of a request: it passes transport and flow control on nowhere else. None for other servers."""
    cycle = getattr(receive, "__self__", None)
    return cycle if hasattr(cycle, "transport") and hasattr(cycle, "flow") else None
