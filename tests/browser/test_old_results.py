"""A folder's logs in a real browser: handed over, completed, stored, and found on the leaderboard."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from aisbench_core.interfaces.web.uploads import MOST_SESSION_BYTES, UPLOADS
from tests.browser.console_process import ConsoleProcess
from tests.browser.grids import column, grid
from tests.browser.prepared_console import PreparedConsole
from tests.browser.test_looks import PEOPLE, assert_looks_right, in_turns
from tests.browser.visit import OpenWindow, Visit
from tests.old_tables import write_table
from tests.unit.old_logs import BERT, RESNET

TABLE = "模型,版本,节点数,单机卡数,我们的数,精度\nnet,2.0,2,8,900.5,0.81\n"


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleProcess]:
    """A console on its first day, of somebody who has measured before."""
    process = PreparedConsole.start(tmp_path_factory.mktemp("before"))
    yield process
    process.stop()


def old_files(folder: Path, table: str = TABLE) -> list[Path]:
    """Logs as people have them: in several encodings, one of them empty, and a table."""
    contents = {
        "bert.log": BERT.encode(),
        "resnet.log": RESNET.replace("\n", "\r\n").encode("gbk"),
        "nothing.log": b"Killed\n",
        "old.csv": table.encode(),
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return [folder / name for name in contents]


def hand_over(visit: Visit, files: list[Path]) -> None:
    """Choose files and have them read."""
    visit.page.locator(".st-key-old-files input[type=file]").set_input_files(files)
    visit.rest()
    visit.keyed("old-read-files").get_by_role("button").click()
    expect(visit.keyed("old-save").get_by_role("button")).to_be_visible()
    visit.rest()


def test_somebody_brings_the_results_of_years(alone: ConsoleProcess, window: OpenWindow, tmp_path: Path) -> None:
    visit = window(alone)
    visit.open("/leaderboard")
    visit.page.get_by_role("link", name="Import earlier results").click()
    expect(visit.page.get_by_role("heading", level=1, name="Import results")).to_be_visible()

    hand_over(visit, old_files(tmp_path))
    expect(visit.page.get_by_role("heading", name="3 results: 3 models, 2 versions")).to_be_visible()
    results = visit.page.get_by_role("table", name="Results", exact=True).get_by_role("row")
    for row, said in enumerate(["BERT-large", "ResNet-50 v1.5", "net"], start=1):
        expect(results.nth(row)).to_contain_text(said)
        expect(results.nth(row)).to_contain_text("yes" if row < 3 else "missing")
    expect(visit.page.get_by_text("Not read (1)")).to_be_visible()
    visit.keyed("old-save").get_by_role("button").click()
    expect(visit.page.get_by_text("Imported: 3. Already here: 0.")).to_be_visible()
    visit.page.get_by_role("link", name="Show the imported runs (3)").click()

    expect(visit.page.get_by_role("heading", level=1, name="Leaderboard")).to_be_visible()
    visit.rest()
    statuses = column(visit, "Table of runs", "status")
    assert sorted(statuses) == ["claimed, unverified", "claimed, unverified", "it has no throughput"]
    grid(visit, "Table of runs").locator("tbody tr").first.get_by_role("link").click()
    expect(visit.page.get_by_text("Imported from")).to_be_visible()
    assert visit.troubles() == []


def test_the_same_files_again_are_all_here(alone: ConsoleProcess, window: OpenWindow, tmp_path: Path) -> None:
    visit = window(alone)
    visit.open("/import")
    hand_over(visit, old_files(tmp_path)[:2])
    visit.keyed("old-save").get_by_role("button").click()
    expect(visit.page.get_by_text("Already here:")).to_be_visible()

    visit.reload()
    hand_over(visit, old_files(tmp_path)[:2])

    expect(visit.page.get_by_role("table", name="Results", exact=True).get_by_text("already stored")).to_have_count(2)


@pytest.mark.parametrize(("name", "person"), in_turns(["old-results"], 1))
def test_the_page_looks_right_with_results(
    alone: ConsoleProcess, window: OpenWindow, tmp_path: Path, name: str, person: str
) -> None:
    visit = window(alone, **PEOPLE[person])
    visit.open("/import")

    (tmp_path / "years.csv").write_text(write_table(260), "utf-8")
    hand_over(visit, [*old_files(tmp_path), tmp_path / "years.csv"])

    assert_looks_right(visit, f"{name}-{person}")


def test_a_file_that_the_page_has_no_room_for_is_named_with_both_sizes(
    alone: ConsoleProcess, window: OpenWindow, tmp_path: Path
) -> None:
    visit = window(alone)
    visit.open("/import")
    first, second, *_ = old_files(tmp_path)
    visit.page.locator(".st-key-old-files input[type=file]").set_input_files(first)
    expect(visit.keyed("old-read-files").get_by_role("button")).to_be_enabled()
    [stored] = (alone.data_dir / UPLOADS).glob("*/*/*")
    with (stored.parent / "another").open("wb") as other:
        os.truncate(other.fileno(), MOST_SESSION_BYTES)

    visit.page.locator(".st-key-old-files input[type=file]").set_input_files(second)

    said = visit.page.get_by_text("resnet.log was not uploaded: it has")
    expect(said).to_contain_text("and the page holds 500 MB of at most 500 MB already")
    assert "status code" not in visit.page.content()
