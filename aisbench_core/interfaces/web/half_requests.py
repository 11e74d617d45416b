"""Ends connections on which no request arrives: uvicorn waits for headers for ever, on any number of connections."""

from asyncio import TimerHandle
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

SECONDS = 15.0
MOST = 256


class HalfRequests:
    """Connections whose headers are not complete, the oldest first. For the thread of one event loop."""

    def __init__(self, seconds: float, most: int) -> None:
        self._seconds = seconds
        self._most = most
        self._timers: dict[H11Protocol, TimerHandle] = {}

    def update(self, connection: H11Protocol) -> None:
        """Watch a connection from the first look at which a request is missing to the one at which it is there."""
        if connection.conn.their_state is not h11.IDLE:
            self.forget(connection)
        elif connection not in self._timers:
            self._timers[connection] = connection.loop.call_later(self._seconds, self._abort_connection, connection)
            if len(self._timers) > self._most:
                # Whoever means well sends headers at once, so that the oldest one is the least likely to be theirs.
                self._abort_connection(next(iter(self._timers)))

    def forget(self, connection: H11Protocol) -> None:
        """Its request is there, or it is closed."""
        timer = self._timers.pop(connection, None)
        if timer:
            timer.cancel()

    def _abort_connection(self, connection: H11Protocol) -> None:
        self.forget(connection)
        connection.transport.abort()


def limit_half_requests(protocol: type[H11Protocol] = H11Protocol, seconds: float = SECONDS, most: int = MOST) -> None:
    """Give connections of this protocol so much time for the headers of a request, and room for so many at once.

    It changes the class, because Streamlit lets nobody choose another one for its server."""
    half_requests = HalfRequests(seconds, most)
    made, received, lost = protocol.connection_made, protocol.data_received, protocol.connection_lost

    def connection_made(self: H11Protocol, transport: Any) -> None:
        made(self, transport)
        half_requests.update(self)

    def data_received(self: H11Protocol, data: bytes) -> None:
        received(self, data)
        half_requests.update(self)

    def connection_lost(self: H11Protocol, exc: Exception | None) -> None:
        half_requests.forget(self)
        lost(self, exc)

    changed = {"connection_made": connection_made, "data_received": data_received, "connection_lost": connection_lost}
    for name, method in changed.items():
        setattr(protocol, name, method)
