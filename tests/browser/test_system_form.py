"""A run's system description in a real browser: typed, left, found again, saved and taken out."""

import json
from collections.abc import Iterator

import pytest
from filelock import FileLock
from playwright.sync_api import expect

from tests.browser.console_process import ConsoleProcess
from tests.browser.prepared_console import PreparedConsole
from tests.browser.test_looks import PEOPLE, assert_looks_right, in_turns
from tests.browser.visit import OpenWindow, Visit
from tests.console import seeds


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleProcess]:
    """A console with runs that nobody moves on."""
    data_dir = tmp_path_factory.mktemp("described")
    seeds.fill(data_dir)
    with FileLock(data_dir / "follower.lock"):
        process = PreparedConsole.start(data_dir)
        yield process
        process.stop()


def open_dialog(visit: Visit, run_id: str) -> None:
    """Open a run's page and the dialog on it."""
    visit.open(f"/live?run={run_id}")
    visit.open_more()
    visit.keyed("system").get_by_role("button").click()
    expect(visit.page.get_by_role("dialog")).to_be_visible()
    visit.rest()


def test_what_was_typed_is_there_after_a_reload_until_it_is_saved(used: ConsoleProcess, window: OpenWindow) -> None:
    visit = window(used)
    open_dialog(visit, seeds.DONE_RUN)
    visit.page.get_by_role("textbox", name="Cooling").fill("liquid")
    expect(visit.page.get_by_text("Unsaved changes: 1")).to_be_visible()
    visit.rest()

    open_dialog(visit, seeds.DONE_RUN)
    expect(visit.page.get_by_role("textbox", name="Cooling")).to_have_value("liquid")
    visit.keyed("system-save").get_by_role("button").click()
    expect(visit.page.get_by_text("Saved.")).to_be_visible()
    visit.page.get_by_text("Files of ais-bench-stubs").click()
    download = visit.download(visit.page.get_by_role("button", name="Download system.json"))

    written = json.loads(download.path().read_text("utf-8"))
    assert (written["cooling"], len(written)) == ("liquid", 33)
    assert visit.troubles() == []


@pytest.mark.parametrize(("name", "person"), in_turns(["system-last"], 1))
def test_the_dialog_looks_right(used: ConsoleProcess, window: OpenWindow, name: str, person: str) -> None:
    visit = window(used, **PEOPLE[person])
    open_dialog(visit, seeds.STOPPED_RUN)
    visit.picture(f"system-first-{person}")

    visit.page.get_by_role("tab").last.click()
    visit.rest()

    assert_looks_right(visit, f"{name}-{person}")
