"""The server of `streamlit run app.py`: access, security headers, and a follower while no other process follows.

The entry script lies in pages/_ui, where it has no `pages/` folder beside it: with one, Streamlit would answer the
first deep link to a fresh server by running that page alone, past the entry.
"""

import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from functools import cache

import streamlit as st
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.runtime import get_instance
from streamlit.runtime.stats import ACTIVE_SESSIONS_FAMILY, GaugeStat

from aisbench_core.api.app import ApiServer
from aisbench_core.api.mounting import ApiMiddleware
from aisbench_core.private_files import private_umask
from aisbench_core.settings import load_settings
from aisbench_core.web.addresses import SWITCH, ConsoleNames, WebOrigin, require_permission, url_of
from aisbench_core.web.front_door import BrowserCookie, FrontDoor, FrontDoorMiddleware
from aisbench_core.web.log_downloads import LogDownloadMiddleware, LogFiles
from aisbench_core.web.tensorboard_proxy import TensorBoardProxy
from aisbench_core.web.uploads import UploadMiddleware, UploadStore
from aisbench_core.wiring import open_core
from pages._ui.shell.core import tensorboards
from pages._ui.shell.errors import show_script_error


class SecurityHeaders:
    """Headers for every response: nothing is loaded from other hosts, no frames, no guessing of types."""

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
            await send(message)

        await self._app(scope, receive, send_with_headers)


def content_security_policy(host: str) -> str:
    """The policy for pages served at `host`, with its web sockets, which older browsers do not count as 'self'."""
    sockets = f" ws://{host} wss://{host}" if re.fullmatch(r"[A-Za-z0-9.\-_:\[\]]+", host) else ""
    return (
        "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; "  # Streamlit and Vega compile expressions
        f"connect-src 'self' data: blob:{sockets}; object-src 'none'; base-uri 'self'; frame-ancestors 'none'"
    )


def front_door() -> FrontDoor:
    """Who may reach the console, by settings, Streamlit's configuration and arguments after `run app.py --`."""
    settings = load_settings()
    names = ConsoleNames(str(st.get_option("server.address") or ""), WebOrigin.parse(settings.public_url.rstrip("/")))
    return FrontDoor(names, settings.allow_network_access_without_sign_in or SWITCH in sys.argv)


@cache
def uploads() -> UploadStore:
    """Where this process stores uploads."""
    return UploadStore.create(load_settings().data_dir, lambda session: get_instance().is_active_session(session))


def log_files() -> LogFiles:
    """Where logs that are downloaded lie."""
    return open_core().files.log_files


def api() -> ASGIApp:
    """The API on this port, with a core of its own."""
    return ApiServer(open_core, open_sessions).app()


def open_sessions() -> int:
    """The number of open pages of this process."""
    stats = get_instance().stats_mgr.get_stats([ACTIVE_SESSIONS_FAMILY]).get(ACTIVE_SESSIONS_FAMILY, ())
    return sum(int(stat.value) for stat in stats if isinstance(stat, GaugeStat))


@asynccontextmanager
async def lifespan(_app: st.App) -> AsyncIterator[None]:
    """Print the console's address, and follow runs while it is up, unless another process does."""
    door = front_door()
    require_permission(door.names.address, door.network)
    scheme = "https" if st.get_option("server.sslCertFile") else "http"
    print(f"AISBench console: {url_of(door.names.address, st.get_option('server.port'), scheme)}", flush=True)
    with private_umask(), open_core().following.in_background(), closing(uploads()), closing(tensorboards()):
        yield


app = st.App(
    "pages/_ui/entry.py",
    lifespan=lifespan,
    middleware=[
        Middleware(SecurityHeaders),
        Middleware(FrontDoorMiddleware, front_door=front_door),
        Middleware(ApiMiddleware, create_api=api),
        Middleware(TensorBoardProxy, port_of=lambda token: tensorboards().port_of(token)),
        Middleware(BrowserCookie),
        Middleware(LogDownloadMiddleware, log_files=log_files),
        Middleware(UploadMiddleware, store=uploads),
    ],
    on_script_error=show_script_error,
)
