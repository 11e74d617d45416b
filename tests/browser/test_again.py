"""What people add to results, in a real browser: a clone with its differences, tags and a note, and a saved view."""

from collections.abc import Iterator

import pytest
from filelock import FileLock
from playwright.sync_api import expect

from aisbench_core.running.ledger import Ledger
from aisbench_core.warehouse import Warehouse
from tests import records as a
from tests.browser.console_process import ConsoleProcess
from tests.browser.visit import OpenWindow


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleProcess]:
    """A console with three runs."""
    data_dir = tmp_path_factory.mktemp("again")
    ledger = Ledger(data_dir / "ledger.sqlite3")
    for each in a.records((7900.0, 8000.0, 8100.0), "run"):
        ledger.add(each.run)
        Warehouse(data_dir / "warehouse.duckdb").record(each)
    with FileLock(data_dir / "follower.lock"):
        process = ConsoleProcess.start(data_dir)
        yield process
        process.stop()


def test_a_clone_says_while_one_edits_what_it_changes(console: ConsoleProcess, window: OpenWindow) -> None:
    visit = window(console)
    visit.open("/live?run=run-1")
    visit.page.get_by_role("button", name="Clone into a draft").click()
    expect(visit.page.get_by_role("link", name="Draft of run run-1")).to_be_visible()
    visit.rest()

    nodes = visit.page.get_by_role("spinbutton", name="Nodes")
    nodes.fill("3")
    nodes.press("Enter")
    visit.rest()

    assert {"Field": "Nodes", "Original": "1", "Now": "3"} in visit.rows("Differences from the original")
    visit.picture("clone")
    visit.page.get_by_role("button", name="Back to the original").click()
    expect(nodes).to_have_value("1")
    assert visit.troubles() == []


def test_tags_lead_to_a_view_that_a_short_address_opens(console: ConsoleProcess, window: OpenWindow) -> None:
    visit = window(console)
    visit.open("/live?run=run-2")
    visit.page.get_by_role("button", name="Tags and note").click()
    visit.page.get_by_role("textbox", name="Tags").fill("night, </script>")
    visit.page.get_by_role("textbox", name="Note").fill("fan 3 was off")
    visit.page.get_by_role("button", name="Save", exact=True).click()
    expect(visit.page.get_by_text("Noted by console")).to_be_visible()
    visit.picture("remarks")

    visit.open("/leaderboard?show=runs&tag=night")
    visit.page.get_by_role("button", name="Saved views").click()
    visit.page.get_by_role("textbox", name="Save what is shown as").fill("Nightly")
    visit.page.get_by_role("button", name="Save this view").click()
    expect(visit.page.get_by_text("Saved as Nightly")).to_be_visible()
    visit.picture("saved-view")
    visit.open("/leaderboard")
    visit.page.get_by_role("button", name="Saved views").click()
    visit.picture("saved-views")
    visit.page.get_by_role("link", name="Nightly").click()
    expect(visit.page.get_by_role("button", name="View: Nightly")).to_be_visible()
    visit.open("/leaderboard?view=Nightly")

    expect(visit.page.get_by_role("button", name="View: Nightly")).to_be_visible()
    assert visit.column("Table of runs", "Run") == ["run-2"]
    assert visit.troubles() == []
