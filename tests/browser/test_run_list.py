"""Runs says what is so now, without being asked again."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from filelock import FileLock
from playwright.sync_api import expect

from aisbench_core.model import RunState
from aisbench_core.store.ledger.ledger import Ledger
from tests.browser.console_process import ConsoleProcess
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


def test_a_run_that_ends_moves_to_the_ended_ones_by_itself(used: ConsoleProcess, window: OpenWindow) -> None:
    visit = window(used)
    visit.open("/runs")
    expect(visit.page.get_by_role("heading", name="Active (2)")).to_be_visible()
    ledger = Ledger(used.data_dir / "ledger.sqlite3")
    run = ledger.get(seeds.RETRYING_RUN)

    run = ledger.advance(run, run.to(RunState.COLLECTING, detail="fetching results"))
    expect(visit.keyed(f"run-{run.run_id}").get_by_text("fetching results")).to_be_visible()
    ledger.advance(run, run.to(RunState.COMPLETED, detail=""))

    expect(visit.page.get_by_role("heading", name="Active (1)")).to_be_visible()
    expect(visit.keyed(f"run-{run.run_id}").locator(".stMarkdownBadge", has_text="Completed")).to_be_visible()
    assert visit.troubles() == []
