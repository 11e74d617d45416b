"""Stores as each schema version left them: warehouses as a file and a team's catalogue, with the same three runs, and
ledgers as SQL.

`python -m tests.stored_schemas` stores those of the newest schemas, before they are changed."""

import gzip
import sqlite3
import tempfile
from dataclasses import replace
from pathlib import Path

import duckdb

from aisbench_core.model import Attempt, Event, Level, MetricSample, Progress, RunRecord, RunState, Series, SeriesPlan
from aisbench_core.store.ledger.database.ledger_schema import VERSION
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.store.ledger.series import SeriesLedger
from aisbench_core.warehouse.facade import Warehouse
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


def fill_ledger(file: Path) -> None:
    """Make a stored ledger."""
    fill(Ledger(file))


def fill(ledger: Ledger) -> None:
    """What every stored ledger holds, as far as it has tables and columns for it; never changed either."""
    series = Series("s-1", SeriesPlan(spec=a.spec(), name="scaling"), (), "beijing", a.T0, "ann", 12.5)
    attempts = [Attempt("s-1", number, 1, 0, number, "ann", a.T0) for number in (1, 2)]
    ledger.add(replace(a.run("r-1"), state=RunState.RUNNING, version=0), event("submitted"), token="dialog-1")
    ledger.add(replace(a.run("r-2"), detail="the job ended as Failed", version=0), event("failed", "r-2"))
    ledger.set_progress(Progress("r-1", RunState.RUNNING, 3, 90, "epochs", a.T0))
    ledger.save_draft("configure/quickstart_digits", "epochs: 3\n", a.T0)
    ledger.beat("follower", a.T0)
    SeriesLedger(ledger).add(series, attempts, event("launched", "s-1"), token="dialog-2")
    SeriesLedger(ledger).admit(attempts[0], replace(a.run("r-3"), series_id="s-1", version=0), event("admitted", "r-3"))
    SeriesLedger(ledger).set_launch_error("s-1", "the budget is used up")


def event(message: str, run_id: str = "r-1") -> Event:
    """Something that happened."""
    return Event(run_id, a.T0, "follower", Level.INFO, message, "ann")


def file_of(version: int) -> Path:
    """The stored file of a schema version."""
    return FOLDER / f"schema-{version}.duckdb.gz"


def catalogue_of(version: int) -> Path:
    """The stored catalogue of a schema version, as SQL."""
    return FOLDER / f"schema-{version}.sql.gz"


def ledger_of(version: int) -> Path:
    """The stored ledger of a schema version, as SQL."""
    return FOLDER / f"ledger-{version}.sql"


def unpack_file(version: int, target: Path) -> Path:
    """Put the stored file of a schema version in a place."""
    target.write_bytes(gzip.decompress(file_of(version).read_bytes()))
    return target


def main() -> None:
    """Store the newest schemas."""
    with tempfile.TemporaryDirectory() as folder:
        _store_ledger(Path(folder) / "ledger.sqlite3")
        _store_file(Path(folder) / "warehouse.duckdb")
        _store_catalogue(Path(folder))


def _store_ledger(file: Path) -> None:
    fill_ledger(file)
    with sqlite3.connect(file) as con:
        ledger_of(VERSION).write_text("\n".join([*con.iterdump(), f"PRAGMA user_version = {VERSION};", ""]), "utf-8")


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
