"""Connections of a team's warehouse to PostgreSQL: few, whatever fails, so that others still get one."""

import os
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import duckdb
import pytest

from aisbench_core.base.errors import WarehouseError
from aisbench_core.base.messages import Message
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.store.lake import Lake
from aisbench_core.warehouse.store.shared_engine import FIRST_PAUSE_S, SharedEngine
from aisbench_core.warehouse.values.runs import BoardQuery
from tests import records as a
from tests.postgres_server import PostgresServer
from tests.team_warehouse import TeamWarehouse

MOST = 8
BOARD = BoardQuery("cn-north-9", include_invalid=True)

pytestmark = pytest.mark.postgres


@pytest.fixture
def connections(postgres: PostgresServer, team: TeamWarehouse) -> Callable[[], int]:
    """How many connections to the warehouse's database PostgreSQL has now."""
    return lambda: int(postgres.sql(f"select count(*) from pg_stat_activity where datname = '{team.database}'")[0])


@pytest.fixture
def full(postgres: PostgresServer, team: TeamWarehouse) -> Warehouse:
    """A warehouse whose PostgreSQL refuses to write, as on a full disk; nothing it says passes by itself."""
    warehouse = team.open(5.0)
    warehouse.record(a.record("before"))
    postgres.sql(f"alter database {team.database} set default_transaction_read_only = on")
    postgres.sql(f"select pg_terminate_backend(pid) from pg_stat_activity where datname = '{team.database}'")
    return warehouse


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline


def test_writes_that_fail_again_and_again_keep_no_connection(
    full: Warehouse, connections: Callable[[], int], postgres: PostgresServer, team: TeamWarehouse
) -> None:
    for number in range(5):
        with pytest.raises(WarehouseError):
            full.record(a.record(f"refused-{number}"))
        assert connections() <= MOST
    wait_until(lambda: connections() == 0)

    postgres.sql(f"alter database {team.database} reset default_transaction_read_only")

    full.record(a.record("after"))
    assert [row.run_id for row in full.runs.list_rows(BOARD).rows] == ["after", "before"]


def options_of_connections(port: int) -> set[tuple[int, ...]]:
    """What this process asked of its TCP connections to a port: limits in s, probes, and ms while something is sent."""
    found = set()
    for handle in Path("/proc/self/fd").iterdir():
        try:
            with socket.socket(fileno=os.dup(int(handle.name))) as copy:
                if copy.family in (socket.AF_INET, socket.AF_INET6) and copy.getpeername()[1] == port:
                    found.add(tuple(copy.getsockopt(socket.IPPROTO_TCP, option) for option in OPTIONS))
        except OSError:  # it is closed meanwhile, or no socket
            continue
    return found


OPTIONS = (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT, socket.TCP_USER_TIMEOUT)


def test_a_host_that_vanishes_is_given_up_soon(team: TeamWarehouse, postgres: PostgresServer) -> None:
    warehouse = team.open()

    warehouse.record(a.record("one"))

    assert options_of_connections(postgres.port) == {(30, 10, 3, 30_000)}


def test_a_server_that_dies_in_the_middle_of_a_write_is_named(team: TeamWarehouse, postgres: PostgresServer) -> None:
    """DuckDB may call it a query that does not fit the tables, whose schema nobody can be asked for any more."""
    team.open().record(a.record("one"))
    lake = Lake(team.location, 60)

    def lose_server(_: duckdb.DuckDBPyConnection) -> None:
        postgres.kill()
        raise duckdb.BinderException("Failed to prepare query: server closed the connection unexpectedly")

    try:
        with pytest.raises(WarehouseError, match="server closed the connection"):
            lake.write(lose_server)
    finally:
        postgres.resume()


def test_many_readers_at_once_take_few_connections(team: TeamWarehouse, connections: Callable[[], int]) -> None:
    warehouse = team.open()
    warehouse.record(a.record("one"))
    readers = threading.Barrier(16)
    counts: list[int] = []

    def read(number: int) -> int:
        readers.wait()
        if number == 0:
            counts.extend(connections() for _ in range(5))
        return len(warehouse.runs.list_rows(BOARD).rows)

    with ThreadPoolExecutor(readers.parties) as threads:
        assert [*threads.map(read, range(readers.parties))] == [1] * readers.parties

    assert max(counts) <= MOST


def test_a_thread_that_reads_while_it_reads_waits_for_nobody(team: TeamWarehouse) -> None:
    warehouse = team.open()
    warehouse.record(a.record("one"))

    def nested(depth: int) -> int:
        with warehouse.cursor():
            return nested(depth - 1) if depth else len(warehouse.runs.list_rows(BOARD).rows)

    assert nested(MOST) == 1


def test_attempts_after_failures_are_further_and_further_apart() -> None:
    times = []

    def start() -> duckdb.DuckDBPyConnection:
        times.append(time.monotonic())
        raise WarehouseError(Message("away"))

    engine = SharedEngine(start, ())
    for _ in range(4):
        with pytest.raises(WarehouseError, match="away"), engine.use():
            pass

    pauses = [later - earlier for earlier, later in pairwise(times)]
    assert [pause >= FIRST_PAUSE_S * 2**number for number, pause in enumerate(pauses)] == [True] * 3
