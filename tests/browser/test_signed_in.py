"""A console behind a reverse proxy that says who somebody is: by page, deep link and stale tab, and past the proxy."""

import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from aisbench_core.config.settings import Settings
from aisbench_core.model import Role
from aisbench_core.wiring import Core, open_core
from pages._ui.session.ended import SERVER_ADDRESS
from tests import records as a
from tests.actors import TESTER
from tests.browser import stories
from tests.browser.conftest import QUICK
from tests.browser.console_process import ConsoleProcess
from tests.browser.prepared_console import PreparedConsole
from tests.browser.reverse_proxy import ADDRESS, COOKIE, ReverseProxy
from tests.browser.visit import OpenWindow, Visit

_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@pytest.fixture(scope="module")
def console(region_folder: Path) -> Iterator[ConsoleProcess]:
    """A console that lets nobody in but through the proxy."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FORWARDED_ALLOW_IPS", "")
        process = PreparedConsole.start(
            region_folder, identity="proxy", trusted_proxies=ADDRESS, group_roles="perf=engineer", **QUICK
        )
    yield process
    process.stop()


@pytest.fixture(scope="module")
def proxy(console: ConsoleProcess) -> Iterator[ReverseProxy]:
    """The proxy before it; `eve` is of the group whose members are engineers."""
    proxy = ReverseProxy(urlsplit(console.url).port or 0, {"eve": "perf"})
    proxy.start()
    yield proxy
    proxy.stop()


class Proxied:
    """What a window opens instead of the console: the proxy's address, and what the console said."""

    def __init__(self, proxy: ReverseProxy, console: ConsoleProcess) -> None:
        self.url = proxy.url
        self._console = console

    @property
    def said(self) -> str:
        """Everything that the console wrote."""
        return self._console.said


@pytest.fixture
def core(console: ConsoleProcess) -> Core:
    """The console's core in a shell of its machine."""
    return open_core(Settings(data_dir=console.data_dir))


def enter(window: OpenWindow, proxy: ReverseProxy, console: ConsoleProcess, name: str) -> Visit:
    """A window of somebody who has signed in at the proxy."""
    visit = window(cast("ConsoleProcess", Proxied(proxy, console)))
    visit.page.context.add_cookies([{"name": COOKIE, "value": name, "url": proxy.url}])
    return visit


def refused(url: str, **headers: str) -> tuple[int, str]:
    """Status and text of a refused request."""
    request = urllib.request.Request(url, headers={name.replace("_", "-"): value for name, value in headers.items()})
    with pytest.raises(urllib.error.HTTPError) as error:
        _DIRECT.open(request, timeout=30)
    with error.value as answer:
        return error.value.code, answer.read().decode()


def test_past_the_proxy_nobody_gets_in_whatever_headers_say(console: ConsoleProcess, proxy: ReverseProxy) -> None:
    spoofed = {"X_Forwarded_User": "root", "X_Forwarded_For": ADDRESS}

    for path in ("/", "/runs", "/_stcore/host-config", "/static/index.html", "/tensorboard/token/"):
        assert refused(console.url + path, **spoofed)[0] == 403

    status, text = refused(proxy.url + "/runs", X_Forwarded_User="root")
    assert (status, text) == (401, "The proxy sent no user name: sign in there.\n")
    with _DIRECT.open(f"{console.url}/_stcore/health", timeout=30) as answer:
        assert answer.read() == b"ok"


def test_a_viewer_launches_by_no_page_link_or_stale_tab(
    console: ConsoleProcess, proxy: ReverseProxy, window: OpenWindow, core: Core
) -> None:
    core.people.set_role("vic", Role.VIEWER, TESTER)
    visit = enter(window, proxy, console, "vic")

    visit.open("/configure")  # the deep link that was asked for
    expect(visit.page).to_have_url(f"{proxy.url}/configure")

    stories.launches_by_no_page_link_or_stale_tab(visit, core, "vic")


def test_an_engineer_by_group_launches_and_is_named(
    console: ConsoleProcess, proxy: ReverseProxy, window: OpenWindow, core: Core
) -> None:
    visit = enter(window, proxy, console, "eve")

    stories.launches_and_is_named(visit, core, "eve")


def test_whoever_is_revoked_is_out_of_an_open_page_within_a_minute(
    console: ConsoleProcess, proxy: ReverseProxy, window: OpenWindow, core: Core
) -> None:
    core.people.set_role("max", Role.LEAD, TESTER)
    visit = enter(window, proxy, console, "max")
    visit.open("/runs")

    stories.is_out_of_an_open_page_within_a_minute(visit, core, "max")


def test_behind_a_path_prefix_everything_is_below_it(window: OpenWindow, console: ConsoleProcess, core: Core) -> None:
    core.warehouse.record(a.record("below-a-prefix"))
    prefixed = ReverseProxy(urlsplit(console.url).port or 0, {"eve": "perf"}, prefix="/bench")
    prefixed.start()
    try:
        visit = enter(window, prefixed, console, "eve")

        visit.open("/live?run=below-a-prefix")

        expect(visit.page.get_by_role("heading", level=1)).to_be_visible()
        assert visit.page.evaluate(f"fetch({SERVER_ADDRESS}).then(answer => answer.status)") == 200
        visit.menu("Leaderboard")
        assert visit.page.url.startswith(f"{prefixed.url}/leaderboard")
        assert visit.troubles() == []
        visit.leave()
    finally:
        prefixed.stop()


def test_whoever_is_signed_in_downloads_results(
    console: ConsoleProcess, proxy: ReverseProxy, window: OpenWindow, core: Core
) -> None:
    visit = enter(window, proxy, console, "vic")

    stories.downloads_results(visit, core)
