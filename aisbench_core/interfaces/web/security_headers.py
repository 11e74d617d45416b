"""Headers for every response: nothing from other hosts, no frames, no guessing of types, nothing stored by browsers."""

import re

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# Of an address with TLS, browsers call none of its names without TLS for a year.
TRANSPORT = "max-age=31536000; includeSubDomains"


class SecurityHeaders:
    """Adds the headers to what an app answers, its errors included."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and add the headers to the response."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        policy = content_security_policy(Headers(scope=scope).get("host", ""))

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["Content-Security-Policy"] = policy
                headers["X-Frame-Options"] = "DENY"
                headers["X-Content-Type-Options"] = "nosniff"
                headers["Referrer-Policy"] = "same-origin"
                headers.setdefault("Cache-Control", "no-store")  # Streamlit's own files say how long they may be kept
                if scope["scheme"] == "https":  # browsers ignore it otherwise
                    headers["Strict-Transport-Security"] = TRANSPORT
            await send(message)

        await self._app(scope, receive, send_with_headers)


def content_security_policy(host: str) -> str:
    """The policy for pages served at `host`, with its web sockets, which older browsers do not count as 'self'."""
    sockets = f" ws://{host} wss://{host}" if re.fullmatch(r"[A-Za-z0-9.\-_:\[\]]+", host) else ""
    return (
        "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; "  # Streamlit and Vega compile expressions
        f"connect-src 'self' data: blob:{sockets}; object-src 'none'; base-uri 'none'; frame-ancestors 'none'"
    )
