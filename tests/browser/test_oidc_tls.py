"""Sign-in with OpenID Connect over HTTPS, as behind the proxy of docs/deploy.md, which only ends TLS."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.console_process import ConsoleProcess
from tests.browser.prepared_console import PreparedConsole
from tests.browser.reverse_proxy import ReverseProxy
from tests.browser.test_signed_in import Proxied
from tests.browser.visit import Visit
from tests.browser.windows import WAIT_MS
from tests.contract.certificates import self_signed
from tests.oidc.providers import CLIENT_ID, SECRET, STYLES, PythonProvider


@pytest.fixture
def provider() -> Iterator[PythonProvider]:
    provider = PythonProvider({"subject-ann": {"preferred_username": "ann"}})
    yield provider
    provider.stop()


@pytest.fixture
def proxied(tmp_path: Path, provider: PythonProvider) -> Iterator[Proxied]:
    """The console at its address with TLS."""
    issuer = {"oidc_issuer": provider.issuer, "oidc_client_id": CLIENT_ID, "oidc_client_secret": SECRET}
    console = PreparedConsole(tmp_path / "data", {"identity": "oidc", **issuer})
    certificate = self_signed(tmp_path, datetime.now(UTC) + timedelta(days=1))
    proxy = ReverseProxy(urlsplit(console.url).port or 0, {}, certificate)
    console.set(public_url=proxy.url)
    console.data_dir.mkdir()
    provider.start(proxy.url)
    console.resume()
    proxy.start()
    yield Proxied(proxy, console)
    proxy.stop()
    console.stop()


@pytest.fixture
def visit(browser: Browser, proxied: Proxied) -> Iterator[Visit]:
    """A window of a browser that trusts the proxy's certificate."""
    context = browser.new_context(ignore_https_errors=True, locale="en-US")
    context.set_default_timeout(WAIT_MS)
    context.route(STYLES, lambda route: route.abort())
    yield Visit(context.new_page(), cast("ConsoleProcess", proxied))
    context.close()


def test_over_https_cookies_are_secure_and_pages_live(visit: Visit, provider: PythonProvider) -> None:
    visit.page.goto(visit.url("/leaderboard?lang=en"))
    visit.page.get_by_role("link", name="Sign in").click()
    provider.sign_in(visit.page, "subject-ann")

    visit.settle()

    expect(visit.page).to_have_url(visit.url("/leaderboard?lang=en"))
    expect(visit.page.get_by_text("Signed in: ann, viewer")).to_be_visible()
    cookies = {each["name"]: each for each in visit.page.context.cookies()}
    session = cookies["__Host-aisbench_session"]
    assert (session["secure"], session["httpOnly"], session["sameSite"]) == (True, True, "Lax")
    assert {name for name in cookies if "aisbench" in name} == {"__Host-aisbench_session", "__Host-aisbench_browser"}
