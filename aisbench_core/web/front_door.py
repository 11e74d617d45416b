"""The middleware before Streamlit: requests for other names, from other pages and to inner endpoints end here.

Streamlit itself accepts pages of every port of this machine, and asks a public host for this machine's address before
it refuses others. It never sees what is refused here.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from aisbench_core.web.listening import SETTING, is_loopback
from aisbench_core.web.origins import ConsoleNames

INNER = "/_stcore/"
OPEN_ENDPOINTS = re.compile(r"health|host-config|stream|upload_file/[0-9a-f-]{36}/[0-9a-f-]{36}")
"""What the console's pages use of Streamlit's inner endpoints. Metrics and the agent API are not among them."""

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")

NO_SUCH_NAME = (
    "The console is not served under this name or address. To add a proxy's, see public_url in docs/settings.md."
)
NOT_ALLOWED = f"The console has no sign-in, and serves only this machine unless {SETTING} is set."
OTHER_PAGE = "Only pages of the console itself may do this."
CLOSED = "Not found."


@dataclass(frozen=True)
class FrontDoor:
    """Who may pass: other machines only where `network` allows them."""

    names: ConsoleNames
    network: bool

    def refusal(self, scope: Scope) -> tuple[int, str] | None:
        """The status and the sentence with which a request is refused; None lets it pass."""
        headers = Headers(scope=scope)
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        server = scope.get("server")
        if not self.network and server and not is_loopback(server[0]):
            return 403, NOT_ALLOWED
        if len(hosts) != 1 or not self.names.is_addressed_by(hosts[0]):
            return 403, NO_SUCH_NAME
        _, inner, endpoint = scope["path"].partition(INNER)
        if inner and not OPEN_ENDPOINTS.fullmatch(endpoint):
            return 404, CLOSED
        if scope["type"] == "websocket" or scope["method"] not in SAFE_METHODS:
            scheme = "https" if scope["scheme"] in ("https", "wss") else "http"
            if len(origins) != 1 or not self.names.is_own_page(origins[0], scheme, hosts[0]):
                return 403, OTHER_PAGE
        return None


class FrontDoorMiddleware:
    """Answers what may not pass, and hands everything else on."""

    def __init__(self, app: ASGIApp, front_door: Callable[[], FrontDoor]) -> None:
        self._app = app
        self._open_front_door = front_door

    @cached_property
    def _front_door(self) -> FrontDoor:
        return self._open_front_door()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a refused request; a refused web socket ends with 403, before it is accepted."""
        refusal = self._front_door.refusal(scope) if scope["type"] in ("http", "websocket") else None
        if refusal is None:
            await self._app(_as_same_origin(scope), receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": refusal[1]})
        else:
            status, sentence = refusal
            await PlainTextResponse(f"{sentence}\n", status)(scope, receive, send)


def _as_same_origin(scope: Scope) -> Scope:
    """The request of a web socket with the Host that its page has: a proxy, or a spelt-out port, makes them differ.

    Where they differ, Streamlit asks a public host whether the page is this machine's."""
    if scope["type"] != "websocket":
        return scope
    host = Headers(scope=scope)["origin"].partition("://")[2]
    others = [(name, value) for name, value in scope["headers"] if name != b"host"]
    return {**scope, "headers": [(b"host", host.encode("latin-1")), *others]}
