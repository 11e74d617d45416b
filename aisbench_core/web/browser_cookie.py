"""Each browser has a random id in a cookie, which says nothing of the person and which no script on a page can read."""

import re
import secrets

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "aisbench_browser"
ID = re.compile(r"[A-Za-z0-9_-]{43}")
YEAR = 365 * 24 * 3600


class BrowserCookie:
    """Gives each browser its id with the first page that it opens, and keeps it from expiring."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as before; documents carry the cookie."""
        if scope["type"] != "http" or "text/html" not in Headers(scope=scope).get("accept", ""):
            await self._app(scope, receive, send)
            return
        cookie = _cookie(scope)

        async def send_with_cookie(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).append("Set-Cookie", cookie)
            await send(message)

        await self._app(scope, receive, send_with_cookie)


def _cookie(scope: Scope) -> str:
    """Lax, not Strict: a link in a mail must show the browser's own draft, too."""
    own = _sent(scope) or secrets.token_urlsafe(32)
    secure = "; Secure" if scope.get("scheme") == "https" else ""
    return f"{COOKIE}={own}; Max-Age={YEAR}; Path=/; HttpOnly; SameSite=Lax{secure}"


def _sent(scope: Scope) -> str:
    """The id that the browser has sent; empty if there is none that we gave.

    Read as pages read it: other programs of this machine set cookies for it too, and some do not keep to the syntax."""
    sent = HTTPConnection(scope).cookies.get(COOKIE, "")
    return sent if ID.fullmatch(sent) else ""
