"""Headers of every response, whichever app answers."""

import asyncio
import re
from typing import Any

import pytest
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from aisbench_core.config.console_address import WebOrigin
from aisbench_core.interfaces.api.app import ApiServer
from aisbench_core.interfaces.api.serving import program_app
from aisbench_core.interfaces.web.front_door import BrowserCookie, PublicScheme
from aisbench_core.interfaces.web.log_downloads import LogDownloadMiddleware
from aisbench_core.interfaces.web.security_headers import SecurityHeaders, content_security_policy
from aisbench_core.wiring import open_core


def headers_of(app: Any, path: str = "/", scheme: str = "http", method: str = "GET", accept: str = "*/*") -> Headers:
    """The headers of what an app answers to a request without a body."""
    scope = {
        "type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": b"",
        "scheme": scheme, "server": ("127.0.0.1", 8501),
        "headers": [(b"host", b"bench.example:8501"), (b"accept", accept.encode())],
    }  # fmt: skip
    answered: list[Headers] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            answered.append(Headers(raw=message["headers"]))

    asyncio.run(app(scope, receive, send))
    return answered[0]


async def plain(scope: Scope, receive: Receive, send: Send) -> None:
    """An app that says nothing of caches."""
    await PlainTextResponse("a result")(scope, receive, send)


async def asset(scope: Scope, receive: Receive, send: Send) -> None:
    """An app that says how long its answer may be kept."""
    await PlainTextResponse("a script", headers={"Cache-Control": "public"})(scope, receive, send)


def test_no_browser_stores_what_may_be_a_result() -> None:
    logs = LogDownloadMiddleware(plain, lambda: lambda _: {})

    assert headers_of(SecurityHeaders(plain))["Cache-Control"] == "no-store"
    assert headers_of(SecurityHeaders(logs), "/run-logs/r1/0")["Cache-Control"] == "no-store"
    assert headers_of(SecurityHeaders(asset))["Cache-Control"] == "public"


def test_with_tls_browsers_keep_to_tls() -> None:
    transport = headers_of(SecurityHeaders(plain), scheme="https")["Strict-Transport-Security"]

    age = re.match(r"max-age=(\d+); includeSubDomains$", transport)
    assert age
    assert int(age[1]) >= 365 * 24 * 3600
    assert "Strict-Transport-Security" not in headers_of(SecurityHeaders(plain))


@pytest.mark.parametrize(
    ("public", "is_safe"),
    [
        ("https://bench.example:8501", True),
        ("http://bench.example:8501", False),
        ("https://bench.example", False),  # another port
        ("https://other.example:8501", False),
        ("", False),
    ],
)
def test_behind_a_proxy_that_ends_tls_the_public_address_decides(public: str, is_safe: bool) -> None:
    app = PublicScheme(SecurityHeaders(BrowserCookie(plain)), lambda: WebOrigin.parse(public))

    headers = headers_of(app, accept="text/html")

    assert ("Strict-Transport-Security" in headers) is is_safe
    assert ("Secure" in headers["Set-Cookie"].split("; ")) is is_safe


def test_the_policy_lets_no_page_change_where_its_addresses_lead() -> None:
    directives = content_security_policy("bench.example").split("; ")

    assert {"object-src 'none'", "base-uri 'none'", "frame-ancestors 'none'"} <= set(directives)


@pytest.mark.parametrize("path", ["/api/v1/openapi.json", "/healthz", "/api/v1/nothing"])
def test_the_api_without_the_console_answers_with_the_same_headers(path: str) -> None:
    headers = headers_of(program_app(ApiServer(open_core)), path)

    assert headers["X-Content-Type-Options"] == "nosniff"
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert headers["Referrer-Policy"] == "same-origin"
    assert headers["Cache-Control"] == "no-store"
