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

BEFORE = [(), ("Space",), ("ArrowUp", "Space", "ArrowDown")]
"""What was pressed before Enter: each of them once in `make test`."""


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
    first_row(visit).focus()

    press(visit, "Space", "ArrowDown", "Space")
    expect(action_bar(visit)).to_contain_text("2 selected")
    press(visit, "Space")
    expect(action_bar(visit)).to_contain_text("1 selected")
    press(visit, "Space")
    compare = action_bar(visit).get_by_role("link", name="Compare")
    expect(compare).to_be_in_viewport()
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


@pytest.mark.parametrize("before", BEFORE, ids=["nothing", "itself", "another"])
def test_enter_opens_the_row_whatever_is_ticked(console: ConsoleProcess, look: LookAt, before: tuple[str, ...]) -> None:
    visit = look(console, "/leaderboard?show=runs")
    first_row(visit).focus()
    run_id = visit.page.locator("table.grid tbody tr").nth(1).get_attribute("data-row") or ""
    press(visit, "ArrowDown")

    for key in (*before, "Enter"):  # at once, as hands do
        visit.page.keyboard.press(key)

    expect(visit.page).to_have_url(re.compile(rf"/live\?.*run={re.escape(run_id)}"))
    assert visit.troubles() == []


@pytest.mark.parametrize("key", ["Space", "Enter"])
def test_a_row_of_history_opens_its_history(console: ConsoleProcess, look: LookAt, key: str) -> None:
    visit = look(console, "/history")
    first_row(visit).focus()

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

    visit.page.locator('table.grid tbody tr:nth-child(2) [data-column="size"]').click()

    expect(visit.page).to_have_url(re.compile(rf"/{page}\?.*(run|group)="))
    assert visit.troubles() == []


def test_heads_boxes_and_the_space_below_open_nothing(console: ConsoleProcess, look: LookAt) -> None:
    visit = look(console, "/leaderboard?show=runs")
    head = visit.page.locator('table.grid thead [data-column="launched"]')
    head.get_by_role("button").click()
    expect(head).to_have_attribute("aria-sort", "ascending")
    visit.rest()
    first_row(visit).get_by_role("checkbox").click()
    expect(action_bar(visit)).to_contain_text("1 selected")
    box = visit.page.locator(".grid-box").bounding_box()
    assert box

    visit.page.mouse.click(box["x"] + 200, box["y"] + box["height"] - 3)
    visit.page.wait_for_timeout(1000)

    expect(visit.page).to_have_url(re.compile(r"/leaderboard\?"))
    assert visit.troubles() == []


def first_row(visit: Visit) -> Locator:
    """That of the page's only table."""
    return visit.page.locator("table.grid tbody tr").first


def press(visit: Visit, *keys: str) -> None:
    """Press these keys, and let the page answer each."""
    for key in keys:
        visit.page.keyboard.press(key)
        visit.rest()
