"""The queue of processes in front of the warehouse file: served in order; who dies or stops does not hold it up."""

import fcntl
import multiprocessing
import os
import signal
import struct
import threading
import time
from functools import partial
from pathlib import Path

import duckdb
import pytest

from aisbench_core.base.errors import WarehouseBusy
from aisbench_core.base.messages import make_verbatim
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.store.file_queue import queue_of, try_in_turn
from aisbench_core.warehouse.store.file_store import FileStore
from tests import records as a
from tests.processes import FORKED

WAITING = 6


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "warehouse.duckdb"


def in_an_hour() -> float:
    return time.monotonic() + 3600


def wait_until_queued(file: Path, count: int) -> None:
    """Wait until so many processes and threads have queued, ever."""
    deadline = time.monotonic() + 60
    while int.from_bytes(queue_of(file).read_bytes(), "little") != count + 1:
        assert time.monotonic() < deadline
        time.sleep(0.005)


def stay_in_front(file: Path, tried: "multiprocessing.synchronize.Event") -> None:
    """Somebody whose turn it is, and who never gets the file."""

    def attempt() -> None:
        tried.set()
        raise WarehouseBusy(make_verbatim("held"), "")

    try_in_turn(file, in_an_hour(), attempt)


def in_front(file: Path) -> "multiprocessing.context.ForkServerProcess":
    tried = FORKED.Event()
    process = FORKED.Process(target=stay_in_front, args=(file, tried))
    process.start()
    assert tried.wait(60)
    return process


def test_those_who_wait_open_the_file_in_the_order_in_which_they_came(file: Path) -> None:
    first = in_front(file)
    served: list[int] = []
    threads = []
    for number in range(WAITING):
        threads.append(threading.Thread(target=try_in_turn, args=(file, in_an_hour(), partial(served.append, number))))
        threads[-1].start()
        wait_until_queued(file, number + 2)

    first.kill()
    first.join(60)
    for thread in threads:
        thread.join(60)

    assert served == list(range(WAITING))


def test_one_who_is_killed_while_others_wait_for_those_before_it_lets_nobody_pass(file: Path) -> None:
    first, tries, served = in_front(file), FORKED.Event(), []
    second = FORKED.Process(target=stay_in_front, args=(file, tries))
    second.start()
    wait_until_queued(file, 2)
    third = threading.Thread(target=try_in_turn, args=(file, in_an_hour(), lambda: served.append(3)))
    third.start()
    wait_until_queued(file, 3)

    second.kill()
    second.join(60)
    third.join(0.3)
    waited = third.is_alive() and not served
    first.kill()
    first.join(60)
    third.join(60)

    assert waited
    assert served == [3]
    assert not tries.is_set()


def test_one_who_is_suspended_in_front_holds_the_others_up_for_a_part_of_their_patience(file: Path) -> None:
    Warehouse(file).record(a.record())
    first = in_front(file)
    assert first.pid
    os.kill(first.pid, signal.SIGSTOP)
    try:
        with FileStore(file, 0.3).cursor() as cur:
            assert cur.execute("select count(*) from runs").fetchall() == [(1,)]
    finally:
        first.kill()
        first.join(60)


def test_one_who_is_suspended_while_it_joins_the_queue_keeps_nobody_from_the_file_for_ever(file: Path) -> None:
    Warehouse(file).record(a.record())
    handle = os.open(queue_of(file), os.O_RDWR)
    fcntl.fcntl(handle, fcntl.F_OFD_SETLK, struct.pack("@hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 0, 1, 0))
    try:
        with FileStore(file, 0.3).cursor() as cur:
            assert cur.execute("select count(*) from runs").fetchall() == [(1,)]
    finally:
        os.close(handle)


def test_a_program_that_knows_of_no_queue_is_waited_for(file: Path) -> None:
    Warehouse(file).record(a.record())
    older = duckdb.connect(file)  # as versions without the queue open it, and DuckDB's own shell
    reading, found = FileStore(file, 60), []

    def read() -> None:
        with reading.cursor() as cur:
            found.extend(cur.execute("select run_id from runs").fetchall())

    thread = threading.Thread(target=read)
    thread.start()
    wait_until_queued(file, 2)
    older.close()
    thread.join(60)

    assert found == [("run-1",)]


@pytest.mark.parametrize("content", [b"", b"x", b"\xff" * 8, b"\0" * 8, b"\xff" * 7 + b"\x7f"])
def test_a_queue_file_with_other_content_or_none_is_begun_anew(file: Path, content: bytes) -> None:
    queue_of(file).write_bytes(content)

    Warehouse(file).record(a.record())

    assert Warehouse(file).runs.find_row("run-1") is not None


def test_a_queue_that_cannot_be_used_keeps_nobody_from_the_file(file: Path) -> None:
    queue_of(file).mkdir()

    Warehouse(file).record(a.record())

    assert Warehouse(file).runs.find_row("run-1") is not None


def test_the_queue_file_is_for_its_owner_only(file: Path) -> None:
    Warehouse(file).record(a.record())

    assert queue_of(file).stat().st_mode & 0o777 == 0o600
