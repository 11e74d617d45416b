"""The page of a run leads with its answer: the result, the cause of a failure, or the last sign of life."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest
from filelock import FileLock
from playwright.sync_api import Locator, expect

from aisbench_core.model import RunRecord, RunState
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.store.run_folders.run_paths import RunFolder
from aisbench_core.warehouse.facade import Warehouse
from tests import records as a
from tests.browser.console_process import ConsoleProcess
from tests.browser.prepared_console import PreparedConsole
from tests.browser.shifts import MOST_SHIFT, least_shift, read_shift, watch_shifts
from tests.browser.visit import OpenWindow, Visit

RESULT_PX = 260
"""Where the figures of a result end at the latest."""

FAILED_PX = 2_000
"""How high the page of a failed run may be: its cause, its log, and all else folded."""

LOG = "".join(f"step {step}/40 loss 1.3\n" for step in range(40)) + (
    "[rank1]: RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB (NPU 1)\n"
)


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleProcess]:
    """Two versions, the newer one slower; and a run whose card had too little memory."""
    data_dir = tmp_path_factory.mktemp("ended")
    newer = a.records([7500.0, 7540.0, 7460.0], "new", framework_version="r1.11")
    recorded = [*a.records([8000.0, 8040.0, 7960.0, 8020.0], "old"), *map(a_day_later, newer)]
    ledger = Ledger(data_dir / "ledger.sqlite3")
    Warehouse(data_dir / "warehouse.duckdb").rebuild(recorded)
    for each in recorded:
        ledger.add(each.run)
    failed = a.record("failed", state=RunState.FAILED, with_result=False, node_count=2)
    Warehouse(data_dir / "warehouse.duckdb").record(failed)
    ledger.add(failed.run)
    folder = RunFolder(data_dir / "runs" / "failed")
    folder.logs.mkdir(parents=True)
    folder.log(0).write_text(LOG, "utf-8")
    with FileLock(data_dir / "follower.lock"):  # nobody follows: the runs stay as they are
        process = PreparedConsole.start(data_dir)
        yield process
        process.stop()


def a_day_later(record: RunRecord) -> RunRecord:
    """The same run."""
    run, by = record.run, timedelta(days=1)
    assert run.started_at
    return replace(record, run=replace(run, created_at=run.created_at + by, started_at=run.started_at + by))


def test_the_result_of_a_run_stands_at_the_top_and_each_figure_leads_on(
    ended: ConsoleProcess, window: OpenWindow
) -> None:
    visit = window(ended)

    visit.open("/live?run=new-1")

    values = visit.page.get_by_test_id("stMetricValue")
    assert values.all_inner_texts()[:2] == ["7,540", "−6.3 %"]
    assert max(end_of(value) for value in values.all()) <= RESULT_PX
    assert visit.page.get_by_role("heading", level=1).inner_text().split()[0] == "✓"
    visit.picture("run-ended")
    visit.page.get_by_role("link", name="Compare with r1.10").click()
    expect(visit.page.get_by_role("heading", level=1, name="Compare")).to_be_visible()
    assert visit.troubles() == []


def test_a_failed_run_says_why_first_and_leads_to_the_line(ended: ConsoleProcess, window: OpenWindow) -> None:
    visit = window(ended)

    visit.open("/live?run=failed")

    cause = visit.keyed("cause")
    expect(cause).to_contain_text("Card out of memory")
    expect(cause).to_contain_text("Rank 1")
    assert end_of(cause.get_by_text("Why it failed")) <= RESULT_PX
    assert height_of(visit) <= FAILED_PX
    visit.picture("run-failed")
    cause.get_by_role("link", name="Log line").click()
    expect(visit.page.locator(".log-focus")).to_contain_text("NPU out of memory")
    assert visit.troubles() == []


@pytest.mark.parametrize("run_id", ["new-1", "failed"])
def test_nothing_moves_while_the_page_of_a_run_is_drawn(ended: ConsoleProcess, window: OpenWindow, run_id: str) -> None:
    visit = window(ended)
    watch_shifts(visit)

    def load(open_page: Callable[[], object]) -> float:
        open_page()
        return read_shift(visit)

    assert least_shift(partial(load, partial(visit.open, f"/live?run={run_id}"))) < MOST_SHIFT
    assert least_shift(partial(load, visit.reload)) < MOST_SHIFT


def end_of(element: Locator) -> float:
    """How far below the window's edge an element ends."""
    box = element.bounding_box()
    assert box
    return box["y"] + box["height"]


def height_of(visit: Visit) -> int:
    """Of the whole page."""
    height: int = visit.page.get_by_test_id("stMainBlockContainer").evaluate("page => page.offsetHeight")
    return height
