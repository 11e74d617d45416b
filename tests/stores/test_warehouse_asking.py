"""Questions in SQL: they read and do nothing else, see what is new, keep nobody waiting, and end within bounds."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import duckdb
import pytest

from aisbench_core.base.errors import QueryError, WarehouseError
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.open.queries import Query, execute_query, iter_rows, write_parquet
from aisbench_core.warehouse.open.reading import FileReader, Reader, make_reader
from tests import records as a

FOREVER = "select count(*) from range(100000000) a, range(100000000) b where (a.range * b.range) % 7 = 3"


@pytest.fixture
def file(tmp_path: Path) -> Warehouse:
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    warehouse.record(a.record("run-1"))
    return warehouse


@pytest.fixture
def reading(file: Warehouse) -> Iterator[Reader]:
    found = make_reader(file.location, 60.0)
    yield found
    found.close()


@pytest.fixture
def either(warehouse: Warehouse) -> Iterator[Reader]:
    """A file's reader, and a team's."""
    warehouse.record(a.record("run-1"))
    found = make_reader(warehouse.location, 60.0)
    yield found
    found.close()


def ask(reading: Reader, sql: str, **values: object) -> list[tuple[object, ...]]:
    with execute_query(reading, Query(sql, values)) as cur:
        return cur.fetchall()


def refused(reading: Reader, sql: str, **values: object) -> str:
    with pytest.raises(QueryError) as refusal:
        ask(reading, sql, **values)
    return str(refusal.value)


def test_what_is_recorded_meanwhile_is_seen_by_the_next_question(warehouse: Warehouse, either: Reader) -> None:
    assert ask(either, "select count(*) from v_runs") == [(1,)]

    warehouse.record(a.record("run-2"))

    assert ask(either, "select run_id from v_runs order by 1") == [("run-1",), ("run-2",)]


def test_values_stand_apart_from_the_question(reading: Reader) -> None:
    assert ask(reading, "select count(*) from v_runs where model = $model", model="x' or true --") == [(0,)]
    assert ask(reading, "select run_id from v_runs where node_count = $nodes", nodes="1") == [("run-1",)]
    assert "not provided" in refused(reading, "from v_runs where model = $model")


def test_the_engine_itself_is_locked_whoever_gets_past_the_first_look(either: Reader) -> None:
    for sql in ("from read_text('/etc/hostname')", "copy (select 1) to '/tmp/x.csv'", "set threads = 1", "load x"):
        with either.cursor() as cur, pytest.raises(duckdb.Error, match=r"disabled|locked"):
            cur.execute(sql)
    with either.cursor() as cur, pytest.raises(duckdb.Error, match="read-only"):
        cur.execute("delete from warehouse.main.runs")


def test_a_mistake_is_shown_where_it_is(reading: Reader) -> None:
    said = refused(reading, "select run_id,\n  'ü', throughputt\nfrom v_runs")

    assert 'column "throughputt" not found' in said
    assert "line 2, column 8:\n    'ü', throughputt\n         ^\n" in said
    assert "docs/open.md" in said
    assert "line 1, column 18" in refused(reading, "from v_runs wher x")
    assert "did you mean v_runs?" in refused(reading, "from v_run")


def test_a_question_ends_when_its_time_is_over_and_the_next_one_is_answered(reading: Reader) -> None:
    with pytest.raises(QueryError, match="longer than 1 s"), execute_query(reading, Query(FOREVER, seconds=1)):
        pass

    assert ask(reading, "select count(*) from v_runs") == [(1,)]


def test_nobody_who_records_waits_for_a_long_question(file: Warehouse, reading: Reader) -> None:
    began, recorded = threading.Event(), threading.Event()

    def long() -> None:
        with reading.cursor() as cur:
            began.set()
            recorded.wait(60)
            cur.execute("select count(*) from runs").fetchall()

    asking = threading.Thread(target=long)
    asking.start()
    assert began.wait(60)
    file.record(a.record("run-2"))
    recorded.set()
    asking.join(60)

    assert ask(reading, "select count(*) from v_runs") == [(2,)]


def test_a_warehouse_that_is_not_there_yet_is_empty(tmp_path: Path) -> None:
    reading = FileReader(tmp_path / "none.duckdb")

    assert ask(reading, "select count(*) from v_groups") == [(0,)]
    assert list(tmp_path.iterdir()) == []
    reading.close()


def test_a_file_of_another_program_is_refused_and_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "warehouse.duckdb"
    file.write_bytes(b"not a database")

    with pytest.raises(WarehouseError, match="cannot be used"):
        ask(FileReader(file), "from v_runs")

    assert file.read_bytes() == b"not a database"


@pytest.mark.every_store
def test_fetching_is_part_of_the_time(either: Reader) -> None:
    start = time.monotonic()

    with (
        pytest.raises(QueryError, match=r"the query took longer than 1 s"),
        execute_query(either, Query("from range(10_000_000_000)", seconds=1.0)) as cur,
    ):
        all(iter_rows(cur))

    assert time.monotonic() - start < 5


def test_writing_parquet_is_part_of_the_time(reading: Reader) -> None:
    start = time.monotonic()

    with (
        pytest.raises(QueryError, match=r"the query took longer than 1 s"),
        execute_query(reading, Query("from range(10_000_000_000)", seconds=1.0)) as cur,
    ):
        write_parquet(cur, None, BytesIO())

    assert time.monotonic() - start < 5


@pytest.mark.usefixtures("file")
def test_the_command_ends_although_the_engine_does_not_let_go(tmp_path: Path) -> None:
    one_step = "select list_sort(list_transform(range(30_000_000), lambda x: hash(x))) from range(20)"
    environment = {**os.environ, "AISBENCH_DATA_DIR": str(tmp_path), "TMPDIR": str(tmp_path / "copies")}
    (tmp_path / "copies").mkdir()
    command = [sys.executable, "-m", "aisbench_core.interfaces.cli", "sql", one_step, "--seconds", "1"]

    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)

    assert done.returncode == 2
    assert "took longer than 1 s" in done.stderr or "more than 1GiB of memory" in done.stderr
    assert list((tmp_path / "copies").iterdir()) == []
