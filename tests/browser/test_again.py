"""What people do with results, in a real browser: clone with differences, reproduce, tag, note, and save a view."""

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
from filelock import FileLock
from playwright.sync_api import expect

from aisbench_core.config.settings import HOME
from aisbench_core.domain.authoring.workloads import Workloads
from aisbench_core.model import RunRecord, RunState
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.warehouse.facade import Warehouse
from tests import records as a
from tests.browser.console_process import ConsoleProcess
from tests.browser.grids import grid, row
from tests.browser.prepared_console import PreparedConsole
from tests.browser.test_looks import axe_violations
from tests.browser.visit import OpenWindow
from tests.series_bench import PROFILE

DIGITS = "r20260301-080000-digits"


def digits() -> RunRecord:
    """A run that can be launched again, of code that has changed since."""
    asked = {"framework_version": "", "engine_name": "", "engine_version": "", "parameters": {}, "cards_per_node": 2}
    spec = a.spec(workload="quickstart_digits", flavor="sandbox.cpu.2cards", **asked)
    filled = Workloads(HOME / "workloads").get("quickstart_digits").fill_spec(spec)
    made = a.record(DIGITS, region="sandbox", rehearsal=True)
    run = a.run(DIGITS, filled, profile="quiet", state=RunState.COMPLETED)
    return replace(made, run=run, result=a.result(filled, [100.0] * filled.card_count))


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleProcess]:
    """A console with four runs, one of them of a workload that is here, and a region that does not answer."""
    data_dir = tmp_path_factory.mktemp("again")
    (data_dir / "profiles").mkdir()
    (data_dir / "profiles" / "quiet.yaml").write_text(PROFILE, "utf-8")
    ledger = Ledger(data_dir / "ledger.sqlite3")
    for each in (*a.records((7900.0, 8000.0, 8100.0), "run"), digits()):
        ledger.add(each.run)
        Warehouse(data_dir / "warehouse.duckdb").record(each)
    with FileLock(data_dir / "follower.lock"):
        process = PreparedConsole.start(data_dir, ak="AK", sk="SK", look_seconds="1")
        yield process
        process.stop()


def test_a_clone_says_while_one_edits_what_it_changes(console: ConsoleProcess, window: OpenWindow) -> None:
    visit = window(console)
    visit.open("/live?run=run-1")
    visit.open_more()
    visit.page.get_by_role("button", name="Clone into a draft").click()
    expect(visit.page.get_by_role("link", name="Draft of run run-1")).to_be_visible()
    visit.rest()

    nodes = visit.page.get_by_role("textbox", name="Nodes")
    nodes.fill("3")
    nodes.press("Enter")
    visit.rest()

    assert {"Field": "Nodes", "Original": "1", "Now": "3"} in visit.rows("Changes from the original")
    visit.picture("clone")
    visit.page.get_by_role("button", name="Reset to the original").click()
    expect(nodes).to_have_value("1")
    assert visit.troubles() == []


def test_a_run_is_reproduced_after_one_saw_what_is_not_as_it_was(console: ConsoleProcess, window: OpenWindow) -> None:
    visit = window(console, width=1920, dark=True)
    visit.open(f"/live?run={DIGITS}")
    visit.page.get_by_role("button", name="Run again…").click()
    expect(visit.page.get_by_text("Not identical.")).to_be_visible()
    expect(visit.keyed("reproduce-yes").get_by_role("button")).to_be_visible()
    visit.rest()

    rows = visit.rows("Then and now")
    told = {row["Field"]: row for row in rows}
    assert [row["Verdict"][0] for row in rows] == sorted((row["Verdict"][0] for row in rows), key="≠?=".index)
    assert (told["Code (SHA-256)"]["Verdict"], told["Code (SHA-256)"]["Then"]) == ("≠ different", "c0de" * 16)
    assert told["Manifest (SHA-256)"]["Note"] == "was not recorded then"
    expect(visit.page.get_by_text(re.compile(r"On profile quiet: 1\d same, \d different, \d unknown"))).to_be_visible()
    assert axe_violations(visit) == []
    visit.picture("reproduce")
    visit.keyed("reproduce-yes").get_by_role("button").dblclick()

    expect(visit.page.get_by_role("link", name=f"Reproduces {DIGITS}")).to_be_visible()
    ledger = Ledger(console.data_dir / "ledger.sqlite3")
    assert len([run for run in ledger.page() if run.spec.workload == "quickstart_digits"]) == 2
    visit.open_more()
    visit.page.get_by_role("button", name="Clone into a draft").click()
    expect(visit.page.get_by_role("link", name="Draft of run r")).to_be_visible()
    expect(visit.page.get_by_text("Same as the original")).to_be_visible()
    assert visit.troubles() == []


def test_tags_lead_to_a_view_that_a_short_address_opens(console: ConsoleProcess, window: OpenWindow) -> None:
    visit = window(console)
    visit.open("/live?run=run-2")
    visit.page.get_by_role("button", name="Name, tags, note").click()
    visit.page.get_by_role("textbox", name="Tags").fill("night, </script>")
    visit.page.get_by_role("textbox", name="Note").fill("fan 3 was off")
    visit.page.get_by_role("button", name="Save", exact=True).click()
    expect(visit.page.get_by_text("Noted by console")).to_be_visible()
    visit.picture("remarks")

    visit.open("/leaderboard?show=runs&tag=night")
    visit.page.get_by_role("button", name="Saved views").click()
    visit.page.get_by_role("textbox", name="Save the current view as").fill("Nightly")
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
    expect(grid(visit, "Table of runs").locator("tbody tr")).to_have_count(1)
    expect(row(visit, "Table of runs", "run-2")).to_contain_text("night")
    assert visit.troubles() == []
