"""The server object of `streamlit run app.py`: security headers, and a follower while nobody else follows.

The entry script lies in pages/_ui, where it has no `pages/` folder beside it: with one, Streamlit would answer the
first deep link to a fresh server by running that page alone, past the entry.
"""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import streamlit as st
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from aisbench_core.wiring import open_core
from pages._ui.errors import show_script_error


class SecurityHeaders:
    """Nothing is loaded from elsewhere, nobody frames the console, and types are not guessed."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request as before, with the headers added."""
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
            await send(message)

        await self._app(scope, receive, send_with_headers)


def content_security_policy(host: str) -> str:
    """The policy for pages served at `host`: older browsers do not count a web socket to it as 'self'."""
    sockets = f" ws://{host} wss://{host}" if re.fullmatch(r"[A-Za-z0-9.\-_:\[\]]+", host) else ""
    return (
        "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; "  # Streamlit and Vega compile expressions
        f"connect-src 'self' data: blob:{sockets}; object-src 'none'; base-uri 'self'; frame-ancestors 'none'"
    )


@asynccontextmanager
async def lifespan(_app: st.App) -> AsyncIterator[None]:
    """Follow runs while the server is up, unless another process already does."""
    with open_core().following():
        yield


app = st.App(
    "pages/_ui/entry.py",
    lifespan=lifespan,
    middleware=[Middleware(SecurityHeaders)],
    on_script_error=show_script_error,
)
