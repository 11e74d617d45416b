"""When a page's main answer stands in a real browser, with 20,000 runs, beside a Streamlit page that holds one line."""

import statistics
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from filelock import FileLock
from playwright.sync_api import Browser, Page, sync_playwright

from tests.bench.figures import put_page
from tests.browser import grown_warehouses
from tests.browser.conftest import chromium
from tests.browser.console_process import ConsoleProcess
from tests.browser.page_loads import blank_page, open_blank_page
from tests.browser.test_above_the_fold import PAGES, addresses
from tests.browser.windows import HEIGHT
from tests.sandbox_process import SandboxProcess

RUNS = 20_000
VISITS = 3
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


def test_pages_of_many_runs_are_painted_soon(tmp_path: Path, browser: Browser) -> None:
    grown_warehouses.fill(tmp_path, RUNS)
    page = browser.new_page(viewport={"width": 1280, "height": HEIGHT})
    with blank_page(tmp_path) as blank:
        open_blank_page(page, blank)
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
