"""The warehouse's file: shared by threads and processes, upgraded by migrations, and refused in words when unusable."""

import contextlib
import fcntl
import multiprocessing
import os
import shutil
import sqlite3
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import pytest

from aisbench_core.base.errors import WarehouseBusy, WarehouseError
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.store.file_store import FileStore
from aisbench_core.warehouse.store.migrations import LATEST, NEWEST, Schema, migrate_tables
from aisbench_core.warehouse.store.warehouse_file import log_of
from aisbench_core.warehouse.tables.schema import TABLES
from aisbench_core.warehouse.values.runs import BoardQuery, RunRow
from tests import records as a
from tests.processes import FORKED
from tests.stored_cards import rank_results_of

BOARD = BoardQuery("cn-north-9")
PROCESSES, THREADS, RUNS = 3, 3, 4


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "warehouse.duckdb"


def in_threads(count: int, work: Callable[[int], None]) -> None:
    with ThreadPoolExecutor(count) as pool:
        list(pool.map(work, range(count)))


def record_and_look(file: Path, process: int) -> None:
    warehouse = Warehouse(file)

    def work(thread: int) -> None:
        for number in range(RUNS):
            warehouse.record(a.record(f"run-{process}-{thread}-{number}"))
            assert warehouse.board.list_rows(BOARD).total == 1

    in_threads(THREADS, work)


def record_one(file: Path, run_id: str) -> None:
    Warehouse(file).record(a.record(run_id))


def hold(file: Path, held: "multiprocessing.synchronize.Event", release: "multiprocessing.synchronize.Event") -> None:
    with Warehouse(file).cursor():
        held.set()
        release.wait(60)


@contextlib.contextmanager
def held_elsewhere(file: Path) -> Iterator[int]:
    held, release = FORKED.Event(), FORKED.Event()
    holder = FORKED.Process(target=hold, args=(file, held, release))
    holder.start()
    try:
        assert held.wait(60)
        assert holder.pid is not None
        yield holder.pid
    finally:
        release.set()
        holder.join(60)


def test_processes_and_threads_share_a_new_warehouse_without_an_error(file: Path) -> None:
    processes = [FORKED.Process(target=record_and_look, args=(file, number)) for number in range(PROCESSES)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(120)

    assert [process.exitcode for process in processes] == [0] * PROCESSES
    assert Warehouse(file).runs.list_rows(BOARD).total == PROCESSES * THREADS * RUNS
    assert [found.name for found in file.parent.glob("*.new")] == []


def test_a_log_whose_file_was_removed_is_set_aside_by_one_of_many(file: Path) -> None:
    for _ in range(2):
        Warehouse(file).record(a.record("lost"))
        file.unlink()
    processes = [FORKED.Process(target=record_one, args=(file, f"run-{number}")) for number in range(2)]
    for process in processes:
        process.start()
    in_threads(4, lambda number: record_one(file, f"thread-{number}"))
    for process in processes:
        process.join(120)

    assert [process.exitcode for process in processes] == [0, 0]
    assert Warehouse(file).runs.list_rows(BOARD).total == 6
    assert sorted(found.name for found in file.parent.glob("*.lost-*")) == [
        "warehouse.duckdb.wal.lost-1",
        "warehouse.duckdb.wal.lost-2",
    ]


def test_the_log_of_another_copy_is_refused_with_what_to_do(file: Path) -> None:
    Warehouse(file).rebuild(a.records([8000.0] * 20))
    copy = file.read_bytes()
    Warehouse(file).compact()
    Warehouse(file).record(a.record("later"))
    file.write_bytes(copy)

    assert "another copy" in refused(file)


def test_threads_that_record_the_same_run_store_it_once(file: Path) -> None:
    first, second = Warehouse(file), Warehouse(file)
    record = a.record("same")

    in_threads(8, lambda number: (first if number % 2 else second).record(record))

    assert Warehouse(file).runs.list_rows(BOARD).total == 1
    assert len(rank_results_of(first, "same")) == 8


def test_a_thread_waits_for_another_one_that_stores_and_then_says_that_it_is_busy(file: Path) -> None:
    store = FileStore(file, 0.2)
    store.write(lambda cur: cur.execute("create table before (number integer)"))
    begun, release = threading.Event(), threading.Event()

    def slowly(cur: duckdb.DuckDBPyConnection) -> None:
        begun.set()
        assert release.wait(60)
        cur.execute("insert into before values (1)")

    with ThreadPoolExecutor(1) as other:
        storing = other.submit(store.write, slowly)
        assert begun.wait(60)
        with pytest.raises(WarehouseBusy) as refusal:
            store.write(lambda cur: cur.execute("insert into before values (3)"))
        release.set()
        storing.result(60)

    store.write(lambda cur: cur.execute("insert into before values (2)"))
    assert str(file) in str(refusal.value)
    with store.cursor() as cur:
        assert cur.execute("select number from before order by number").fetchall() == [(1,), (2,)]


def test_threads_get_cursors_of_their_own(file: Path) -> None:
    warehouse = Warehouse(file)
    wrong: list[int] = []

    def ask(number: int) -> None:
        for value in range(20):
            with warehouse.cursor() as cur:
                if cur.execute("select ? + ?", [number, value]).fetchall() != [(number + value,)]:
                    wrong.append(number)

    in_threads(6, ask)

    assert wrong == []


def test_nobody_holds_the_file_when_nobody_asks(file: Path) -> None:
    Warehouse(file).record(a.record())

    with held_elsewhere(file):
        pass

    assert Warehouse(file).runs.find_row("run-1") is not None


def test_a_file_held_by_another_process_is_busy_after_a_bounded_wait(file: Path) -> None:
    Warehouse(file).record(a.record())

    with held_elsewhere(file) as pid, pytest.raises(WarehouseBusy) as refusal, FileStore(file, 0.05).cursor():
        pass

    assert str(file) in str(refusal.value)
    assert str(pid) in str(refusal.value)


def test_waiting_for_another_process_ends_when_it_lets_go(file: Path) -> None:
    warehouse = Warehouse(file)
    warehouse.record(a.record())
    held, release = FORKED.Event(), FORKED.Event()
    holder = FORKED.Process(target=hold, args=(file, held, release))
    holder.start()
    assert held.wait(60)
    found: list[RunRow | None] = []
    asking = threading.Thread(target=lambda: found.append(warehouse.runs.find_row("run-1")))
    asking.start()

    release.set()
    asking.join(60)

    holder.join(60)
    assert [row.run_id for row in found if row] == ["run-1"]


def test_a_borrower_that_fails_gives_its_cursor_back(file: Path) -> None:
    store = FileStore(file, 1.0)
    with pytest.raises(KeyError), store.cursor():
        raise KeyError

    with held_elsewhere(file):
        pass


def test_a_failed_transaction_leaves_nothing_behind(file: Path) -> None:
    store = FileStore(file)

    def half(cur: duckdb.DuckDBPyConnection) -> None:
        cur.execute("insert into events (run_id) values ('half')")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        store.write(half)

    with store.cursor() as cur:
        assert cur.execute("select count(*) from events").fetchall() == [(0,)]


def test_a_process_that_dies_while_writing_loses_nothing_acknowledged(file: Path) -> None:
    told = FORKED.Queue()
    writer = FORKED.Process(target=write_for_ever, args=(file, told))
    writer.start()
    for _ in range(5):
        told.get(timeout=60)

    writer.kill()
    writer.join(60)

    acknowledged = 5
    while not told.empty():
        told.get(timeout=1)
        acknowledged += 1
    assert Warehouse(file).runs.list_rows(BOARD).total >= acknowledged


def write_for_ever(file: Path, told: "multiprocessing.queues.Queue[int]") -> None:
    warehouse = Warehouse(file)
    for number in range(10_000):
        warehouse.record(a.record(f"run-{number}"))
        told.put(number)


# --- migrations -------------------------------------------------------------------------------------


def test_the_migrated_tables_are_the_declared_ones(file: Path) -> None:
    with Warehouse(file).cursor() as cur:
        found = cur.execute("select table_name, column_name, data_type from duckdb_columns() order by column_index")
        columns = found.fetchall()

    for table, declared in TABLES.items():
        assert [(name, kind) for of, name, kind in columns if of == table] == list(declared.items())


def test_a_warehouse_is_migrated_once(file: Path) -> None:
    for _ in range(3):
        Warehouse(file).facets.list_regions()

    with Warehouse(file).cursor() as cur:
        assert cur.execute("select version from schema_version").fetchall() == [(LATEST,)]


def test_the_tables_ask_for_nothing_that_a_shared_catalogue_cannot_give(file: Path) -> None:
    with Warehouse(file).cursor() as cur:
        assert cur.execute("select * from duckdb_constraints() where constraint_type <> 'NOT NULL'").fetchall() == []
        assert cur.execute("select * from duckdb_indexes()").fetchall() == []
        assert cur.execute("select * from duckdb_sequences()").fetchall() == []


def later(step: str) -> Schema:
    """A schema that gives runs one more column, and completes rows of before by a step."""
    tables = {**NEWEST.tables, "runs": {**NEWEST.tables["runs"], "extra": "INTEGER"}, "another": {"x": "INTEGER"}}
    return Schema(LATEST + 1, tables, {**NEWEST.steps, LATEST + 1: step})


def test_a_later_schema_adds_what_it_declares_and_completes_every_row(file: Path) -> None:
    Warehouse(file).record(a.record())

    with duckdb.connect(file) as con:
        migrate_tables(con, file, later("update runs set extra = 7"))
        migrate_tables(con, file, later("update runs set extra = 8"))

        assert con.execute("select run_id, extra from runs").fetchall() == [("run-1", 7)]
        assert con.execute("select * from another").fetchall() == []
        assert con.execute("select max(version) from schema_version").fetchall() == [(LATEST + 1,)]


def test_an_upgrade_that_fails_changes_nothing(file: Path) -> None:
    Warehouse(file).record(a.record())

    with duckdb.connect(file) as con, pytest.raises(duckdb.CatalogException):
        migrate_tables(con, file, later("update runs set extra = 7; update no_such_table set extra = 7"))

    assert Warehouse(file).runs.find_row("run-1") is not None
    with Warehouse(file).cursor() as cur:
        assert "extra" not in [name for name, *_ in cur.execute("describe runs").fetchall()]


# --- files that cannot be used ----------------------------------------------------------------------


def refused(file: Path) -> str:
    with pytest.raises(WarehouseError) as refusal:
        Warehouse(file).board.list_rows(BOARD)
    assert str(file) in str(refusal.value)
    assert refusal.value.hint
    return str(refusal.value)


def test_a_warehouse_of_a_newer_version_is_refused_and_left_alone(file: Path) -> None:
    with Warehouse(file).cursor() as cur:
        cur.execute("insert into schema_version values (99)")
    before = Warehouse(file).revision()

    assert "schema 99" in refused(file)
    assert "update this installation" in refused(file)
    assert Warehouse(file).revision() == before


@pytest.mark.parametrize("content", [b"", b"<html>", b"SQLite format 3\0" + b"\0" * 8192, b"\xff" * 20_000])
def test_a_file_that_is_no_warehouse_is_refused(file: Path, content: bytes) -> None:
    file.write_bytes(content)

    assert "rebuild" in refused(file)
    assert file.read_bytes() == content


@pytest.mark.parametrize("kept", [100, 5_000, 13_000])
def test_a_truncated_warehouse_is_refused(file: Path, kept: int) -> None:
    Warehouse(file).rebuild(a.records([8000.0] * 20))
    file.write_bytes(file.read_bytes()[:kept])

    assert "rebuild" in refused(file)


def test_a_damaged_log_is_refused(file: Path) -> None:
    Warehouse(file).record(a.record())
    log = file.with_name(f"{file.name}.wal")
    content = log.read_bytes()
    log.write_bytes(content[:1000] + b"\xff" * 500 + content[1500:])

    assert ".wal" in refused(file)


def test_the_database_of_another_program_is_refused(file: Path) -> None:
    with duckdb.connect(file) as con:
        con.execute("create table sales (amount DOUBLE)")

    assert "another program" in refused(file)
    with duckdb.connect(file) as con:
        assert con.execute("show tables").fetchall() == [("sales",)]


def test_a_database_with_another_idea_of_versions_is_refused(file: Path) -> None:
    with duckdb.connect(file) as con:
        con.execute("create table schema_version (name VARCHAR)")

    assert "another program" in refused(file)


def test_a_database_of_another_kind_is_refused_without_reaching_for_an_extension(file: Path) -> None:
    with sqlite3.connect(file) as con:
        con.execute("create table runs (run_id text)")
    con.close()

    assert "rebuild" in refused(file)


def test_a_directory_in_the_warehouse_s_place_is_refused(file: Path) -> None:
    file.mkdir()

    assert "cannot be used" in refused(file)


def test_a_place_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file, not a directory")

    assert "cannot be used" in refused(tmp_path / "data" / "warehouse.duckdb")


def look_as_somebody_else(file: Path, told: "multiprocessing.queues.Queue[str]") -> None:
    warehouse = Warehouse(file)  # everything is imported before the rights are gone
    if os.geteuid() == 0:
        os.seteuid(65534)
    try:
        warehouse.board.list_rows(BOARD)
    except WarehouseError as error:
        told.put(str(error))
    else:
        told.put("it was opened")


def test_a_read_only_warehouse_is_refused_with_what_to_do() -> None:
    folder = Path(tempfile.mkdtemp(prefix="warehouse-"))
    file = folder / "warehouse.duckdb"
    Warehouse(file).record(a.record())
    file.chmod(0o444)
    folder.chmod(0o555)
    told = FORKED.Queue()
    process = FORKED.Process(target=look_as_somebody_else, args=(file, told))
    process.start()

    said = told.get(timeout=60)
    process.join(60)

    folder.chmod(0o755)
    shutil.rmtree(folder)
    assert str(file) in said
    assert "writable" in said


def keep_log(file: Path, kept: "multiprocessing.synchronize.Event", done: "multiprocessing.synchronize.Event") -> None:
    """Somebody who leaves: DuckDB lets go of the file first, and of its log a moment later."""
    with log_of(file).open("ab") as log:
        fcntl.lockf(log, fcntl.LOCK_EX)
        kept.set()
        done.wait(60)


def test_a_writer_waits_for_a_log_that_somebody_who_leaves_still_holds(file: Path) -> None:
    kept, done, store = FORKED.Event(), FORKED.Event(), FileStore(file)
    tries: list[int] = []
    store.write(lambda cur: cur.execute("insert into group_statistics_due values (1)"))

    def change(cur: duckdb.DuckDBPyConnection) -> None:
        cur.execute("insert into group_statistics_due values (2)")
        tries.append(2)
        if len(tries) == 3:
            done.set()

    process = FORKED.Process(target=keep_log, args=(file, kept, done))
    process.start()
    assert kept.wait(60)
    with pytest.raises(WarehouseBusy, match=f"in use by process {process.pid}"):
        FileStore(file, patience_s=0).write(lambda cur: cur.execute("insert into group_statistics_due values (3)"))
    store.write(change)
    process.join(60)

    with store.cursor() as cur:
        assert cur.execute("from group_statistics_due order by all").fetchall() == [(1,), (2,)]
    assert len(tries) >= 3
