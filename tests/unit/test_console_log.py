"""data/console.log: one line per entry, whatever somebody typed, and times that can be compared across machines."""

import logging
import re
import stat
from functools import partial
from pathlib import Path

import pytest

from aisbench_core.base.console_log import BYTES, OLDER_FILES, ConsoleLogFile
from aisbench_core.base.errors import DiskError
from aisbench_core.base.messages import Message
from aisbench_core.running.following.tasks import Tasks

ENTRY = re.compile(
    r"(?P<at>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) (?P<level>[A-Z]+) (?P<name>[\w.]+): (?P<message>.*)"
)


def logged(folder: Path, message: str, *values: object, failed: Exception | None = None) -> str:
    """The file after one entry."""
    logger = logging.Logger("aisbench_core.domain.access.changes")
    handler = ConsoleLogFile(folder)
    logger.addHandler(handler)
    logger.error(message, *values, exc_info=failed)
    handler.close()
    return (folder / "console.log").read_text("utf-8")


@pytest.mark.parametrize(
    "end", ["\n", "\r\n", "\r", "\x0b", "\x0c", "\x1b[2K", "\x85", "\u2028", "\u2029", "\0", "\udcff"]
)
def test_a_value_forges_no_entry_and_obeys_no_terminal(tmp_path: Path, end: str) -> None:
    forged = (
        f"ann{end}2026-11-25T09:30:00.000Z INFO aisbench_core.domain.access.changes: admin (cli): delete everything"
    )

    lines = logged(tmp_path, "%s (cli): rename a run", forged).split("\n")

    assert len(lines) == 2
    assert lines[1] == ""
    assert lines[0].isprintable()
    assert "ann\\x" in lines[0]


def test_an_entry_says_when_in_utc_how_grave_where_and_what(tmp_path: Path) -> None:
    entry = ENTRY.fullmatch(logged(tmp_path, "%s (cli): launch run %s", "安", "r1").removesuffix("\n"))

    assert entry
    assert entry["level"] == "ERROR"
    assert entry["name"] == "aisbench_core.domain.access.changes"
    assert entry["message"] == "安 (cli): launch run r1"


def test_a_traceback_stands_below_its_entry_and_is_none_itself(tmp_path: Path) -> None:
    text = logged(tmp_path, "incident", failed=ValueError("first\n2026-11-25T09:30:00.000Z INFO x: forged"))

    entries = [line for line in text.splitlines() if ENTRY.fullmatch(line)]
    assert len(entries) == 1
    assert "    ValueError: first" in text.splitlines()


def test_an_error_of_ours_has_no_traceback(tmp_path: Path) -> None:
    full = DiskError(Message("a file cannot be written: {why}", why="no\nspace"), Message("free space"))

    lines = logged(tmp_path, "not stored", failed=full).splitlines()

    assert len(lines) == 2
    assert lines[1] == "    a file cannot be written: no\\x0aspace (free space)"


def test_a_full_disk_is_logged_once_and_not_for_each_task(caplog: pytest.LogCaptureFixture) -> None:
    tasks = Tasks(2)

    def fail(error: Exception) -> None:
        raise error

    for number in range(100):
        full = DiskError(Message("a file cannot be written: {why}", why="no space"), Message("free space"))
        tasks.start("", f"run {number}", partial(fail, full), tasks.quick)
    tasks.start("", "another", partial(fail, RuntimeError("a bug")), tasks.quick)
    tasks.shut_down()

    assert sorted("stored" in text for text in caplog.messages) == [True, True]
    assert sum("nor may those of other tasks" in text for text in caplog.messages) == 1


def test_the_file_is_private_and_takes_only_so_much_of_the_disk(tmp_path: Path) -> None:
    handler = ConsoleLogFile(tmp_path)
    logger = logging.Logger("aisbench_core")
    logger.addHandler(handler)

    for _ in range(BYTES * (OLDER_FILES + 3) // 1_000_000 + 1):
        logger.error("%s", "x" * 1_000_000)
    handler.close()

    files = [*tmp_path.iterdir()]
    assert len(files) == OLDER_FILES + 1
    assert sum(file.stat().st_size for file in files) <= BYTES * (OLDER_FILES + 1)
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
