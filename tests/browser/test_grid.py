"""The table of runs by keyboard and mouse: rows are ticked, opened and sorted, and what can be done stays in view."""

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from filelock import FileLock
from playwright.sync_api import expect

from aisbench_core.model import RunRecord
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.warehouse.facade import Warehouse
from tests import records as a
from tests.browser.console_process import ConsoleProcess
from tests.browser.grids import action_bar, column, grid, row, tick_box
from tests.browser.prepared_console import PreparedConsole
from tests.browser.shifts import MOST_SHIFT, least_shift, read_shift, watch_shifts
from tests.browser.visit import LookAt, OpenWindow, Visit
from tests.browser.windows import HEIGHT
from tests.console import seeds

RUNS = "Runs"
COMPARE_PX = 1800  # height of a comparison at most


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleProcess]:
    """A console with runs in all states, and two pages of them."""
    data_dir: Path = tmp_path_factory.mktemp("grid")
    seeds.fill(data_dir)
    ledger = Ledger(data_dir / "ledger.sqlite3")
    for run in seeds.many(20):
        ledger.add(run)
    Warehouse(data_dir / "warehouse.duckdb").record_many(unlike_runs())
    with FileLock(data_dir / "follower.lock"):
        process = PreparedConsole.start(data_dir)
        yield process
        process.stop()


def unlike_runs() -> list[RunRecord]:
    """Three runs that differ in some 20 fields."""
    other = replace(a.FACTS, title="BERT", model="BERT", dataset="SQuAD", framework="pytorch")
    plain: dict[str, Any] = {
        "priority": 3,
        "retries": 2,
        "flavor": "modelarts.p4.large",
        "framework_version": "torch-2.9",
    }
    asked: dict[str, Any] = {
        "parameters": {f"option_{at}": at for at in range(12)},
        "engine_version": "cann-9",
        **plain,
    }
    speed = {"batch_size": 256, "epochs": 1}
    return [
        a.record("unlike-0", speed_parameters={"batch_size": 32, "epochs": 2}),
        a.record("unlike-1", facts=other, speed_parameters=speed, node_count=2, **asked),
        a.record("unlike-2", facts=other, speed_parameters=speed, throughputs=[1.0] * 5, **plain),
    ]


def test_a_comparison_of_runs_that_differ_in_everything_stays_short(console: ConsoleProcess, look: LookAt) -> None:
    visit = look(console, "/compare?ids=unlike-0&ids=unlike-1&ids=unlike-2")

    expect(visit.page.get_by_text("Other fields that differ")).to_be_visible()
    visit.rest()
    main = visit.page.get_by_test_id("stMainBlockContainer")
    assert main.evaluate("main => main.offsetHeight") <= COMPARE_PX
    assert visit.troubles() == []


def test_rows_are_ticked_by_keyboard_and_what_can_be_done_is_in_view(console: ConsoleProcess, look: LookAt) -> None:
    visit = look(console, "/runs")
    focus_first_row(visit)

    press(visit, "ArrowDown", "ArrowDown", "Space")
    expect(action_bar(visit)).to_contain_text("1 selected")
    press(visit, "Shift+ArrowDown")
    expect(action_bar(visit)).to_contain_text("2 selected")
    box = action_bar(visit).bounding_box()
    assert box
    assert box["y"] + box["height"] == pytest.approx(HEIGHT, abs=1)
    press(visit, "Space")
    expect(action_bar(visit)).to_contain_text("1 selected")
    press(visit, "Escape")

    expect(action_bar(visit)).to_have_count(0)
    expect(grid(visit, RUNS).locator("input:checked")).to_have_count(0)
    assert visit.troubles() == []


def test_a_range_is_ticked_by_shift_and_compared(console: ConsoleProcess, look: LookAt) -> None:
    visit = look(console, "/runs")
    tick_box(visit, RUNS, "run-n1-0").click()
    before = grid(visit, RUNS).locator("input:checked").count()
    tick_box(visit, RUNS, "run-n2-1").click(modifiers=["Shift"])
    visit.rest()

    action_bar(visit).get_by_role("link", name="Compare").click()

    assert before == 1
    expect(visit.page).to_have_url(re.compile(r"/compare\?.*ids=.*ids="))
    assert visit.troubles() == []


@pytest.mark.parametrize("way", ["Enter", "click", "link"])
def test_a_row_opens_its_run(console: ConsoleProcess, look: LookAt, way: str) -> None:
    visit = look(console, "/runs")
    if way == "Enter":
        focus_first_row(visit)
        press(visit, "ArrowDown", "Enter")
    elif way == "click":
        row(visit, RUNS, seeds.ACTIVE_RUN).locator('[data-column="size"]').click()
    else:
        row(visit, RUNS, seeds.ACTIVE_RUN).get_by_role("link").click()

    expect(visit.page).to_have_url(re.compile(rf"/live\?.*run={seeds.ACTIVE_RUN}"))
    assert visit.troubles() == []


def test_back_from_a_run_leads_to_the_list_as_it_was_left(console: ConsoleProcess, look: LookAt) -> None:
    visit = look(console, "/runs?q=cccc&sort=run_id")
    row(visit, RUNS, seeds.FAILED_RUN).locator('[data-column="size"]').click()
    expect(visit.page).to_have_url(re.compile(rf"/live\?.*run={seeds.FAILED_RUN}"))
    visit.rest()

    visit.page.go_back()

    expect(visit.page.get_by_role("heading", level=1, name="Runs")).to_be_visible()
    expect(grid(visit, RUNS).locator("tbody tr")).to_have_count(1)
    visit.rest()
    expect(visit.page).to_have_url(re.compile(r"/runs\?q=cccc&sort=run_id$"))
    visit.page.go_forward()
    expect(visit.page).to_have_url(re.compile(rf"/live\?.*run={seeds.FAILED_RUN}"))
    assert visit.troubles() == []


def test_a_row_is_a_link_for_another_tab(console: ConsoleProcess, look: LookAt) -> None:
    visit = look(console, "/runs")

    with visit.page.context.expect_page() as opened:
        row(visit, RUNS, seeds.FAILED_RUN).get_by_role("link").click(modifiers=["Control"])

    expect(opened.value).to_have_url(re.compile(rf"/live\?run={seeds.FAILED_RUN}"))
    opened.value.close()
    expect(visit.page).to_have_url(re.compile(r"/runs"))


def test_heads_sort_and_the_sort_is_in_the_address(console: ConsoleProcess, look: LookAt) -> None:
    visit = look(console, "/runs?columns=id&columns=launched")
    head = grid(visit, RUNS).get_by_role("columnheader", name="Run id")

    head.get_by_role("button").click()
    expect(head).to_have_attribute("aria-sort", "ascending")
    visit.rest()
    first = column(visit, RUNS, "id")
    visit.page.keyboard.press("Enter")
    expect(head).to_have_attribute("aria-sort", "descending")
    visit.rest()

    expect(visit.page).to_have_url(re.compile(r"sort=run_id"))
    assert first[2:] == sorted(first[2:]), "below the active runs"
    assert column(visit, RUNS, "id")[2:] != first[2:]


def test_rows_are_dense_and_in_their_place_from_the_start(console: ConsoleProcess, window: OpenWindow) -> None:
    visit = window(console)
    watch_shifts(visit)

    def load() -> float:
        visit.open("/runs")
        expect(row(visit, RUNS, seeds.ACTIVE_RUN)).to_be_visible()
        return read_shift(visit)

    assert least_shift(load) < MOST_SHIFT
    tops = [box["y"] for line in grid(visit, RUNS).locator("tbody tr").all() if (box := line.bounding_box())]

    assert len([top for top in tops if top + 32 <= HEIGHT]) >= 18
    assert {round(after - before) for before, after in pairwise(tops)} == {32}
    assert visit.troubles() == []


@pytest.mark.parametrize("address", ["/runs", "/history"])
def test_on_a_phone_rows_keep_their_names_while_their_columns_are_scrolled(
    console: ConsoleProcess, window: OpenWindow, address: str
) -> None:
    visit = window(console, width=390)
    visit.open(address)
    box = visit.page.locator(".grid-box")
    name, last = (box.locator(f"tbody tr:first-child {cell}") for cell in ("th", "td:last-child"))
    expect(last).not_to_be_in_viewport()
    before = name.bounding_box()

    box.evaluate("box => box.scrollBy(2000, 0)")

    expect(last).to_be_in_viewport()
    after, cell = name.bounding_box(), last.bounding_box()
    assert before
    assert after
    assert cell
    assert before["x"] == after["x"]
    assert after["x"] + after["width"] <= 390 * 0.65, "there is room for the others"
    assert visit.troubles() == []


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_the_table_and_its_bar_are_accessible(
    console: ConsoleProcess, window: OpenWindow, width: int, dark: bool
) -> None:
    visit = window(console, width=width, dark=dark)
    visit.open("/runs")
    tick_box(visit, RUNS, "run-n1-0").click()
    visit.rest()
    expect(action_bar(visit)).to_be_visible()

    visit.page.evaluate(AXE_SCRIPT)
    found = visit.page.evaluate("axe.run({resultTypes: ['violations']}).then(found => found.violations)")

    assert [(each["id"], [node["html"] for node in each["nodes"]]) for each in found] == []
    assert visit.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert visit.troubles() == []


def focus_first_row(visit: Visit) -> None:
    """By Tab, from the heads of the table on."""
    expect(grid(visit, RUNS).locator("tbody tr").first).to_be_visible()
    grid(visit, RUNS).get_by_role("columnheader").get_by_role("button").last.focus()
    visit.page.keyboard.press("Tab")
    expect(grid(visit, RUNS).locator("tbody tr").first).to_be_focused()


def press(visit: Visit, *keys: str) -> None:
    """Press these keys, and let the page answer each."""
    for key in keys:
        visit.page.keyboard.press(key)
        visit.rest()
