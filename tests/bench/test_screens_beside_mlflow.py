"""What the list of runs and the page of one show and cost in a browser, beside MLflow's for as many runs of its own."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from filelock import FileLock
from playwright.sync_api import Browser, Locator, Page, sync_playwright

from tests.bench.test_beside_mlflow import PEER, PYTHON
from tests.bench.test_first_paint import TITLES
from tests.browser import grown_warehouses
from tests.browser.conftest import chromium
from tests.browser.console_process import ConsoleProcess
from tests.browser.page_loads import WORDS, Transfer, blank_page, open_blank_page
from tests.browser.shifts import WATCH
from tests.browser.test_above_the_fold import addresses
from tests.browser.windows import HEIGHT
from tests.mlflow_server import real_tracking_server

RUNS = 260
DOCUMENT = Path(__file__).parents[2] / "docs" / "comparison.md"
SECTION = re.compile(r"(?<=^\| screen )(.|\n)*?(?=\n\n|\Z)", re.MULTILINE)
HEADS = ("result ends at", f"runs on {HEIGHT} px", "words above the fold", "cold load", "layout shift")
WAIT_MS = 120_000

RUN_ROWS, RESULT = "tbody tr[data-row]", "[data-testid=stMetricValue]"
ANSWERS = {
    "runs": RUN_ROWS,
    "live": RESULT,
    "home": "h2",
    "configure": ".st-key-launch button",
    "leaderboard": "table",
    "configuration": "[data-testid=stVegaLiteChart]",
    "compare": "table",
}
"""What our pages are opened for."""

Cells = dict[str, str]


@pytest.fixture
def browser() -> Iterator[Browser]:
    """A browser as people have it."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium())
        yield browser
        browser.close()


def test_our_screens_show_more_and_send_less_than_those_of_mlflow(tmp_path: Path, browser: Browser) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "mlflow"
    ours.mkdir()
    theirs.mkdir()
    grown_warehouses.fill(ours, RUNS)
    ran = subprocess.run([PYTHON, PEER, theirs, str(RUNS)], capture_output=True, text=True, timeout=600, check=True)
    name = f"MLflow {json.loads(ran.stdout.splitlines()[-1])['version']}"

    screens = load_ours(browser, ours) | {
        f"{name}, runs": load_theirs(browser, theirs, "runs", ".ag-center-cols-container [role=row]"),
        f"{name}, run": load_theirs(browser, theirs, f"runs/{RUNS - 1:032x}", "[role=row]:has-text('throughput')"),
        "a blank Streamlit page": load_blank(browser, tmp_path),
    }
    write_screens(screens)

    assert result_of(screens["Run page"]) < result_of(screens[f"{name}, run"])
    assert int(screens["Runs"][HEADS[1]]) >= 18


def load_ours(browser: Browser, folder: Path) -> dict[str, Cells]:
    """Our screens, by what the other figures call them."""
    with FileLock(folder / "follower.lock"):
        console = ConsoleProcess.start(folder)
        try:
            at = addresses(console)
            return {TITLES[name]: load_screen(browser, console.url + at[name], css) for name, css in ANSWERS.items()}
        finally:
            console.stop()


def load_theirs(browser: Browser, folder: Path, path: str, css: str) -> Cells:
    """A screen of MLflow's server; its page of a run has the figures in a table."""
    with real_tracking_server(folder / "mlflow.db") as address:
        return load_screen(browser, f"{address}/#/experiments/1/{path}", css)


def load_blank(browser: Browser, folder: Path) -> Cells:
    """What Streamlit sends for one line, as it sends it."""
    with blank_page(folder) as address, browser.new_context() as context:
        page = context.new_page()
        cold = Transfer.watch(page)
        open_blank_page(page, address)
        cold.end(page)
        return {HEADS[3]: format_load(cold)}


def load_screen(browser: Browser, address: str, css: str) -> Cells:
    """A screen in a browser that knows nothing: `css` finds the rows of its runs, or the result of one."""
    with browser.new_context(viewport={"width": 1280, "height": HEIGHT}) as context:
        page = context.new_page()
        page.add_init_script(WATCH)
        cold = Transfer.watch(page)
        page.goto(address)
        found = page.locator(css)
        found.first.wait_for(timeout=WAIT_MS)
        cold.end(page)
        seen = {}
        if css == RESULT or "throughput" in css:
            seen[HEADS[0]] = f"{end_of(found.first):.0f} px"
        elif "row" in css:
            seen[HEADS[1]] = f"{count_rows(found)}"
        return {
            **seen,
            HEADS[2]: f"{len(page.evaluate(WORDS, HEIGHT))}",
            HEADS[3]: format_load(cold, is_ours=css in ANSWERS.values()),
            HEADS[4]: read_shift(page),
        }


def count_rows(rows: Locator) -> int:
    """How many are whole in the window."""
    return sum(bool(end_of(row)) and end_of(row) <= HEIGHT for row in rows.all())


def end_of(element: Locator) -> float:
    """How far below the window's edge it ends; 0 if it has no room."""
    box = element.bounding_box()
    return box["y"] + box["height"] if box else 0


def result_of(cells: Cells) -> int:
    """Where the result of a run ends, in pixels."""
    return int(cells[HEADS[0]].removesuffix(" px"))


def read_shift(page: Page) -> str:
    """How much the screen moved while it was loaded."""
    return f"{page.evaluate('window.layoutShift'):.2f}"


def format_load(cold: Transfer, *, is_ours: bool = False) -> str:
    """Requests and bytes, as they went over the line, and what of them is not Streamlit's."""
    own = f", {cold.own / 1e3:.0f} kB of it our own" if is_ours else ""
    return f"{cold.requests} requests, {cold.sent / 1e6:.1f} MB{own}"


def write_screens(screens: dict[str, Cells]) -> None:
    """Put the table into the document, and print it."""
    rows = [f"| {name} | {' | '.join(cells.get(head, '') for head in HEADS)} |" for name, cells in screens.items()]
    table = "\n".join((f"| {' | '.join(HEADS)} |", "|---" * (1 + len(HEADS)) + "|", *rows))
    print("\n".join(("", *rows)), end="")
    DOCUMENT.write_text(SECTION.sub(lambda _: table, DOCUMENT.read_text("utf-8"), count=1), "utf-8")
