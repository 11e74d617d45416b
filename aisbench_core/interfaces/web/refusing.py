"""Answers refused requests, and logs them, so that whoever tries the doors is in data/console.log."""

import logging
import re

from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

LOG = logging.getLogger(__name__)
LONGEST_PATH = 200

_TENSORBOARD_TOKEN = re.compile(r"(?<=/tensorboard/)[^/]+")

Refusal = tuple[int, str]
"""HTTP status and message."""


def address_of(request: HTTPConnection) -> str:
    """Where a request came from, which is a proxy's address behind one; empty if nobody knows."""
    return request.client.host if request.client else ""


async def send_refusal(refusal: Refusal, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with the message; a web socket is refused with 403 before it is accepted."""
    status, message = refusal
    what = scope.get("method", "web socket")
    # No query and no headers: they may hold what somebody typed, or a token.
    path = _TENSORBOARD_TOKEN.sub("…", scope["path"])[:LONGEST_PATH]
    address = address_of(HTTPConnection(scope)) or "an unknown address"
    LOG.warning("refused %s %s from %s: %s", what, path, address, message)
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008, "reason": message})
    else:
        await PlainTextResponse(f"{message}\n", status)(scope, receive, send)
