"""What the browser tests share: a console with a real sandbox beside it, and a real browser."""

import shutil
from collections.abc import Generator, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Error, Page, expect, sync_playwright

from tests.browser.console_process import ConsoleProcess
from tests.browser.prepared_console import PreparedConsole
from tests.browser.visit import LookAt, OpenWindow, Visit
from tests.browser.windows import WAIT_MS, Person, Windows, suited
from tests.sandbox_process import SandboxProcess

HERE = Path(__file__).parent

QUICK = {"poll_seconds": "0.5", "tick_seconds": "0.1", "retry_first_seconds": "0.5", "retry_most_seconds": "1"}
"""Settings for people who do not want to wait."""

OPENED = pytest.StashKey[list[tuple[Visit, Person]]]()
"""The windows that a test has opened, each with who looks into it."""

FAILED = pytest.StashKey[bool]()
"""Whether a test has failed: nobody looks on in its windows."""

FEW_LOOKS = "--js-flags=--no-opt --no-maglev --min-semi-space-size=32"
"""A page that is looked at once is gone before scripts that were optimised, or a memory that was tidied, pay."""


@pytest.fixture(scope="module")
def region(real_sandbox: SandboxProcess) -> SandboxProcess:
    """A sandbox that really runs its jobs, and has none yet."""
    real_sandbox.reset()
    return real_sandbox


@pytest.fixture(scope="module")
def region_folder(region: SandboxProcess, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A console's data folder, with that sandbox where a console expects it."""
    folder = tmp_path_factory.mktemp("console")
    (folder / "sandbox").symlink_to(region.data_dir)
    return folder


@pytest.fixture(scope="module")
def console(region_folder: Path) -> Iterator[ConsoleProcess]:
    """The console beside that sandbox."""
    process = PreparedConsole.start(region_folder, **QUICK)
    yield process
    process.stop()


class Chromium:
    """One browser for all tests here that follow each other: its start, and Streamlit's scripts, take seconds."""

    def __init__(self) -> None:
        self._end = ExitStack()
        self._windows: Windows | None = None

    def windows(self) -> Windows:
        """Its windows; it starts when it is first asked, and again should it have died."""
        if self._windows and not self._windows.browser.is_connected():
            self.close()
        if self._windows is None:
            expect.set_options(timeout=WAIT_MS)
            playwright = self._end.enter_context(sync_playwright())
            browser = playwright.chromium.launch(executable_path=chromium(), args=[FEW_LOOKS])
            self._end.callback(browser.close)
            self._windows = Windows(browser)
        return self._windows

    def close(self) -> None:
        """End it. Playwright keeps an event loop, which tests elsewhere must not meet."""
        self._windows = None
        self._end.close()


CHROMIUM = Chromium()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> Generator[None, None, None]:
    """The browser ends when all is taken down that used it, before the first test of elsewhere."""
    yield
    if nextitem is None or HERE not in nextitem.path.parents:
        CHROMIUM.close()


@pytest.fixture
def windows() -> Windows:
    """The windows of the browser."""
    return CHROMIUM.windows()


@pytest.fixture
def browser(windows: Windows) -> Browser:
    """Chromium itself."""
    return windows.browser


@pytest.fixture
def window(windows: Windows, request: pytest.FixtureRequest) -> Iterator[OpenWindow]:
    """Open a window on a console: its width, dark or light, and the person's language."""
    opened: list[tuple[Visit, Person]] = []
    request.node.stash[OPENED] = opened

    def open_one(console: ConsoleProcess, *, width: int = 1280, dark: bool = False, locale: str = "en-US") -> Visit:
        person = Person(width, dark, locale)
        opened.append((Visit(windows.lend(person), console), person))
        return opened[-1][0]

    yield open_one
    for visit, person in opened:
        visit.leave()
        windows.take_back(visit.page, person.locale)


@pytest.fixture(scope="module")
def standing() -> Iterator[dict[tuple[str, str], Page]]:
    """Windows that stand open from one test of a module to the next, by console and language."""
    pages: dict[tuple[str, str], Page] = {}
    yield pages
    for (_, locale), page in pages.items():
        CHROMIUM.windows().take_back(page, locale)


@pytest.fixture
def look(windows: Windows, standing: dict[tuple[str, str], Page], request: pytest.FixtureRequest) -> Iterator[LookAt]:
    """Show an address in the window in which the test before looked at that console: the session goes on, and nothing
    is loaded again, which would take longer than what most tests look at. At most one such window per language."""
    opened: list[tuple[Visit, Person]] = []
    request.node.stash[OPENED] = opened

    def look_at(
        console: ConsoleProcess, path: str, *, width: int = 1280, dark: bool = False, locale: str = "en-US"
    ) -> Visit:
        person = Person(width, dark, locale)
        page = standing.pop((console.url, locale), None)
        visit = Visit(suited(page, person) if page else windows.lend(person), console)
        opened.append((visit, person))
        if page:
            visit.close_dialog()
            visit.go_to(path)
        else:
            visit.open(path)
        return visit

    yield look_at
    for visit, person in opened:
        visit.leave()
        if request.node.stash.get(FAILED, False):
            windows.take_back(visit.page, person.locale)
        else:
            standing[visit.console_url, person.locale] = visit.page


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Of a test that failed, what stood in its windows: elsewhere nobody could look."""
    report = yield
    if report.when == "call" and report.failed:
        item.stash[FAILED] = True
        opened = item.stash.get(OPENED, [])
        report.sections += [(f"window {number}", _shown(visit)) for number, (visit, _) in enumerate(opened)]
    return report


def _shown(visit: Visit) -> str:
    try:
        return f"{visit.page.url}\n{visit.says()}"
    except Error as error:  # the browser itself has gone
        return str(error)


def chromium() -> str:
    """Where Chromium is; without it nothing can be looked at."""
    found = shutil.which("chromium")
    if not found:
        pytest.fail("the browser tests need chromium on the PATH (Debian: apt-get install chromium)", pytrace=False)
    return found
