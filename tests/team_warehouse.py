"""A team's warehouse on a PostgreSQL and a sandbox of the tests, to be opened here and in other processes."""

import dataclasses
from dataclasses import dataclass

import pytest

from aisbench_core.base.errors import AisbenchError, WarehouseError
from aisbench_core.model import MetricSample, RunRecord
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.store.team import SCHEME, Access, Bucket, TeamLocation, team_location
from aisbench_core.warehouse.values.runs import BoardQuery
from tests import records as a
from tests.postgres_server import PASSWORD, PostgresServer
from tests.sandbox_process import SandboxProcess


@dataclass(frozen=True)
class TeamWarehouse:
    """Everything that opens it; it can be sent to another process."""

    database: str
    address: str
    data_path: str
    access: Access

    @classmethod
    def create(cls, postgres: PostgresServer, obs: SandboxProcess, database: str) -> "TeamWarehouse":
        """A new database, and a directory of the same name in the sandbox's bucket."""
        access_key, secret_key = obs.keys
        bucket = Bucket(obs.obs_url.removeprefix("http://"), False, "sandbox", access_key, secret_key)
        address = postgres.create(database)
        return cls(database, address, f"s3://{obs.bucket}/{database}", Access(PASSWORD, bucket))

    @property
    def location(self) -> TeamLocation:
        """What the product makes of the settings."""
        return team_location(f"{SCHEME}{self.address}", self.data_path, lambda: self.access)

    def open(self, patience_s: float = 60.0) -> Warehouse:
        """The warehouse; it connects when it is first asked."""
        return Warehouse(self.location, patience_s)


def with_many_samples(run_id: str) -> RunRecord:
    """A run whose samples are too many for the catalogue: they become a file on OBS."""
    return a.record(run_id, samples=tuple(MetricSample(a.T0, 0, "npuUtil", float(n)) for n in range(600)))


def refused(team: TeamWarehouse, kind: type[AisbenchError] = WarehouseError) -> str:
    """What somebody who asks is told; never a secret."""
    with pytest.raises(kind) as refusal:
        team.open(patience_s=2.0).board.list_rows(BoardQuery("cn-north-9"))
    assert refusal.value.hint
    for secret in (PASSWORD, team.access.bucket.secret_key):
        assert secret not in str(refusal.value)
    return str(refusal.value)


def at(team: TeamWarehouse, **changes: object) -> TeamWarehouse:
    """The same, but for a part of it."""
    return dataclasses.replace(team, **changes)  # type: ignore[arg-type]  # a test names the fields it means
