"""The warehouse made anew from the folders of the runs, when nothing else is left."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from aisbench_core.config.settings import Settings
from aisbench_core.domain.results.record import write_record
from aisbench_core.interfaces.cli import main
from aisbench_core.store.run_folders.run_paths import RunFolder
from aisbench_core.wiring import Core, open_core
from tests import records as a
from tests.actors import TESTER


@pytest.fixture
def core(tmp_path: Path) -> Core:
    """A console whose ledger and warehouse are lost, with the folders of two runs."""
    core = open_core(Settings(data_dir=tmp_path))
    for run_id in ("run-1", "run-2"):
        folder = RunFolder(core.settings.runs_dir / run_id)
        write_record(a.record(run_id), folder.record, folder.metrics, folder.events)
    return core


def test_runs_that_the_ledger_does_not_know_come_back(core: Core) -> None:
    count = core.warehouse.rebuild(core.files.records())

    assert count == 2
    found = core.warehouse.runs.find_row("run-2")
    assert found
    assert found.throughput == 8 * a.CARD_THROUGHPUT


DAMAGES = {
    "{": "Invalid JSON",
    "[" * 100_000: "recursion limit",
    "": "EOF while parsing",
    "null": "should be an object",
    '{"run": {}}': "run.run_id: Field required, and ",
}


@pytest.mark.parametrize("content", [*DAMAGES], ids=range(len(DAMAGES)))
def test_a_damaged_record_is_named_with_its_reason_and_keeps_nothing_else_from_being_stored(
    core: Core, content: str
) -> None:
    RunFolder(core.settings.runs_dir / "run-1").record.write_text(content, "utf-8")

    rebuilt = core.storage.rebuild(TESTER, believe=True)

    assert rebuilt.runs == 1
    (error,) = rebuilt.unread
    assert error.message.startswith("run-1/record.json cannot be read: ")
    assert DAMAGES[content] in error.message
    assert "backup" in error.hint
    assert core.warehouse.runs.find_row("run-2")


def test_what_is_stored_of_a_damaged_run_stays_and_a_check_names_it(core: Core) -> None:
    core.storage.rebuild(TESTER, believe=True)
    RunFolder(core.settings.runs_dir / "run-1").events.write_text("nonsense\n", "utf-8")

    assert core.storage.rebuild(TESTER).runs == 1
    assert core.warehouse.runs.find_row("run-1")
    (damage,) = core.storage.check(TESTER).damages
    assert (damage.where, "events.jsonl, line 1 cannot be read" in damage.sentence) == ("run run-1", True)


def test_what_is_wrong_in_one_way_is_counted_when_it_is_much(core: Core) -> None:
    for number in range(30):
        folder = RunFolder(core.settings.runs_dir / f"lost-{number:02}")
        write_record(a.record(folder.path.name), folder.record, folder.metrics, folder.events)
    RunFolder(core.settings.runs_dir / "lost-00").record.write_text("{", "utf-8")

    shell = CliRunner(env={"AISBENCH_DATA_DIR": str(core.settings.data_dir)})
    checked = shell.invoke(main, ["warehouse", "check"])
    rebuilt = shell.invoke(main, ["warehouse", "rebuild", "--believe-folders"])

    assert checked.stdout.count("was never recorded by this console") == 21
    assert "and 11 more" in checked.stdout
    assert (checked.exit_code, rebuilt.exit_code) == (1, 1)
    assert "31 runs recorded" in rebuilt.stdout
    assert "error: lost-00/record.json cannot be read" in rebuilt.stderr


def test_an_answer_for_which_there_is_no_room_is_a_sentence(core: Core) -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "aisbench_core.interfaces.cli", "workloads"],
            env={**os.environ, "AISBENCH_DATA_DIR": str(core.settings.data_dir), "PYTHONUNBUFFERED": ""},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )

    assert (ended.returncode, "Traceback" in ended.stderr) == (1, False)
    assert ended.stderr.startswith("error: the answer cannot be written: No space left on device (free space")


def test_a_run_folder_whose_name_is_not_utf_8_is_named_and_keeps_nothing_else_from_being_stored(core: Core) -> None:
    folder = core.settings.runs_dir / os.fsdecode("测试".encode("gbk"))
    folder.mkdir()
    (folder / "record.json").write_text("{}")

    rebuilt = core.storage.rebuild(TESTER, believe=True)

    assert rebuilt.runs == 2
    (error,) = rebuilt.unread
    assert str(error).startswith("测试/record.json cannot be read")
