"""Tables by keyboard and mouse: Space ticks the row of the focused cell, Enter or a click opens it."""

import re
from collections.abc import Iterator

import pytest
from filelock import FileLock
from playwright.sync_api import Locator, expect

from aisbench_core.warehouse.facade import Warehouse
from tests import records as a
from tests.browser.console_process import ConsoleProcess
from tests.browser.grids import action_bar, row
from tests.browser.prepared_console import PreparedConsole
from tests.browser.visit import LookAt, OpenWindow, Visit

BEFORE = [
    ("runs", "live", ()),
    ("runs", "live", ("Space",)),
    ("runs", "live", ("Space", "ArrowUp", "Space", "ArrowDown")),
]
"""What a table shows, the page that Enter opens, and what was pressed before it: each of them once in `make test`."""


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleProcess]:
    """A console with three runs each of two versions."""
    data_dir = tmp_path_factory.mktemp("row-keys")
    old = a.records((8000.0, 8040.0, 7960.0), "old")
    new = a.records((7500.0, 7540.0, 7460.0), "new", framework_version="r1.11")
    other = a.records((9500.0, 9540.0, 9460.0), "other", flavor="modelarts.p4.large.public")
    Warehouse(data_dir / "warehouse.duckdb").rebuild([*old, *new, *other])
    with FileLock(data_dir / "follower.lock"):
        process = PreparedConsole.start(data_dir)
        yield process
        process.stop()


def test_two_rows_are_ticked_and_compared_by_keyboard(console: ConsoleProcess, look: LookAt) -> None:
    visit = look(console, "/leaderboard?show=runs")
    focus_table(visit)

    press(visit, "Space", "ArrowDown", "Space")
    expect(shown(visit)).to_have_count(2)
    press(visit, "Space")
    expect(shown(visit)).to_have_count(1)
    press(visit, "Space")
    compare = visit.page.get_by_role("link", name="Compare 2")
    expect(compare).to_be_visible()
    compare.focus()
    visit.page.keyboard.press("Enter")

    expect(visit.page).to_have_url(re.compile(r"/compare\?.*ids=.*ids="))
    assert visit.troubles() == []


@pytest.mark.parametrize("address", ["/leaderboard", "/leaderboard?show=groups"])
def test_configurations_are_ticked_compared_and_opened_by_keyboard(
    console: ConsoleProcess, look: LookAt, address: str
) -> None:
    visit = look(console, address)
    visit.page.locator("table.grid tbody tr").first.focus()
    compare = visit.keyed("action-bar").get_by_role("link", name="Compare")

    press(visit, "Space", "ArrowDown", "Space")
    expect(compare).to_be_in_viewport()
    visit.page.keyboard.press("Escape")
    expect(compare).to_have_count(0)
    visit.page.keyboard.press("Enter")

    expect(visit.page).to_have_url(re.compile(r"/configuration\?.*run="))
    assert visit.troubles() == []


@pytest.mark.parametrize(("view", "page", "before"), BEFORE)
def test_enter_opens_the_row_whatever_is_ticked(
    console: ConsoleProcess, look: LookAt, view: str, page: str, before: tuple[str, ...]
) -> None:
    visit = look(console, f"/leaderboard?show={view}")
    focus_table(visit)
    press(visit, "ArrowDown", "Space")
    href = shown(visit).get_attribute("href")
    press(visit, "Space")
    expect(shown(visit)).to_have_count(0)

    press(visit, *before)
    visit.page.keyboard.press("Enter")

    expect(visit.page).to_have_url(re.compile(rf"/{page}\?.*run="))
    assert href
    assert href.partition("run=")[2].partition("&")[0] in visit.page.url
    assert visit.troubles() == []


def test_enter_at_once_after_space_opens_the_row(console: ConsoleProcess, look: LookAt) -> None:
    visit = look(console, "/leaderboard?show=runs")
    focus_table(visit)
    press(visit, "ArrowDown")

    visit.page.keyboard.press("Space")
    visit.page.keyboard.press("Enter")

    expect(visit.page).to_have_url(re.compile(r"/live\?.*run="))
    assert visit.troubles() == []


def test_enter_opens_its_row_and_not_one_ticked_a_moment_before(console: ConsoleProcess, look: LookAt) -> None:
    visit = look(console, "/leaderboard?show=runs")
    focus_table(visit)
    press(visit, "ArrowDown", "Space")
    href = shown(visit).get_attribute("href") or ""
    press(visit, "Space", "ArrowUp")

    for key in ("Space", "ArrowDown", "Enter"):
        visit.page.keyboard.press(key)

    expect(visit.page).to_have_url(re.compile(rf"/live\?.*{re.escape(href.partition('?')[2].partition('&')[0])}"))
    assert visit.troubles() == []


@pytest.mark.parametrize("key", ["Space", "Enter"])
def test_a_row_of_history_opens_its_history(console: ConsoleProcess, look: LookAt, key: str) -> None:
    visit = look(console, "/history")
    focus_table(visit)

    visit.page.keyboard.press(key)

    expect(visit.page).to_have_url(re.compile(r"/history\?.*group="))
    assert visit.troubles() == []


def test_a_run_of_a_configuration_and_of_its_history_opens_by_keyboard(console: ConsoleProcess, look: LookAt) -> None:
    visit = look(console, "/configuration?run=new-0")
    expect(visit.page).to_have_title(re.compile("^[▼▲] .+ – AISBench$"))
    row(visit, "Runs", "new-1").focus()
    press(visit, "Space")
    expect(action_bar(visit)).to_contain_text("1 selected")
    press(visit, "Enter")
    expect(visit.page).to_have_url(re.compile(r"/live\?.*run=new-1"))

    visit.go_to("/configuration?run=new-0")
    visit.page.get_by_role("link", name="Open the history").click()
    expect(row(visit, "Runs", "new-1")).to_be_visible()
    row(visit, "Runs", "new-1").focus()
    press(visit, "Enter")
    expect(visit.page).to_have_url(re.compile(r"/live\?.*run=new-1"))

    visit.go_to("/configuration?run=new-0")
    visit.page.get_by_role("link", name="Open the history").click()
    visit.page.get_by_role("link", name="Open the configuration").click()
    expect(visit.page).to_have_url(re.compile(r"/configuration\?.*run="))
    assert visit.troubles() == []


@pytest.mark.parametrize(
    ("address", "page"),
    [
        ("/leaderboard?show=runs", "live"),
        ("/history", "history"),
    ],
)
def test_a_click_on_a_cell_opens_its_row(console: ConsoleProcess, window: OpenWindow, address: str, page: str) -> None:
    visit = window(console)
    visit.open(address)

    click_cell(visit, row=1)

    expect(visit.page).to_have_url(re.compile(rf"/{page}\?.*(run|group)="))
    assert visit.troubles() == []


def test_heads_boxes_double_clicks_and_the_space_below_open_nothing(console: ConsoleProcess, look: LookAt) -> None:
    visit = look(console, "/leaderboard?show=runs")
    click_cell(visit, row=-1)  # sorts
    visit.rest()
    visit.tick(1)
    expect(shown(visit)).to_have_count(1)

    click_cell(visit, row=0, times=2)
    expect(visit.page.locator(".gdg-growing-entry, .gdg-clip-region").first).to_be_visible()
    visit.page.keyboard.press("Escape")
    box = visit.page.get_by_test_id("stDataFrame").first.bounding_box()
    assert box
    visit.page.mouse.click(box["x"] + 200, box["y"] + box["height"] - 8)
    visit.page.wait_for_timeout(1000)

    expect(visit.page).to_have_url(re.compile(r"/leaderboard\?"))
    assert visit.troubles() == []


def click_cell(visit: Visit, row: int, times: int = 1) -> None:
    """Click on a cell of the first table, by its place; row -1 is the heads."""
    table = visit.page.get_by_test_id("stDataFrame").first
    table.scroll_into_view_if_needed()
    visit.rest()
    box = table.bounding_box()
    assert box
    visit.page.mouse.click(box["x"] + 200, box["y"] + 53 + 35 * row, click_count=times)


def focus_table(visit: Visit) -> None:
    """Tab to the first table, whose first row then has the focus."""
    grid = visit.page.get_by_test_id("stDataFrame").first.locator("canvas").first
    expect(grid).to_be_attached()
    for _ in range(80):
        visit.page.keyboard.press("Tab")
        if visit.page.evaluate("document.activeElement.closest('.stDataFrameGlideDataEditor') !== null"):
            return
    raise AssertionError("Tab does not reach the table")


def press(visit: Visit, *keys: str) -> None:
    """Press these keys, and let the page answer each."""
    for key in keys:
        visit.page.keyboard.press(key)
        visit.rest()


def shown(visit: Visit) -> Locator:
    """The links to the ticked rows."""
    return visit.keyed("open-ticked").get_by_role("link", name=re.compile("^(Show|Open) "))
