"""HTTP connections: from which addresses they come, and how they break when the network fails, not the service."""

import asyncio
import ipaddress
from typing import Any

from starlette.types import Receive, Scope
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState


def is_loopback(host: str) -> bool:
    """Whether a host's name or address is this machine's own."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class CuttableConnection(H11Protocol):
    """uvicorn's protocol, available to its requests as `scope["state"]["connection"]`."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, {**app_state, "connection": self}, _loop)


async def cut_connection(scope: Scope, receive: Receive) -> None:
    """Close the request's connection without an answer, and wait until it is closed."""
    connection: CuttableConnection = scope["state"]["connection"]
    # abort drops what is still to be sent; close, below, sends it first.
    connection.transport.abort()
    # If the application returned while the connection is open, uvicorn would answer 500.
    while (await receive())["type"] != "http.disconnect":
        pass


async def hang_up(scope: Scope, receive: Receive) -> None:
    """Close the request's connection in the middle of its answer: what was already sent still arrives."""
    connection: CuttableConnection = scope["state"]["connection"]
    connection.transport.close()
    while (await receive())["type"] != "http.disconnect":
        pass
