"""The warehouses that tests of stores share: a file, and a team's on PostgreSQL and the sandbox's OBS."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from aisbench_core.warehouse import Warehouse
from aisbench_core.warehouse.schema import TABLES
from tests.postgres_server import PostgresServer
from tests.sandbox_process import SandboxProcess
from tests.team_warehouse import TeamWarehouse

_NUMBERS = itertools.count(1)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """One PostgreSQL for the whole session. A test may kill it, if it resumes it."""
    server = PostgresServer()
    try:
        server.resume()
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="session")
def obs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SandboxProcess]:
    """One OBS for the whole session, which keeps its objects. A test may kill it, if it resumes it."""
    process = SandboxProcess.start(tmp_path_factory.mktemp("team-sandbox"))
    yield process
    process.stop()


@pytest.fixture
def team(postgres: PostgresServer, obs: SandboxProcess) -> Iterator[TeamWarehouse]:
    """A team's warehouse that nobody has opened yet: an empty database and an empty directory on OBS."""
    place = TeamWarehouse.create(postgres, obs, f"team_{next(_NUMBERS)}")
    yield place
    postgres.drop(place.database)


@pytest.fixture(scope="session")
def shared_team(postgres: PostgresServer, obs: SandboxProcess) -> Warehouse:
    """A team's warehouse that tests use one after the other; making one takes half a second."""
    return TeamWarehouse.create(postgres, obs, "shared").open()


@pytest.fixture(params=["file", pytest.param("team", marks=pytest.mark.postgres)])
def warehouse(request: pytest.FixtureRequest, tmp_path: Path) -> Warehouse:
    """An empty warehouse of each kind: what is asked of one is asked of the other."""
    if request.param == "file":
        return Warehouse(tmp_path / "warehouse.duckdb")
    shared: Warehouse = request.getfixturevalue("shared_team")
    with shared.cursor() as cur:
        for table in TABLES:
            cur.execute(f"delete from {table}")  # noqa: S608 - the tables' own names
    return shared
