"""Warehouses as each schema version left them: a file and a team's catalogue, compressed, with the same three runs.

`python -m tests.stored_schemas` stores those of the newest schema, before another step is added to the migrations."""

import gzip
import tempfile
from pathlib import Path

import duckdb

from aisbench_core.model import Event, Level, MetricSample, RunRecord, RunState
from aisbench_core.warehouse import Warehouse
from aisbench_core.warehouse.store.migrations import LATEST
from tests import records as a
from tests.postgres_server import PostgresServer
from tests.sandbox_process import SandboxProcess
from tests.team_warehouse import TeamWarehouse

FOLDER = Path(__file__).parent / "stores" / "schemas"
DATABASE = "schemas"
"""The name of the team's directory on OBS, which is part of its catalogue."""


def runs() -> list[RunRecord]:
    """What every stored warehouse holds; never changed, because the stored ones do not change either."""
    samples = tuple(MetricSample(a.T0, node, "npuUtil", 90.0 + node) for node in range(2))
    events = (Event("cluster", a.T0, "follower", Level.INFO, "collecting: done", "follower"),)
    cards = [900.0] * 8 + [1100.0] * 8
    return [
        a.record("cluster", node_count=2, samples=samples, events=events),
        a.record("single", mode="single_server", node_count=2, throughputs=cards),
        a.record("failed", state=RunState.FAILED, with_result=False),
    ]


def file_of(version: int) -> Path:
    """The stored file of a schema version."""
    return FOLDER / f"schema-{version}.duckdb.gz"


def catalogue_of(version: int) -> Path:
    """The stored catalogue of a schema version, as SQL."""
    return FOLDER / f"schema-{version}.sql.gz"


def main() -> None:
    """Store the newest schema."""
    with tempfile.TemporaryDirectory() as folder:
        _store_file(Path(folder) / "warehouse.duckdb")
        _store_catalogue(Path(folder))


def _store_file(file: Path) -> None:
    for record in runs():
        Warehouse(file).record(record)
    with duckdb.connect(file) as con:
        con.execute("checkpoint")
    file_of(LATEST).write_bytes(gzip.compress(file.read_bytes(), mtime=0))


def _store_catalogue(folder: Path) -> None:
    sandbox, postgres = SandboxProcess.start(folder), PostgresServer()
    try:
        postgres.resume()
        warehouse = TeamWarehouse.create(postgres, sandbox, DATABASE).open()
        for record in runs():
            warehouse.record(record)
        catalogue_of(LATEST).write_bytes(gzip.compress(postgres.dump(DATABASE).encode(), mtime=0))
    finally:
        postgres.stop()
        sandbox.stop()


if __name__ == "__main__":
    main()
