"""A disk that is completely full: what is kept can be read, by several at once, and after somebody was killed."""

import resource
import shutil
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.queues import Queue
from pathlib import Path
from typing import Any

import pytest

from aisbench_core.base.errors import DiskError
from aisbench_core.model import Event, Level
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.store import file_store
from aisbench_core.warehouse.store.file_store import MERGED_FROM
from aisbench_core.warehouse.store.warehouse_file import log_of
from aisbench_core.warehouse.values.runs import BoardQuery
from tests import records as a
from tests.processes import FORKED

ALL = BoardQuery("cn-north-9", include_invalid=True)


def killed_in_the_middle(folder: Path) -> Path:
    """A ledger whose newest events stand in its log only, as whoever was killed leaves it."""
    ledger, left = Ledger(folder / "ledger.sqlite3"), folder / "left.sqlite3"
    ledger.add(a.run("before"))
    with ledger.connection() as con:
        con.execute("select * from events")  # the last to leave would merge the log
        for number in range(5):
            ledger.note(Event("before", a.T0, "console", Level.INFO, str(number)))
        for ending in ("", "-wal"):
            shutil.copyfile(f"{folder / 'ledger.sqlite3'}{ending}", f"{left}{ending}")
    return left


def read_without_room(file: Path, told: "Queue[Any]") -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    ledger = Ledger(file)
    with ThreadPoolExecutor(4) as several:
        told.put(list(several.map(lambda _: [each.message for each in ledger.events("before")], range(40))))
    try:
        ledger.note(Event("before", a.T0, "console", Level.INFO, "late"))
    except DiskError as error:
        told.put(str(error))


def test_a_full_disk_keeps_nobody_from_reading_the_newest_that_is_in_the_ledger(tmp_path: Path) -> None:
    left, told = killed_in_the_middle(tmp_path), FORKED.Queue()
    process = FORKED.Process(target=read_without_room, args=(left, told))
    process.start()
    read, refused = told.get(timeout=120), told.get(timeout=120)
    process.join(60)

    assert read == [["0", "1", "2", "3", "4"]] * 40
    assert "free space and try again; nothing that was stored is lost" in refused
    Ledger(left).note(Event("before", a.T0, "console", Level.INFO, "with room"))
    assert [each.message for each in Ledger(left).events("before")][-1] == "with room"


def count_without_room(file: Path, told: "Queue[Any]") -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    warehouse = Warehouse(file)
    told.put([warehouse.runs.list_rows(ALL).total for _ in range(3)])


def test_a_full_disk_keeps_nobody_from_reading_the_newest_that_is_in_the_warehouse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_store, "HOLD_S", 600)  # it stays open however long the test takes
    warehouse, left, told = Warehouse(tmp_path / "warehouse.duckdb"), tmp_path / "left.duckdb", FORKED.Queue()
    warehouse.record(a.record("before"))
    with warehouse.cursor():
        for number in range(8):
            warehouse.record(a.record(f"run-{number}"))
        for ending in ("", ".wal"):  # as whoever was killed leaves it
            shutil.copyfile(f"{tmp_path / 'warehouse.duckdb'}{ending}", f"{left}{ending}")
    process = FORKED.Process(target=count_without_room, args=(left, told))
    process.start()
    read = told.get(timeout=120)
    process.join(60)

    assert log_of(left).stat().st_size > MERGED_FROM
    assert read == [9, 9, 9]
    assert Warehouse(left).runs.list_rows(ALL).total == 9
    assert not log_of(left).exists()
    assert not log_of(tmp_path / "warehouse.duckdb").exists()
