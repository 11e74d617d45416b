"""What the browser tests share: a console with a real sandbox beside it, and a real browser."""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from playwright.sync_api import Browser, BrowserContext, expect, sync_playwright

from tests.browser.console_process import ConsoleProcess
from tests.browser.visit import HEIGHT, WAIT_MS, OpenWindow, Visit
from tests.sandbox_process import SandboxProcess

QUICK = {"poll_seconds": "0.5", "tick_seconds": "0.1", "retry_first_seconds": "0.5", "retry_most_seconds": "1"}
"""Settings for people who do not want to wait."""


@pytest.fixture(scope="module")
def region(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SandboxProcess]:
    """A sandbox that really runs its jobs, in the place where a console expects it."""
    folder = tmp_path_factory.mktemp("console") / "sandbox"
    folder.mkdir()
    process = SandboxProcess.start(folder, engine="subprocess")
    yield process
    process.stop()


@pytest.fixture(scope="module")
def console(region: SandboxProcess) -> Iterator[ConsoleProcess]:
    """The console beside that sandbox."""
    process = ConsoleProcess.start(region.data_dir.parent, **QUICK)
    yield process
    process.stop()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium, one for each module: Playwright keeps an event loop, which tests elsewhere must not meet."""
    expect.set_options(timeout=WAIT_MS)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=_chromium())
        yield chromium
        chromium.close()


@pytest.fixture
def window(browser: Browser) -> Iterator[OpenWindow]:
    """Open a window on a console: its width, dark or light, and the person's language."""
    with ExitStack() as closing:

        def opened(console: ConsoleProcess, *, width: int = 1280, dark: bool = False, locale: str = "en-US") -> Visit:
            context = closing.enter_context(_person(browser, width, dark, locale))
            return Visit(context.new_page(), console)

        yield opened


def _person(browser: Browser, width: int, dark: bool, locale: str) -> BrowserContext:
    return browser.new_context(
        viewport={"width": width, "height": HEIGHT},
        color_scheme="dark" if dark else "light",
        locale=locale,
        timezone_id="Asia/Shanghai",
        accept_downloads=True,
    )


def _chromium() -> str:
    found = shutil.which("chromium")
    if not found:
        pytest.fail("the browser tests need chromium on the PATH (Debian: apt-get install chromium)", pytrace=False)
    return found
