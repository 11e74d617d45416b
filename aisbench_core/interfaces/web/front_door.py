"""Rejects requests with foreign Host or Origin headers, and to internal endpoints; identifies browsers by a cookie.

This comes before Streamlit, which itself accepts pages of every port of this machine, and asks a public host for this
machine's address before it rejects others. The cookie's random id identifies no person, and scripts cannot read it.
"""

import re
import secrets
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from aisbench_core.base.messages import Message
from aisbench_core.config.console_address import SETTING, ConsoleNames, WebOrigin, is_loopback
from aisbench_core.interfaces.web.refusing import Refusal, send_refusal

INNER = "/_stcore/"
# Internal endpoints of Streamlit that the console's pages use; not metrics or the agent API.
OPEN_ENDPOINTS = re.compile(r"health|host-config|stream|upload_file/[0-9a-f-]{36}/[0-9a-f-]{36}")

# The API: a token opens it, and never a cookie, so that no foreign page can send a request with a visitor's rights.
PROGRAM_PATHS = re.compile(r"/api/v1/.*|/metrics|/healthz|/readyz", re.DOTALL)
# What a proxy may take for them, and so pass on without a sign-in: whom it names there is whoever somebody typed.
LIKE_PROGRAM_PATHS = re.compile(r"/(api|metrics|healthz|readyz).*", re.DOTALL | re.IGNORECASE)

# A proxy resolves these before it decides whether somebody has to sign in, and passes on what was sent.
UNRESOLVED = re.compile(r"//|/\.\.?(/|\Z)|[\x00-\x1f\x7f\\]")

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")

NO_SUCH_NAME = Message(
    "The console is not served under this name or address. To add a proxy's, see public_url in docs/settings.md."
)
NOT_ALLOWED = Message(
    "The console has no sign-in, and serves only this machine unless {setting} is set.", setting=SETTING
)
OTHER_PAGE = Message("Only pages of the console itself may do this.")
CLOSED = Message("Not found.")
NO_PATH = Message("The request must name a path that begins with /, without //, . and .. in it.")


@dataclass(frozen=True)
class FrontDoor:
    """Decides which requests pass. `network`: whether other machines may connect."""

    names: ConsoleNames
    network: bool

    def refusal(self, scope: Scope) -> Refusal | None:
        """HTTP status and message for a rejected request; None if it passes."""
        headers = Headers(scope=scope)
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        server = scope.get("server")
        if not self.network and server and not is_loopback(server[0]):
            return 403, NOT_ALLOWED
        if len(hosts) != 1 or not self.names.is_addressed_by(hosts[0]):
            return 403, NO_SUCH_NAME
        # Decoded, `%2F…@host` begins with a slash; who passes the address on as it was sent would ask that host.
        if not (scope.get("raw_path") or b"/").startswith(b"/"):
            return 400, NO_PATH
        _, inner, endpoint = scope["path"].partition(INNER)
        if inner and not OPEN_ENDPOINTS.fullmatch(endpoint):
            return 404, CLOSED
        if scope["type"] == "http" and PROGRAM_PATHS.fullmatch(scope["path"]):
            return None
        if UNRESOLVED.search(scope["path"]):
            return 400, NO_PATH
        if LIKE_PROGRAM_PATHS.fullmatch(scope["path"]):
            return 404, CLOSED
        if scope["type"] == "websocket" or scope["method"] not in SAFE_METHODS:
            scheme = "https" if scope["scheme"] in ("https", "wss") else "http"
            if len(origins) != 1 or not self.names.is_own_page(origins[0], scheme, hosts[0]):
                return 403, OTHER_PAGE
        return None


class FrontDoorMiddleware:
    """Answers rejected requests and passes others to the app."""

    def __init__(self, app: ASGIApp, front_door: Callable[[], FrontDoor]) -> None:
        self._app = app
        self._create_front_door = front_door

    @cached_property
    def _front_door(self) -> FrontDoor:
        return self._create_front_door()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Reject or pass a request; a web socket is rejected with 403 before it is accepted."""
        refusal = self._front_door.refusal(scope) if scope["type"] in ("http", "websocket") else None
        if refusal is None:
            await self._app(_as_same_origin(scope), receive, send)
        else:
            await send_refusal(refusal, scope, receive, send)


def _as_same_origin(scope: Scope) -> Scope:
    """A web socket's request with the Host of its page: a proxy, or an explicit default port, makes them differ.

    If they differ, Streamlit asks a public host whether the page is this machine's."""
    if scope["type"] != "websocket":
        return scope
    host = Headers(scope=scope)["origin"].partition("://")[2]
    headers = [(name, value) for name, value in scope["headers"] if name != b"host"]
    return {**scope, "headers": [(b"host", host.encode("latin-1")), *headers]}


class PublicScheme:
    """Gives requests to the public address its scheme: behind a proxy that ends TLS they arrive as plain HTTP.

    By the setting, since a header that says so could come from anybody."""

    def __init__(self, app: ASGIApp, public: Callable[[], WebOrigin | None]) -> None:
        self._app = app
        self._find_public = public

    @cached_property
    def _public(self) -> WebOrigin | None:
        return self._find_public()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, as HTTPS where the browser uses HTTPS."""
        if scope["type"] in ("http", "websocket") and self._public and self._public.scheme == "https":
            host = Headers(scope=scope).get("host", "")
            if WebOrigin.of("https", host) == self._public:
                scope = {**scope, "scheme": "wss" if scope["type"] == "websocket" else "https"}
        await self._app(scope, receive, send)


COOKIE = "aisbench_browser"
# Browsers take a cookie of this prefix from this host only, and over TLS only: no other server can set it.
COOKIE_OVER_TLS = f"__Host-{COOKIE}"
ID = re.compile(r"[A-Za-z0-9_-]{43}")
YEAR = 365 * 24 * 3600


def browser_id_of(cookies: Mapping[str, str]) -> str:
    """The id in a browser's cookies; empty without a valid one."""
    sent = str(cookies.get(COOKIE_OVER_TLS) or cookies.get(COOKIE, ""))
    return sent if ID.fullmatch(sent) else ""


class BrowserCookie:
    """Sets the id with the first page that a browser opens, and renews it with each later one."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Add the cookie to responses for HTML documents."""
        if scope["type"] != "http" or "text/html" not in Headers(scope=scope).get("accept", ""):
            await self._app(scope, receive, send)
            return
        name, secure = (COOKIE_OVER_TLS, "; Secure") if scope.get("scheme") == "https" else (COOKIE, "")
        # Parsed like in pages: other servers on this host set cookies too, some with invalid syntax.
        sent = HTTPConnection(scope).cookies.get(name, "")
        browser_id = sent if ID.fullmatch(sent) else secrets.token_urlsafe(32)
        # Lax, not Strict, so that a link from a mail opens with the cookie and shows the browser's draft.
        cookie = f"{name}={browser_id}; Max-Age={YEAR}; Path=/; HttpOnly; SameSite=Lax{secure}"

        async def send_with_cookie(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).append("Set-Cookie", cookie)
            await send(message)

        await self._app(scope, receive, send_with_cookie)
