"""A deep link that is the first request to a fresh server still passes the entry."""

from collections.abc import Iterator, Mapping

import pytest
from playwright.sync_api import expect

from aisbench_core.config.settings import Settings
from aisbench_core.model.token import TokenRequest
from aisbench_core.wiring import open_core
from tests.actors import TESTER
from tests.browser.console_process import ConsoleProcess
from tests.browser.visit import OpenWindow, Visit
from tests.flow.api_process import Program

MENU = [
    "Home",
    "New run",
    "Runs",
    "Series",
    "Region",
    "Leaderboard",
    "Compare",
    "Scaling",
    "History",
    "Spending",
    "Import results",
    "Notifications",
    "Health",
]

TITLES = {
    "/": "Home",
    "/home": "Home",
    "/configure": "New run",
    "/runs": "Runs",
    "/live": "Active runs",
    "/series": "Series",
    "/region": "Region",
    "/configuration": "Configuration",
    "/leaderboard": "Leaderboard",
    "/compare": "Compare",
    "/scaling": "Scaling",
    "/spending": "Spending",
    "/import": "Import results",
    "/history": "History",
    "/notifications": "Notifications",
    "/health": "Health",
    "/audit": "Audit",
    "/people": "People",
}


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> ConsoleProcess:
    """A console that does not run yet. Its address stays, so the browser compiles its scripts once."""
    return ConsoleProcess(tmp_path_factory.mktemp("fresh"), {})


@pytest.fixture
def fresh(console: ConsoleProcess) -> Iterator[ConsoleProcess]:
    """A server that nobody has visited yet."""
    console.resume()
    yield console
    console.stop()


FRESH = ("/", "/live", "/audit")
"""Start page, the page that is not on the menu, and the one for leads: the others meet the same entry."""


@pytest.mark.parametrize(
    "path", [pytest.param(path, marks=() if path in FRESH else pytest.mark.exhaustive) for path in TITLES]
)
def test_the_first_deep_link_to_a_fresh_server_is_met_by_the_entry(
    fresh: ConsoleProcess, window: OpenWindow, path: str
) -> None:
    visit = window(fresh)

    headers = visit.open(path)

    _assert_is_met_by_the_entry(visit, path, headers)


def test_each_deep_link_leads_to_its_page(fresh: ConsoleProcess, window: OpenWindow) -> None:
    visit = window(fresh)

    for path in TITLES:
        headers = visit.open(path)

        _assert_is_met_by_the_entry(visit, path, headers)


def _assert_is_met_by_the_entry(visit: Visit, path: str, headers: Mapping[str, str]) -> None:
    expect(visit.page).to_have_title(f"{TITLES[path]} – AISBench")
    assert visit.menu_titles() == MENU
    expect(visit.keyed("options").get_by_role("button")).to_be_visible()
    expect(visit.page.get_by_test_id("stException")).to_have_count(0)
    _assert_nobody_else_has_a_say(headers)
    assert visit.troubles() == []


def _assert_nobody_else_has_a_say(headers: Mapping[str, str]) -> None:
    assert headers["x-frame-options"] == "DENY"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert "default-src 'self'" in headers["content-security-policy"]
    assert "frame-ancestors 'none'" in headers["content-security-policy"]


def test_an_open_page_is_counted_in_the_metrics(fresh: ConsoleProcess, window: OpenWindow) -> None:
    core = open_core(Settings(data_dir=fresh.data_dir))
    program = Program(fresh.url, core.tokens.create(TokenRequest(name="monitoring"), TESTER)[1].plain)
    before = program.get("//metrics").content.decode().splitlines()

    window(fresh).open("/health")
    after = program.get("//metrics").content.decode().splitlines()

    assert "aisbench_sessions 0" in before
    assert "aisbench_sessions 1" in after
