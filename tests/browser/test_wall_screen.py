"""The leaderboard on a wall screen: large type, nothing to click, and new results without a hand."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from filelock import FileLock
from playwright.sync_api import expect

from aisbench_core.model import RunRecord
from aisbench_core.warehouse.facade import Warehouse
from pages._ui.shell.status import RESULTS_SECONDS
from tests import records as a
from tests.browser.console_process import ConsoleProcess
from tests.browser.prepared_console import PreparedConsole
from tests.browser.test_looks import CONTRAST, assert_fits, axe_violations
from tests.browser.visit import OpenWindow

READABLE_PX = 24
"""Type that is read from across a room, on a screen of 1920 pixels."""


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleProcess]:
    """A console with a version that is slower than the one before it."""
    data_dir = tmp_path_factory.mktemp("wall")
    old = a.records([9000.0 + n for n in range(10)], "old", framework_version="r1")
    Warehouse(data_dir / "warehouse.duckdb").rebuild([*old, *slow(10)])
    with FileLock(data_dir / "follower.lock"):
        process = PreparedConsole.start(data_dir)
        yield process
        process.stop()


def slow(count: int) -> list[RunRecord]:
    """Runs of the newest version."""
    return [
        a.record(
            f"new-{n}", throughputs=[(8000 + n) / 8] * 8, framework_version="r2", created_at=a.T0 + timedelta(1 + n)
        )
        for n in range(count)
    ]


def test_a_smaller_screen_has_smaller_type_and_all_columns(console: ConsoleProcess, window: OpenWindow) -> None:
    visit = window(console, width=1280)
    visit.open("/leaderboard?tv=1")
    table = visit.page.get_by_test_id("stTable")

    expect(table.get_by_text("▼ −11.1 %")).to_be_visible()
    height = table.locator("tbody tr").first.evaluate("row => row.offsetHeight")
    size = table.locator("td").first.evaluate("cell => parseFloat(getComputedStyle(cell).fontSize)")
    assert height < 3 * size, "a cell is wrapped"
    assert_fits(visit)
    assert table.evaluate("table => table.scrollWidth <= table.clientWidth")


def test_a_wall_screen_is_read_from_afar_and_follows_the_results(console: ConsoleProcess, window: OpenWindow) -> None:
    visit = window(console, width=1920)
    visit.page.clock.install()
    visit.open("/leaderboard?tv=1")
    table = visit.page.get_by_test_id("stTable")

    expect(table.get_by_text("▼ −11.1 %")).to_be_visible()
    size = table.locator("td").first.evaluate("cell => parseFloat(getComputedStyle(cell).fontSize)")
    assert size >= READABLE_PX
    for hidden in ("stSidebar", "stHeader", "stSelectbox", "stTextInput"):
        expect(visit.page.get_by_test_id(hidden).filter(visible=True)).to_have_count(0)
    assert_fits(visit)
    assert axe_violations(visit) == []
    visit.switch_colours()
    assert axe_violations(visit, CONTRAST) == []

    Warehouse(console.data_dir / "warehouse.duckdb").record_many([a.record("more", framework_version="r3")])
    visit.page.clock.fast_forward(RESULTS_SECONDS * 1000)
    expect(table.get_by_text("r3", exact=True)).to_be_visible()
    assert visit.troubles() == []
