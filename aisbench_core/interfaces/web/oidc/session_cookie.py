"""The cookie with the id of a session: closed to scripts and to other hosts, and with TLS never sent without it."""

from collections.abc import Mapping

from starlette.requests import HTTPConnection

COOKIE = "aisbench_session"
# Browsers take a cookie of this prefix from this host only, and over TLS only: no other server can set it.
COOKIE_OVER_TLS = f"__Host-{COOKIE}"


def is_secure(request: HTTPConnection) -> bool:
    """Whether the browser came over TLS."""
    return request.scope.get("scheme") in ("https", "wss")


def session_cookie(request: HTTPConnection, session_id: str) -> str:
    """The header that gives a browser its session, until it is closed.

    Lax, not Strict, so that a link from a mail leads to its page."""
    name, secure = (COOKIE_OVER_TLS, "; Secure") if is_secure(request) else (COOKIE, "")
    return f"{name}={session_id}; Path=/; HttpOnly; SameSite=Lax{secure}"


def session_id_of(request: HTTPConnection) -> str:
    """The id that a request came with; empty without one."""
    return request.cookies.get(COOKIE_OVER_TLS if is_secure(request) else COOKIE, "")


def session_id_in(cookies: Mapping[str, str]) -> str:
    """The same for a page, whose web socket was let in with it."""
    return str(cookies.get(COOKIE_OVER_TLS) or cookies.get(COOKIE, ""))
