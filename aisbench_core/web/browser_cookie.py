"""A cookie with a random id per browser; it identifies no person, and scripts cannot read it (HttpOnly)."""

import re
import secrets

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "aisbench_browser"
ID = re.compile(r"[A-Za-z0-9_-]{43}")
YEAR = 365 * 24 * 3600


class BrowserCookie:
    """Sets the id with the first page that a browser opens, and renews it with each later one."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Add the cookie to responses for HTML documents."""
        if scope["type"] != "http" or "text/html" not in Headers(scope=scope).get("accept", ""):
            await self._app(scope, receive, send)
            return
        # Parsed like in pages: other servers on this host set cookies too, some with invalid syntax.
        received = HTTPConnection(scope).cookies.get(COOKIE, "")
        browser_id = received if ID.fullmatch(received) else secrets.token_urlsafe(32)
        secure = "; Secure" if scope.get("scheme") == "https" else ""
        # Lax, not Strict, so that a link from a mail opens with the cookie and shows the browser's draft.
        cookie = f"{COOKIE}={browser_id}; Max-Age={YEAR}; Path=/; HttpOnly; SameSite=Lax{secure}"

        async def send_with_cookie(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).append("Set-Cookie", cookie)
            await send(message)

        await self._app(scope, receive, send_with_cookie)
