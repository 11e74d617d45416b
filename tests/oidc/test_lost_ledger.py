"""A ledger in PostgreSQL that does not answer holds up nobody, and visitors read a sentence."""

import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
import uvicorn
from pydantic import SecretStr
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from aisbench_core.config.console_address import FORWARDED
from aisbench_core.config.identity import Identity
from aisbench_core.config.settings import Settings
from aisbench_core.interfaces.web.identity import HEALTH, IdentityMiddleware, proxy_identity, refuse_name
from aisbench_core.interfaces.web.ledger_checks import PAUSE_SECONDS
from aisbench_core.interfaces.web.oidc.provider import Provider, Registration
from aisbench_core.interfaces.web.oidc.sign_in import SignInDoor, SignInMiddleware
from aisbench_core.wiring import Core, open_core
from tests.oidc.browser import Browser
from tests.oidc.own_provider import CLIENT_ID, SECRET
from tests.postgres_server import PASSWORD, PostgresServer
from tests.team_ledger import PASSWORD_VARIABLE, url_of

CONNECT_SECONDS = 3.0
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))

Visit = Callable[..., tuple[int, str, float]]


async def console(scope: Scope, receive: Receive, send: Send) -> None:
    await PlainTextResponse("in")(scope, receive, send)


@pytest.fixture
def silent(tmp_path: Path) -> Iterator[Settings]:
    """A console whose ledger is at a port that takes connections and never answers, as a frozen server does."""
    with socket.create_server(("127.0.0.1", 0), backlog=300) as listener:
        where = f"127.0.0.1:{listener.getsockname()[1]}/bench?connect_timeout={CONNECT_SECONDS:.0f}&sslmode=disable"
        yield Settings(
            data_dir=tmp_path / "data", ledger=f"postgresql://secret-user@{where}", identity=Identity.OIDC,
            oidc_issuer="https://id.example.org", oidc_client_id=CLIENT_ID, trusted_proxies="127.0.0.1",
        )  # fmt: skip


def behind_proxy(settings: Settings, core: Core) -> ASGIApp:
    proxied = settings.model_copy(update={"identity": Identity.PROXY})
    identity = proxy_identity(proxied, {FORWARDED: ""}, partial(refuse_name, core.people), core.sign_in_audit)
    return IdentityMiddleware(console, lambda: identity)


def behind_sign_in(settings: Settings, core: Core) -> ASGIApp:
    registration = Registration(settings.oidc_issuer, CLIENT_ID, SecretStr(SECRET), settings.oidc_scopes)
    door = SignInDoor(settings, Provider(registration), core.sign_ins, core.sign_in_audit)
    return SignInMiddleware(console, lambda: door)


@pytest.fixture(params=[behind_proxy, behind_sign_in])
def visit(silent: Settings, request: pytest.FixtureRequest) -> Iterator[Visit]:
    """Visits such a console."""
    with served(request.param(silent, open_core(silent))) as visited:
        yield visited


@contextmanager
def served(app: ASGIApp) -> Iterator[Visit]:
    """Get an address of an app as somebody who is signed in: status, text and seconds."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=300)
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="off"))
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()

    def visited(path: str, accept: str = "text/html", language: str = "en") -> tuple[int, str, float]:
        headers = {
            "Accept": accept, "Accept-Language": language, "X-Forwarded-User": "ann", "Cookie": "aisbench_session=x",
        }  # fmt: skip
        address = f"http://127.0.0.1:{listener.getsockname()[1]}{path}"
        began = time.monotonic()
        try:
            with DIRECT.open(urllib.request.Request(address, headers=headers), timeout=60) as answer:
                status, text = answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                status, text = error.code, error.read().decode()
        return status, text, time.monotonic() - began

    yield visited
    server.should_exit = True
    thread.join(30)
    listener.close()


def test_nobody_else_waits_and_visitors_read_what_is_wrong(visit: Visit, caplog: pytest.LogCaptureFixture) -> None:
    with ThreadPoolExecutor(1) as visitors:
        waiting = visitors.submit(visit, "/runs")
        time.sleep(0.3)
        health = visit(HEALTH)
        status, page, seconds = waiting.result()

    assert (health[0], health[1]) == (200, "in")
    assert health[2] < 1
    assert status == 503
    assert seconds >= CONNECT_SECONDS - 1
    assert "the console cannot read its ledger" in page
    assert page.startswith("<!doctype html>")
    assert "secret-user" not in page
    assert "secret-user" in caplog.text
    assert "控制台无法读取台账" in visit("/runs", language="zh-CN")[1]
    plain = visit("/_stcore/upload_file/a/b", accept="*/*")
    assert (plain[0], plain[1].startswith("the console cannot read its ledger")) == (503, True)
    assert "Traceback" not in caplog.text


def test_many_visitors_do_not_wait_for_one_connection_each(visit: Visit) -> None:
    visit("/runs")

    began = time.monotonic()
    with ThreadPoolExecutor(60) as visitors:
        statuses = {answer[0] for answer in visitors.map(visit, ["/runs"] * 120)}

    assert statuses == {503}
    assert time.monotonic() - began < 2 * CONNECT_SECONDS


@pytest.mark.postgres
def test_a_ledger_that_is_back_is_asked_again(
    postgres: PostgresServer, silent: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PASSWORD_VARIABLE, PASSWORD)
    postgres.create("lost_ledger")
    settings = silent.model_copy(update={"ledger": url_of(postgres, "lost_ledger")})
    with served(behind_proxy(settings, open_core(settings))) as visit:
        before = visit("/runs")
        postgres.kill()
        lost = [visit("/runs") for _ in range(3)]
        postgres.resume()
        time.sleep(PAUSE_SECONDS)
        after = visit("/runs")

    assert (before[:2], after[:2]) == ((200, "in"), (200, "in"))
    assert {status for status, *_ in lost} == {503}


def test_a_sign_in_says_so_too(silent: Settings, caplog: pytest.LogCaptureFixture) -> None:
    browser = Browser(behind_sign_in(silent, open_core(silent)))
    browser.cookies["aisbench_session"] = "x"

    answer = browser.get("/sign-in?page=/runs")

    assert answer.status == 503
    assert "the console cannot read its ledger" in answer.text
    assert "secret-user" not in answer.text
    assert "Traceback" not in caplog.text
