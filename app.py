"""The server of `streamlit run app.py`: access, security headers, and a follower while no other process follows.

The entry script lies in pages/_ui, where it has no `pages/` folder beside it: with one, Streamlit would answer the
first deep link to a fresh server by running that page alone, past the entry.
"""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, nullcontext
from functools import cache, partial

import streamlit as st
from starlette.middleware import Middleware
from starlette.types import ASGIApp
from streamlit.runtime import get_instance
from streamlit.runtime.stats import ACTIVE_SESSIONS_FAMILY, GaugeStat

from aisbench_core.base.private_files import private_umask, share_new_files
from aisbench_core.config.console_address import SWITCH, ConsoleNames, WebOrigin, require_permission, url_of
from aisbench_core.config.identity import Identity
from aisbench_core.config.settings import load_settings, read_environment
from aisbench_core.interfaces.api.app import ApiServer
from aisbench_core.interfaces.api.mounting import ApiMiddleware
from aisbench_core.interfaces.web.compression import CompressedAssets
from aisbench_core.interfaces.web.front_door import BrowserCookie, FrontDoor, FrontDoorMiddleware, PublicScheme
from aisbench_core.interfaces.web.half_requests import limit_half_requests
from aisbench_core.interfaces.web.identity import (
    IdentityMiddleware,
    ProxyIdentity,
    proxy_identity,
    refuse_name,
    require_complete,
)
from aisbench_core.interfaces.web.log_downloads import LogDownloadMiddleware, LogFiles
from aisbench_core.interfaces.web.oidc.sign_in import SignInDoor, SignInMiddleware, open_door
from aisbench_core.interfaces.web.page_base import PageBase
from aisbench_core.interfaces.web.security_headers import SecurityHeaders
from aisbench_core.interfaces.web.slow_readers import SlowReaders
from aisbench_core.interfaces.web.tensorboard_proxy import TensorBoardProxy
from aisbench_core.interfaces.web.tls import require_tls
from aisbench_core.interfaces.web.uploads import UploadMiddleware, UploadStore
from aisbench_core.wiring import open_core
from pages._ui.layout import build_head
from pages._ui.shell import preloading  # noqa: F401  # before anybody is served
from pages._ui.shell.core import get_tensorboards, person_of, served_settings, shared_core
from pages._ui.shell.errors import show_script_error


def front_door() -> FrontDoor:
    """Who may reach the console, by settings, Streamlit's configuration and arguments after `run app.py --`."""
    settings = load_settings()
    names = ConsoleNames(str(st.get_option("server.address") or ""), public_origin())
    signed_in = settings.needs_sign_in
    return FrontDoor(names, signed_in or settings.allow_network_access_without_sign_in or SWITCH in sys.argv)


def public_origin() -> WebOrigin | None:
    """The address of a proxy in front of the console, by the settings."""
    return WebOrigin.parse(load_settings().public_url.rstrip("/"))


def build_identity() -> ProxyIdentity | None:
    """Who says who somebody is, by the settings."""
    core = open_core()
    return proxy_identity(load_settings(), read_environment(), partial(refuse_name, core.people), core.sign_in_audit)


def sign_in_door() -> SignInDoor | None:
    """Who signs people in, by the settings."""
    settings = load_settings()
    if settings.identity is not Identity.OIDC:
        return None
    return open_door(settings, shared_core().sign_ins, shared_core().sign_in_audit)


@cache
def get_upload_store() -> UploadStore:
    """Where this process stores uploads."""
    settings = load_settings()
    return UploadStore.create(
        settings.data_dir,
        lambda session: get_instance().is_active_session(session),
        person_of,
        settings.uploads_most_mb * 1024**2,
    )


def log_files() -> LogFiles:
    """Where logs that are downloaded lie."""
    return open_core().files.log_files


def build_api() -> ASGIApp:
    """The API on this port, with a core of its own."""
    return ApiServer(open_core, open_sessions).app()


def open_sessions() -> int:
    """The number of open pages of this process."""
    stats = get_instance().stats_mgr.get_stats([ACTIVE_SESSIONS_FAMILY]).get(ACTIVE_SESSIONS_FAMILY, ())
    return sum(int(stat.value) for stat in stats if isinstance(stat, GaugeStat))


@asynccontextmanager
async def lifespan(_app: st.App) -> AsyncIterator[None]:
    """Print the console's address, and follow runs while it is up, unless another process does or it may not."""
    door = front_door()
    require_permission(door.names.address, door.network)
    require_complete(load_settings(), door.names.address)
    build_identity()
    limit_half_requests()
    certificate = str(st.get_option("server.sslCertFile") or "")
    require_tls(load_settings(), certificate)
    scheme = "https" if certificate else "http"
    print(f"AISBench console: {url_of(door.names.address, st.get_option('server.port'), scheme)}", flush=True)
    settings = served_settings()
    following = open_core(settings).following.in_background() if settings.console_follows else nullcontext()
    with private_umask():
        share_new_files(load_settings().data_dir)
        with following, closing(get_upload_store()), closing(get_tensorboards()):
            yield


app = st.App(
    "pages/_ui/entry.py",
    lifespan=lifespan,
    middleware=[
        Middleware(SlowReaders),
        Middleware(PublicScheme, public=public_origin),
        Middleware(SecurityHeaders),
        Middleware(FrontDoorMiddleware, front_door=front_door),
        Middleware(ApiMiddleware, create_api=build_api),
        Middleware(IdentityMiddleware, create_identity=build_identity),
        Middleware(SignInMiddleware, create_door=sign_in_door),
        Middleware(TensorBoardProxy, port_of=lambda token: get_tensorboards().port_of(token)),
        Middleware(BrowserCookie),
        Middleware(LogDownloadMiddleware, log_files=log_files),
        Middleware(UploadMiddleware, store=get_upload_store),
        Middleware(CompressedAssets),
        Middleware(PageBase, head=build_head()),
    ],
    on_script_error=show_script_error,
)
