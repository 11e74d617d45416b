"""When a page's main answer stands in a real browser, with 20,000 runs, beside a Streamlit page that holds one line."""

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from filelock import FileLock
from playwright.sync_api import Browser, Error, Page, sync_playwright

from tests.bench.figures import put_page
from tests.browser import grown_warehouses
from tests.browser.conftest import chromium
from tests.browser.console_process import ConsoleProcess
from tests.browser.test_above_the_fold import PAGES, addresses
from tests.browser.windows import HEIGHT
from tests.ports import free_port
from tests.sandbox_process import SandboxProcess

RUNS = 20_000
VISITS = 3
BLANK = 'import streamlit as st\n\nst.markdown("One line")\n'
LINE = '[data-testid="stMarkdown"]'
MOST = 5
"""How many times as long as one line a page may take: only a guard, the goal is in the table."""


@pytest.fixture
def browser() -> Iterator[Browser]:
    """A browser of its own, as people have it: scripts are optimised."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium())
        yield browser
        browser.close()


@contextmanager
def blank_page(folder: Path) -> Iterator[str]:
    """The address of the peer."""
    script, port = folder / "blank.py", free_port()
    script.write_text(BLANK, "utf-8")
    settings = ("--server.headless", "true", "--browser.gatherUsageStats", "false", "--server.port", str(port))
    command = [sys.executable, "-m", "streamlit", "run", str(script), *settings, "--server.address", "127.0.0.1"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def first_paint_s(page: Page, address: str, css: str) -> float:
    """The median duration until the answer is visible; the first visit fetches scripts and is not counted."""
    durations = []
    for _ in range(VISITS + 1):
        page.goto("about:blank")
        start = time.perf_counter()
        page.goto(address, wait_until="commit")
        page.get_by_test_id("stMain").locator(css).first.wait_for()
        durations.append(time.perf_counter() - start)
    return statistics.median(durations[1:])


def wait_until_it_answers(page: Page, address: str) -> None:
    """Streamlit takes seconds to start."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            page.goto(address)
        except Error:
            time.sleep(0.1)
        else:
            return
    raise AssertionError(f"nothing answers at {address}")


def test_pages_of_many_runs_are_painted_soon(tmp_path: Path, browser: Browser) -> None:
    grown_warehouses.fill(tmp_path, RUNS)
    page = browser.new_page(viewport={"width": 1280, "height": HEIGHT})
    with blank_page(tmp_path) as blank:
        wait_until_it_answers(page, blank)
        blank_s = first_paint_s(page, blank, LINE)
    put_page("a blank Streamlit page", {"first paint": f"{blank_s:.2f} s"})
    slow = []

    sandbox = SandboxProcess.start(tmp_path / "region")
    grown_warehouses.add_region(tmp_path, sandbox)
    with FileLock(tmp_path / "follower.lock"):
        console = ConsoleProcess.start(tmp_path)
        try:
            for name, address in addresses(console).items():
                taken = first_paint_s(page, console.url + address, PAGES[name][-1].css)
                put_page(TITLES[name], {"first paint": f"{taken:.2f} s"})
                slow += [name] if taken > MOST * blank_s else []
        finally:
            console.stop()
            sandbox.stop()

    assert slow == []


TITLES = {
    "home": "Home",
    "configure": "New run",
    "runs": "Runs",
    "live": "Run page",
    "series": "Series",
    "leaderboard": "Leaderboard",
    "configuration": "Configuration",
    "compare": "Compare, 4 runs",
    "compare-groups": "Compare, 2 configurations",
    "scaling": "Scaling",
    "history": "History",
    "history-one": "History of one configuration",
    "import": "Import results",
    "region": "Region",
    "notifications": "Notifications",
    "health": "Health",
}
"""As the other figures name the pages."""
