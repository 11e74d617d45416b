"""Exports, reports and imports of a person at once: counted over threads and processes, and free again at any end."""

import subprocess
import sys
import threading
from contextlib import ExitStack
from pathlib import Path

import pytest

from aisbench_core.base.errors import TooManyOperations
from aisbench_core.base.messages import in_chinese
from aisbench_core.config.settings import HOME
from aisbench_core.domain.access.operations import Operations

HOLD = """
import sys, time
from pathlib import Path
from aisbench_core.domain.access.operations import Operations
with Operations(Path(sys.argv[1]), 1).count_operation("ann"):
    print("started", flush=True)
    time.sleep(600)
"""


def test_a_person_has_so_many_under_way_and_others_have_their_own(tmp_path: Path) -> None:
    operations = Operations(tmp_path, 2)

    with operations.count_operation("ann"), operations.count_operation("ann"):
        with pytest.raises(TooManyOperations) as refused, operations.count_operation("ann"):
            pytest.fail("a third one")
        with operations.count_operation("bob"), operations.count_operation("安"):
            pass

    operations.require_room("ann")
    assert str(refused.value) == (
        "ann has as many exports, reports and imports under way as `operations_at_once` allows (2) "
        "(try again when one of them has ended)"
    )
    assert "请在其中一个结束后重试" in in_chinese(refused.value.sentence)


def test_one_that_fails_makes_room(tmp_path: Path) -> None:
    operations = Operations(tmp_path, 1)

    for _ in range(3):
        with pytest.raises(ValueError, match="broken"), operations.count_operation("ann"):
            raise ValueError("broken")

    operations.require_room("ann")


def test_without_a_limit_there_is_always_room_and_no_file(tmp_path: Path) -> None:
    operations = Operations(tmp_path, 0)

    with ExitStack() as stack:
        for _ in range(200):
            stack.enter_context(operations.count_operation("ann"))

    assert list(tmp_path.iterdir()) == []


def test_one_that_waits_starts_as_soon_as_another_ends(tmp_path: Path) -> None:
    operations, started = Operations(tmp_path, 1), threading.Event()

    def second() -> None:
        with operations.count_operation("ann", wait_seconds=30):
            started.set()

    with operations.count_operation("ann"):
        thread = threading.Thread(target=second)
        thread.start()
        assert not started.wait(0.3)
    thread.join()

    assert started.is_set()


def test_another_process_counts_until_it_is_killed(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], cwd=HOME, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        assert process.stdout.readline() == "started\n"
        with pytest.raises(TooManyOperations):
            Operations(tmp_path, 1).require_room("ann")
    finally:
        process.kill()
        process.communicate()

    Operations(tmp_path, 1).require_room("ann")
