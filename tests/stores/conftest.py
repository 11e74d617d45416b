"""The warehouses that tests of stores share: a file, and a team's."""

from pathlib import Path

import pytest

from aisbench_core.warehouse import Warehouse
from aisbench_core.warehouse.schema import TABLES
from tests.postgres_server import PostgresServer
from tests.sandbox_process import SandboxProcess
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
        for table in (*TABLES, "baselines", "saved_views", "series", "standings", "standings_due"):
            cur.execute(f"delete from {table}")  # noqa: S608 - the tables' own names
    return shared
