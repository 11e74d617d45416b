"""A console whose people sign in at an OpenID Connect provider; the same story for two that others wrote."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, WebSocketRoute, expect

from aisbench_core.config.settings import Settings
from aisbench_core.model import Role
from aisbench_core.wiring import Core, open_core
from pages._ui.shell.status import RESULTS_SECONDS, SECONDS
from tests import records as a
from tests.actors import TESTER
from tests.browser import stories
from tests.browser.conftest import QUICK
from tests.browser.console_process import ConsoleProcess
from tests.browser.prepared_console import PreparedConsole
from tests.browser.test_looks import axe_violations
from tests.browser.visit import OpenWindow, Visit
from tests.oidc.providers import CLIENT_ID, SECRET, STYLES, NodeProvider, OidcProvider, PythonProvider
from tests.sandbox_process import SandboxProcess

PEOPLE = {
    f"subject-{name}": {"preferred_username": name, "groups": groups}
    for name, groups in {"vic": [], "eve": ["perf"], "max": [], "ann": []}.items()
} | {"subject-impostor": {"preferred_username": "eve", "groups": []}}

LOOK_MS = 50
DEEP_LINK = "/leaderboard?lang=en&sort=duration"


BOTH = pytest.mark.parametrize("provider", [PythonProvider, NodeProvider], ids=lambda kind: kind.name, indirect=True)
"""What a provider has a part in. The rest is between browser and console, once somebody has signed in."""

EITHER = pytest.mark.parametrize(
    "provider",
    [pytest.param(PythonProvider, marks=pytest.mark.exhaustive), NodeProvider],
    ids=lambda kind: kind.name,
    indirect=True,
)


@pytest.fixture(scope="module")
def provider(request: pytest.FixtureRequest) -> Iterator[OidcProvider]:
    """A provider, which `console` starts."""
    provider: OidcProvider = request.param(PEOPLE)
    yield provider
    provider.stop()


@pytest.fixture(scope="module")
def console(
    region: SandboxProcess, provider: OidcProvider, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ConsoleProcess]:
    """A console that the provider knows, with a folder of its own beside the sandbox's."""
    data_dir = tmp_path_factory.mktemp("oidc")
    (data_dir / "sandbox").symlink_to(region.data_dir)
    oidc = {"oidc_issuer": provider.issuer, "oidc_client_id": CLIENT_ID, "oidc_client_secret": SECRET}
    process = PreparedConsole(data_dir, {"identity": "oidc", "group_roles": "perf=engineer", **oidc, **QUICK})
    provider.start(process.url)
    process.resume()
    yield process
    assert SECRET not in process.said
    process.stop()


@pytest.fixture
def core(console: ConsoleProcess) -> Core:
    """The console's core in a shell of its machine."""
    return open_core(Settings(data_dir=console.data_dir))


class SlowLine:
    """The connection of a page, whose answers can be held back."""

    def __init__(self, browser: Page) -> None:
        self._browser = browser
        self.is_held = False
        self._held: list[str | bytes] = []
        self._asked: list[str | bytes] = []
        self._page: WebSocketRoute | None = None
        self._server: WebSocketRoute | None = None

    def open(self, page: WebSocketRoute) -> None:
        """Connect the page with its server."""
        self._page, self._server = page, page.connect_to_server()
        page.on_message(self._ask)
        self._server.on_message(self._answer)

    def wait_for(self, text: bytes) -> None:
        """Wait until an answer with this text is held back."""
        for _ in range(stories.OUT_MS // LOOK_MS):
            if any(text in message for message in self._held if isinstance(message, bytes)):
                return
            self._browser.wait_for_timeout(LOOK_MS)
        raise AssertionError(f"no answer with {text!r}")

    def release(self) -> None:
        """Give the page what was held back, in its order."""
        assert self._page
        self.is_held = False
        for message in self._held:
            self._page.send(message)

    def _ask(self, message: str | bytes) -> None:
        """Pass a request on. While answers are held back, a timer asks once, however often it is due."""
        assert self._server
        if self.is_held and message in self._asked:
            return
        self._asked += [message] if self.is_held else []
        self._server.send(message)

    def _answer(self, message: str | bytes) -> None:
        assert self._page
        if self.is_held:
            self._held.append(message)
        else:
            self._page.send(message)


def sign_in(visit: Visit, provider: OidcProvider, name: str, path: str = "/runs") -> None:
    """Ask for a page, and get it after the sign-in at the provider."""
    visit.page.route(STYLES, lambda route: route.abort())
    visit.page.goto(visit.url(path))
    visit.page.get_by_role("link", name="Sign in").click()
    provider.sign_in(visit.page, f"subject-{name}")
    visit.settle()
    visit.forgive()


@EITHER
def test_without_sign_in_there_is_a_link_to_the_provider_and_nothing_else(
    console: ConsoleProcess, window: OpenWindow
) -> None:
    visit = window(console)

    answer = visit.page.goto(visit.url(DEEP_LINK))

    assert answer
    assert answer.status == 401
    assert visit.page.locator("a, button, input, script").count() == 1
    assert axe_violations(visit) == []
    assert visit.page.context.cookies() == []


@BOTH
def test_whoever_signs_in_is_where_they_wanted_to_be(
    console: ConsoleProcess, provider: OidcProvider, window: OpenWindow
) -> None:
    visit = window(console)

    sign_in(visit, provider, "ann", DEEP_LINK)

    expect(visit.page).to_have_url(visit.url(DEEP_LINK))
    expect(visit.page.get_by_text("Signed in: ann, viewer")).to_be_visible()
    (cookie,) = [each for each in visit.page.context.cookies() if each["name"] == "aisbench_session"]
    assert (cookie["httpOnly"], cookie["sameSite"], cookie["expires"]) == (True, "Lax", -1)
    assert visit.troubles() == []


@EITHER
def test_a_viewer_launches_by_no_page_link_or_stale_tab(
    console: ConsoleProcess, provider: OidcProvider, window: OpenWindow, core: Core
) -> None:
    visit = window(console)
    sign_in(visit, provider, "vic", "/configure")

    stories.launches_by_no_page_link_or_stale_tab(visit, core, "vic")


@BOTH
def test_an_engineer_by_group_launches_and_is_named(
    console: ConsoleProcess, provider: OidcProvider, window: OpenWindow, core: Core
) -> None:
    visit = window(console)
    sign_in(visit, provider, "eve")

    stories.launches_and_is_named(visit, core, "eve")


@BOTH
def test_another_account_of_the_same_name_is_not_let_in(
    console: ConsoleProcess, provider: OidcProvider, window: OpenWindow
) -> None:
    first, second = window(console), window(console, width=1000)
    sign_in(first, provider, "eve")
    _ask(second.page, second.url("/runs"))

    provider.sign_in(second.page, "subject-impostor")

    expect(second.page.get_by_role("alert")).to_contain_text("another account already has the name eve")
    assert [each for each in second.page.context.cookies() if each["name"] == "aisbench_session"] == []


@EITHER
def test_whoever_is_revoked_is_out_of_an_open_page_within_a_minute(
    console: ConsoleProcess, provider: OidcProvider, window: OpenWindow, core: Core
) -> None:
    core.people.set_role("max", Role.LEAD, TESTER)
    visit = window(console)
    sign_in(visit, provider, "max")

    stories.is_out_of_an_open_page_within_a_minute(visit, core, "max")


@BOTH
def test_after_signing_out_every_tab_is_out_and_the_provider_has_to_ask_again(
    console: ConsoleProcess, provider: OidcProvider, window: OpenWindow
) -> None:
    visit = window(console)
    sign_in(visit, provider, "ann")
    other = visit.page.context.new_page()
    other.goto(visit.url("/leaderboard"))
    expect(other.get_by_role("heading", level=1)).to_be_visible()

    visit.open_options()
    visit.page.get_by_role("button", name="Sign out").click()

    for page in (visit.page, other):
        expect(page.get_by_text("you are signed out")).to_be_visible(timeout=stories.OUT_MS)
    other.close()
    visit.page.get_by_role("link", name="Sign in").click()
    visit.page.get_by_role("heading", name="Sign in to AISBench Console").wait_for()
    with visit.page.expect_request(re.compile(r".*prompt=login.*")):
        visit.page.get_by_role("link", name="Sign in").click()
    provider.sign_in(visit.page, "subject-ann", again=True)  # a provider that knew her would have led on without asking
    visit.settle()


@EITHER
def test_a_page_whose_session_has_ended_says_so_although_another_timer_has_fired(
    console: ConsoleProcess, provider: OidcProvider, window: OpenWindow, core: Core
) -> None:
    core.warehouse.record(a.record("in-a-table"))
    visit = window(console)
    sign_in(visit, provider, "ann")
    line = SlowLine(visit.page)
    visit.page.route_web_socket(re.compile("/_stcore/stream"), line.open)
    visit.page.clock.install()
    visit.open("/leaderboard?region=cn-north-9")
    (session,) = [each for each in visit.page.context.cookies() if each["name"] == "aisbench_session"]

    core.sign_ins.end(session["value"])
    line.is_held = True
    visit.page.clock.fast_forward(SECONDS * 1000)  # the menu's timer finds the session ended
    line.wait_for(b"you are signed out")
    visit.page.clock.fast_forward(RESULTS_SECONDS * 1000)  # the page, which does not know it yet, asks for results
    visit.page.wait_for_timeout(2_000)  # whether that is answered or not
    line.release()

    expect(visit.page.get_by_text("you are signed out")).to_be_visible()
    assert visit.troubles() == []


@EITHER
def test_a_person_ends_the_session_of_another_browser(
    console: ConsoleProcess, provider: OidcProvider, window: OpenWindow
) -> None:
    here, there = window(console), window(console, width=1000)
    for visit in (here, there):
        sign_in(visit, provider, "vic")
    here.open_options()
    here.page.get_by_role("button", name="Sessions").click()
    dialog = here.page.get_by_role("dialog")
    expect(dialog.get_by_text("This browser")).to_have_count(1)
    expect(dialog.get_by_text("Chrome, Linux · 127.0.0.1").first).to_be_visible()

    dialog.get_by_role("button", name="End all other sessions").click()

    expect(dialog.get_by_role("button", name="End session", exact=True)).to_have_count(0)
    expect(there.page.get_by_text("you are signed out")).to_be_visible(timeout=stories.OUT_MS)
    expect(here.page.get_by_text("Signed in: vic")).to_be_visible()


@EITHER
def test_whoever_is_signed_in_downloads_results(
    console: ConsoleProcess, provider: OidcProvider, window: OpenWindow, core: Core
) -> None:
    visit = window(console)
    sign_in(visit, provider, "ann")

    stories.downloads_results(visit, core)


@EITHER
def test_a_console_that_was_started_again_goes_on_with_the_page(
    console: ConsoleProcess, provider: OidcProvider, window: OpenWindow
) -> None:
    visit = window(console)
    sign_in(visit, provider, "ann", DEEP_LINK)

    console.kill()
    console.resume()

    expect(visit.page.locator('[data-testid="stApp"][data-test-connection-state="CONNECTED"]')).to_be_visible()
    visit.page.reload()
    visit.settle()
    expect(visit.page.get_by_text("Signed in: ann")).to_be_visible()
    expect(visit.page).to_have_url(visit.url(DEEP_LINK))


@EITHER
def test_a_session_that_ends_while_the_console_is_down_leads_to_the_sign_in_in_place_of_the_page(
    console: ConsoleProcess, provider: OidcProvider, window: OpenWindow, core: Core
) -> None:
    visit = window(console)
    sign_in(visit, provider, "ann", DEEP_LINK)
    (session,) = [cookie for cookie in visit.page.context.cookies() if cookie["name"] == "aisbench_session"]

    console.kill()
    core.sign_ins.end(session["value"])
    console.resume()

    expect(visit.page.get_by_role("heading", name="Sign in to AISBench Console")).to_be_visible()
    expect(visit.page).to_have_url(visit.url(DEEP_LINK))


@BOTH
def test_who_refuses_is_told_so_and_can_try_again(
    console: ConsoleProcess, provider: OidcProvider, window: OpenWindow
) -> None:
    visit = window(console)
    _ask(visit.page, visit.url(DEEP_LINK))

    provider.deny(visit.page)

    expect(visit.page.get_by_role("alert")).to_have_text("access was denied at the provider")
    visit.page.get_by_role("link", name="Sign in").click()
    provider.sign_in(visit.page, "subject-ann")
    visit.settle()
    expect(visit.page).to_have_url(visit.url(DEEP_LINK if provider.refuses_with_state else "/home?lang=en"))


def _ask(page: Page, address: str) -> None:
    page.route(STYLES, lambda route: route.abort())
    page.goto(address)
    page.get_by_role("link", name="Sign in").click()
