"""Queries in processes of their own: what they may take is limited, and they end with whoever asked."""

import os
import resource
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from pyarrow import ipc

from aisbench_core.base.errors import AisbenchError, QueryError, WarehouseError
from aisbench_core.base.messages import Message, in_chinese
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.open.memory import MEMORY_BYTES, memory_limited
from aisbench_core.warehouse.open.process import PID, QueryProcess, QueryProcesses, data_of, error_of
from aisbench_core.warehouse.open.queries import Query
from aisbench_core.warehouse.open.reading import MOST_THREADS, Reader, make_reader, query_threads, usable_cores
from tests import records as a
from tests.postgres_server import PASSWORD

ENDLESS = "select i, repeat('y', 1000) || i as s from range(1000000000) t(i)"
ONE_STEP = "select list_sort(list_transform(range(30_000_000), lambda x: hash(x))) from range(20)"
END_SECONDS = 30.0
LONG_SECONDS = 600.0
"""For a query that ends by itself: how long it takes to fill its memory is up to the machine's other work."""


@pytest.fixture(scope="module")
def queries() -> Iterator[QueryProcesses]:
    with closing(QueryProcesses()) as found:
        yield found


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


def ask(queries: QueryProcesses, reading: Reader, query: Query) -> list[dict[str, object]]:
    content = b"".join(queries.iter_answer(reading, query))
    return ipc.open_stream(content).read_all().to_pylist()  # type: ignore[no-any-return]  # pyarrow has no types


@pytest.mark.every_store
def test_a_query_reads_the_newest_runs(warehouse: Warehouse, queries: QueryProcesses) -> None:
    reading = make_reader(warehouse.location, 60.0)
    warehouse.record(a.record("run-1"))
    assert ask(queries, reading, Query("select run_id from v_runs")) == [{"run_id": "run-1"}]

    warehouse.record(a.record("run-2"))

    found = ask(queries, reading, Query("select count(*) as n, $name as name from v_runs", {"name": "ä"}))
    assert found == [{"n": 2, "name": "ä"}]
    with pytest.raises(QueryError) as refused:
        ask(queries, reading, Query("from nowhere"))
    assert PASSWORD not in str(refused.value)
    reading.close()


@pytest.mark.parametrize("sql", ["select repeat('x', 4000000000)", "select list(i) from range(2000000000) t(i)"])
def test_a_query_gets_no_more_memory_than_its_limit(sql: str, reading: Reader, queries: QueryProcesses) -> None:
    with pytest.raises(QueryError, match=r"needs more .*memory"):
        ask(queries, reading, Query(sql, seconds=LONG_SECONDS))

    assert ask(queries, reading, Query("select 1 as n")) == [{"n": 1}]


@pytest.mark.parametrize(("cores", "threads"), [(1, 1), (2, 1), (8, 4), (15, 7), (192, MOST_THREADS)])
def test_a_query_leaves_half_of_the_cores_and_takes_few_of_a_large_host(cores: int, threads: int) -> None:
    assert query_threads(cores) == threads


def test_the_threads_of_a_query_are_those_that_its_process_may_use(reading: Reader) -> None:
    with reading.cursor() as cur:
        assert cur.execute("select current_setting('threads')").fetchall() == [(query_threads(usable_cores()),)]

    assert usable_cores() == len(os.sched_getaffinity(0))


def test_what_an_answer_becomes_in_python_counts_as_well() -> None:
    before = resource.getrlimit(resource.RLIMIT_AS)

    with pytest.raises(QueryError, match=r"needs more than 3 GiB of memory"), memory_limited():
        bytearray(MEMORY_BYTES)

    assert resource.getrlimit(resource.RLIMIT_AS) == before


def test_a_query_ends_at_its_deadline_although_the_engine_does_not_listen(
    reading: Reader, queries: QueryProcesses
) -> None:
    start = time.monotonic()

    with pytest.raises(QueryError, match=r"took longer than 0\.5 s"):
        ask(queries, reading, Query(ONE_STEP, seconds=0.5))

    assert time.monotonic() - start < END_SECONDS


def test_the_process_of_an_answer_that_nobody_wants_any_more_ends(
    reading: Reader, queries: QueryProcesses, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    answer = queries.iter_answer(reading, Query(ENDLESS, seconds=600))
    assert next(answer)
    [pid] = processes_of(queries)

    answer.close()

    assert not open_files(pid)  # so that it writes nothing into a folder that is being removed
    end = time.monotonic() + END_SECONDS
    while Path(f"/proc/{pid}").exists() or list(tmp_path.glob("aisbench-query-*")):
        assert time.monotonic() < end


def test_a_process_that_took_the_number_of_an_ended_one_goes_on() -> None:
    channel, forking = socket.socketpair()
    with channel, forking, subprocess.Popen(["sleep", "60"]) as other:
        forking.sendall(struct.pack(PID, other.pid))
        process = QueryProcess(channel)
        _, pipes, _, _ = socket.recv_fds(forking, 1, 3)
        for pipe in pipes:  # as the system does when a process ends
            os.close(pipe)

        process.close()

        assert other.poll() is None
        other.kill()


def test_queries_go_on_when_the_process_that_starts_theirs_was_killed(reading: Reader, queries: QueryProcesses) -> None:
    assert ask(queries, reading, Query("select 1 as n")) == [{"n": 1}]
    before = queries.pid

    os.kill(before, signal.SIGKILL)

    assert ask(queries, reading, Query("select 2 as n")) == [{"n": 2}]
    assert queries.pid != before


def test_a_broken_warehouse_is_said_in_a_sentence(tmp_path: Path, queries: QueryProcesses) -> None:
    file = tmp_path / "warehouse.duckdb"
    file.write_bytes(b"not a database")

    with pytest.raises(WarehouseError, match="cannot be used"):
        ask(queries, make_reader(file), Query("select 1"))


def test_an_error_arrives_as_it_was_in_both_languages() -> None:
    error = QueryError(Message("{count} statements", count=2), Message("group, filter or limit it"))

    arrived = error_of(data_of(error))

    assert type(arrived) is QueryError
    assert (str(arrived), texts(arrived)) == (str(error), texts(error))


def texts(error: AisbenchError) -> tuple[str, str]:
    return in_chinese(error.message), in_chinese(error.hint)


def processes_of(queries: QueryProcesses) -> list[int]:
    """The processes that answer now."""
    return [int(pid) for pid in Path(f"/proc/{queries.pid}/task/{queries.pid}/children").read_text("ascii").split()]


def open_files(pid: int) -> list[Path]:
    """The files and pipes of a process; none of one that has ended."""
    try:
        return list(Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return []
