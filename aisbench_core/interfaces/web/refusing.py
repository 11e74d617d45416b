"""Answers refused requests, and logs them, so that whoever tries the doors is in data/console.log."""

import logging
import re
from http import HTTPStatus

from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from aisbench_core.base.messages import Message
from aisbench_core.interfaces.web.plain_page import as_html, language_of, plain_page, wants_page

LOG = logging.getLogger(__name__)
LONGEST_PATH = 200

_TENSORBOARD_TOKEN = re.compile(r"(?<=/tensorboard/)[^/]+")

Refusal = tuple[int, str]
"""HTTP status, and a message that says what to do."""

_TITLES = {HTTPStatus.UNAUTHORIZED: Message("You are not signed in"), HTTPStatus.FORBIDDEN: Message("No access")}
_OTHERWISE = Message("This request was refused")


def address_of(request: HTTPConnection) -> str:
    """Where a request came from, which is a proxy's address behind one; empty if nobody knows."""
    return request.client.host if request.client else ""


async def send_refusal(
    refusal: Refusal, scope: Scope, receive: Receive, send: Send, default_language: str = "en"
) -> None:
    """Answer with the message, to browsers as a page; a web socket is refused with 403 before it is accepted."""
    status, message = refusal
    what = scope.get("method", "web socket")
    # No query and no headers: they may hold what somebody typed, or a token.
    path = _TENSORBOARD_TOKEN.sub("…", scope["path"])[:LONGEST_PATH]
    address = address_of(HTTPConnection(scope)) or "an unknown address"
    LOG.warning("refused %s %s from %s: %s", what, path, address, message)
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008, "reason": str(message)})
    else:
        page = _refusal_page(refusal, scope, default_language) if wants_page(scope) else None
        response = page or PlainTextResponse(f"{message}\n", status)
        await response(scope, receive, send)


def _refusal_page(refusal: Refusal, scope: Scope, default_language: str) -> Response:
    """The message, and a link that asks again: a name, a role or a proxy may be there by then."""
    status, message = refusal
    request = HTTPConnection(scope)
    chinese = language_of(request.query_params, request.headers, default_language) == "zh"
    title = as_html(_TITLES.get(HTTPStatus(status), _OTHERWISE), chinese=chinese)
    again = as_html(Message("Try again"), chinese=chinese)
    body = f'<p role="alert">{as_html(message, chinese=chinese)}</p><a href="/">{again}</a>'
    return plain_page(title, body, status, chinese=chinese)
