"""Refused requests are logged: what was tried, from where and why it was refused, and nothing that was sent with it."""

import asyncio
import logging
from typing import Any

import pytest
from starlette.types import Message, Scope

from aisbench_core.base.clock import utc_now
from aisbench_core.config.console_address import FORWARDED, ConsoleNames
from aisbench_core.config.identity import Identity
from aisbench_core.config.settings import Settings
from aisbench_core.interfaces.web.front_door import FrontDoor, FrontDoorMiddleware
from aisbench_core.interfaces.web.identity import IdentityMiddleware, proxy_identity
from aisbench_core.people.accounts.sign_in_audit import SignInAudit

TENSORBOARD = "Zm9v" * 10 + "abc"


async def nothing(*_: object) -> None:
    """An app that is not reached."""
    raise AssertionError


def behind_front_door() -> FrontDoorMiddleware:
    return FrontDoorMiddleware(nothing, lambda: FrontDoor(ConsoleNames("127.0.0.1"), network=False))


def audit() -> SignInAudit:
    return SignInAudit(lambda _: None, utc_now)


def behind_identity() -> IdentityMiddleware:
    settings = Settings(identity=Identity.PROXY, trusted_proxies="10.0.0.2")
    return IdentityMiddleware(nothing, lambda: proxy_identity(settings, {FORWARDED: ""}, lambda _: "", audit()))


def status_of(app: Any, path: str, kind: str = "http") -> int | None:
    """The status of an answer, None for a web socket; the request has headers and a query that hold secrets."""
    headers = {"host": "127.0.0.1:8501", "origin": "http://other.example", "authorization": "Bearer aisb_secret"}
    scope: Scope = {
        "type": kind, "path": path, "query_string": b"key=secret", "scheme": "http",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "server": ("127.0.0.1", 8501), "client": ("192.0.2.7", 50000),
    }  # fmt: skip
    if kind == "http":
        scope["method"] = "POST"
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    status: int | None = sent[0].get("status")
    return status


@pytest.mark.parametrize("app", [behind_front_door, behind_identity])
def test_whoever_is_refused_is_logged_without_what_was_sent(app: Any, caplog: pytest.LogCaptureFixture) -> None:
    status = status_of(app(), "/run-logs/r1/0")

    [entry] = caplog.records
    assert status == 403
    assert entry.levelno == logging.WARNING
    assert entry.getMessage().startswith("refused POST /run-logs/r1/0 from 192.0.2.7: ")
    assert "secret" not in entry.getMessage()


def test_a_refused_web_socket_is_logged_too(caplog: pytest.LogCaptureFixture) -> None:
    assert status_of(behind_front_door(), "/_stcore/stream", "websocket") is None

    assert caplog.messages[0].startswith("refused web socket /_stcore/stream from 192.0.2.7: ")


def test_the_token_in_an_address_of_tensorboard_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    status_of(behind_front_door(), f"/tensorboard/{TENSORBOARD}/data")

    assert "/tensorboard/…/data" in caplog.text
    assert TENSORBOARD not in caplog.text


def test_a_path_without_end_is_cut(caplog: pytest.LogCaptureFixture) -> None:
    status_of(behind_front_door(), "/" + "x" * 10_000)

    assert len(caplog.messages[0]) < 500


@pytest.mark.parametrize(("language", "title"), [("en", "You are not signed in"), ("zh-CN", "您尚未登录")])
def test_a_browser_is_refused_by_a_page_that_says_what_to_do(language: str, title: str) -> None:
    headers = {"accept": "text/html,*/*", "accept-language": language, "host": "127.0.0.1:8501"}
    scope: Scope = {
        "type": "http", "method": "GET", "path": "/home", "query_string": b"", "scheme": "http",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "server": ("127.0.0.1", 8501), "client": ("10.0.0.2", 50000),
    }  # fmt: skip
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    asyncio.run(behind_identity()(scope, receive, send))

    page = sent[1]["body"].decode()
    assert (sent[0]["status"], "<script" in page) == (401, False)
    assert f"<h1>{title}</h1>" in page
    assert '<p role="alert">' in page
    assert '<a href="/">' in page
