"""The warehouses that tests of stores share: a file, and a team's."""

import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from aisbench_core.warehouse.answers.views import VIEWS
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.tables.schema import ALL_TABLES
from tests.foreign_files import changed
from tests.postgres_server import PostgresServer
from tests.sandbox_process import SandboxProcess
from tests.stores.test_warehouse_care import some
from tests.team_warehouse import TeamWarehouse


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
        for table in ALL_TABLES:
            cur.execute(f"delete from {table}")
    return shared


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A snapshot of a warehouse as it should be."""
    folder = tmp_path_factory.mktemp("whole")
    warehouse = Warehouse(folder / "warehouse.duckdb")
    some(warehouse)
    return warehouse.snapshot(folder / "theirs.duckdb", datetime(2026, 3, 1, tzinfo=UTC)).path


@pytest.fixture
def theirs(whole: Path, tmp_path: Path) -> Path:
    """A warehouse of somebody else, for its owner to change."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    copy = Path(shutil.copyfile(whole, folder / "theirs.duckdb"))
    return changed(copy, *(f"drop view {view.name}" for view in VIEWS))
