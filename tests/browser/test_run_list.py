"""Runs says what is so now, without being asked again."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from filelock import FileLock
from playwright.sync_api import expect

from aisbench_core.model import RunState
from aisbench_core.store.ledger.ledger import Ledger
from tests.browser.console_process import ConsoleProcess
from tests.browser.grids import row, tick_box
from tests.browser.prepared_console import PreparedConsole
from tests.browser.visit import OpenWindow
from tests.console import seeds


@pytest.fixture
def used(tmp_path: Path) -> Iterator[ConsoleProcess]:
    """A console that was used for a while, whose runs the test moves along."""
    seeds.fill(tmp_path)
    with FileLock(tmp_path / "follower.lock"):
        process = PreparedConsole.start(tmp_path)
        yield process
        process.stop()


def test_a_run_that_ends_is_shown_so_by_itself_and_stays_ticked(used: ConsoleProcess, window: OpenWindow) -> None:
    visit = window(used)
    visit.open("/runs")
    expect(visit.page.get_by_text("2 active")).to_be_visible()
    ledger = Ledger(used.data_dir / "ledger.sqlite3")
    run = ledger.get(seeds.RETRYING_RUN)
    tick_box(visit, "Runs", run.run_id).click()

    run = ledger.advance(run, run.to(RunState.COLLECTING, attempts=0, detail="fetching results"))
    expect(row(visit, "Runs", run.run_id)).to_contain_text("Collecting")
    ledger.advance(run, run.to(RunState.COMPLETED, detail=""))

    expect(visit.page.get_by_text("1 active")).to_be_visible()
    expect(row(visit, "Runs", run.run_id).get_by_role("img", name="Completed")).to_be_visible()
    expect(tick_box(visit, "Runs", run.run_id)).to_be_checked()
    assert visit.troubles() == []
