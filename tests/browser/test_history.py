"""History in a real browser: what is chosen stays in the address, and a marked baseline stays marked."""

import re
from collections.abc import Iterator

import pytest
from filelock import FileLock
from playwright.sync_api import expect

from aisbench_core.warehouse.facade import Warehouse
from pages._ui.shell.status import RESULTS_SECONDS
from tests import records as a
from tests.browser.console_process import ConsoleProcess
from tests.browser.grids import column, grid
from tests.browser.prepared_console import PreparedConsole
from tests.browser.visit import OpenWindow

TABLE = "Leaderboard table"
GOOD = (8000.0, 8040.0, 7960.0, 8020.0, 7980.0, 8010.0)
BAD = (7500.0, 7540.0, 7460.0)


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleProcess]:
    """A console with two versions of one question, the second of them slow."""
    data_dir = tmp_path_factory.mktemp("history")
    old = a.records(GOOD, "old")
    new = a.records(BAD, "slow", framework_version="r1.11")
    Warehouse(data_dir / "warehouse.duckdb").rebuild([*old, *new])
    with FileLock(data_dir / "follower.lock"):
        process = PreparedConsole.start(data_dir)
        yield process
        process.stop()


def test_what_is_chosen_is_in_the_address_and_a_mark_outlives_a_reload(
    console: ConsoleProcess, window: OpenWindow
) -> None:
    visit = window(console)
    visit.open("/history")
    expect(visit.page.get_by_role("alert").filter(has_text="Regression")).to_be_visible()

    visit.page.get_by_role("radiogroup").get_by_text("Version", exact=True).click()
    expect(visit.page).to_have_url(re.compile("along=version"))
    visit.rest()
    visit.page.get_by_role("button", name="Mark as baseline").click()
    expect(visit.page.get_by_text("marked by console")).to_be_visible()
    visit.reload()

    expect(visit.page.get_by_role("radio", name="Version")).to_be_checked()
    expect(visit.page.get_by_text("marked by console")).to_be_visible()
    assert next(row["Verdict"] for row in visit.rows("Tests")) == "Regression"
    visit.page.get_by_role("button", name="Remove mark").click()
    expect(visit.page.get_by_text("No baseline is marked")).to_be_visible()
    assert visit.troubles() == []


def test_a_new_result_is_on_the_leaderboard_without_a_click(console: ConsoleProcess, window: OpenWindow) -> None:
    visit = window(console)
    visit.page.clock.install()
    visit.open("/leaderboard?show=groups")
    expect(visit.page.get_by_text("Updated")).to_be_visible()
    before = len(column(visit, TABLE, "version"))

    fast = a.record("fast", throughputs=[1100.0] * 8, framework_version="r2.0")
    Warehouse(console.data_dir / "warehouse.duckdb").record(fast)
    visit.page.clock.fast_forward(RESULTS_SECONDS * 1000)

    expect(grid(visit, TABLE).locator("tr", has_text="r2.0")).to_be_attached()
    assert len(column(visit, TABLE, "version")) == before + 1
    assert visit.troubles() == []
