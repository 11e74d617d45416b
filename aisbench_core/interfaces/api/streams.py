"""Answers that are sent while they are computed. What fails under way breaks the connection: no half is a whole."""

import logging
from collections.abc import Generator, Mapping
from contextlib import AsyncExitStack
from http import HTTPStatus
from itertools import chain

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from aisbench_core.base.errors import AisbenchError
from aisbench_core.interfaces.web.slow_readers import NotRead

LOG = logging.getLogger(__name__)


class StreamedParts(StreamingResponse):
    """The parts of a generator, whose first one is computed at once, so that its errors are answers of their own."""

    def __init__(
        self,
        parts: Generator[bytes],
        media_type: str,
        status: HTTPStatus = HTTPStatus.OK,
        more_headers: Mapping[str, str] | None = None,
    ) -> None:
        """Raises what the first part raises."""
        first = next(parts)
        # A proxy that collects answers would make the client wait for the whole.
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no", **(more_headers or {})}
        super().__init__(chain([first], parts), status, headers, media_type)
        self._parts = parts
        self.until_sent = AsyncExitStack()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send all parts, and free what they hold, whoever leaves first."""
        async with self.until_sent:
            try:
                await super().__call__(scope, receive, send)
            finally:
                self._parts.close()

    async def stream_response(self, send: Send) -> None:
        """As its class does, but the answer of an error has no end."""
        try:
            await super().stream_response(send)
        except NotRead:
            raise
        except AisbenchError as error:
            LOG.warning("an answer ended early: %s", error)
        except Exception:  # a bug: its traceback goes to the log, and the client has half an answer
            LOG.exception("an answer ended early")
