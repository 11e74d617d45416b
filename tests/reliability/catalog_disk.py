"""Consoles whose team's warehouse cannot be written because PostgreSQL's disk is full; prints what came of it as JSON.

It mounts a small file system for PostgreSQL's tables, so it runs as root in a mount namespace of its own."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from aisbench_core.base.errors import WarehouseError
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.runs import BoardQuery
from tests import records as a
from tests.postgres_server import USER, PostgresServer
from tests.reliability.full_disk import fill
from tests.sandbox_process import SandboxProcess
from tests.team_warehouse import TeamWarehouse

SIZE = "64m"
CONSOLES = 3
MOST_CONNECTIONS = 40
BOARD = BoardQuery("cn-north-9", include_invalid=True, limit=1000)


class Consoles:
    """Each has a warehouse of its own, and writes and reads until it is told to stop."""

    def __init__(self, team: TeamWarehouse) -> None:
        self._warehouses = [team.open(5.0) for _ in range(CONSOLES)]
        self.is_over = threading.Event()
        self.failures = 0

    def write(self, suffix: str) -> None:
        """A run of each console. Raises WarehouseError."""
        for number, warehouse in enumerate(self._warehouses):
            warehouse.record(a.record(f"console-{number}-{suffix}"))

    def found(self) -> int:
        """How many runs there are."""
        return len(self._warehouses[0].runs.list_rows(BOARD).rows)

    def struggle(self, number: int) -> int:
        """Write and read again and again; returns how often a write failed."""
        failures = attempts = 0
        while not self.is_over.is_set():
            attempts += 1
            failures += self._fails(self._warehouses[number], f"{number}-{attempts}")
        return failures

    def _fails(self, warehouse: Warehouse, suffix: str) -> bool:
        try:
            warehouse.record(a.record(f"full-{suffix}"))
            warehouse.runs.list_rows(BOARD)
        except WarehouseError:
            return True
        return False


def watch(postgres: PostgresServer, seconds: float) -> tuple[int, int]:
    """How often psql got in, once a second, and how many connections it saw at most."""
    visits = most = 0
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        most = max(most, int(postgres.sql("select count(*) from pg_stat_activity where datname = 'lake'")[0]))
        visits += 1
        time.sleep(1)
    return visits, most


@contextmanager
def region(folder: Path) -> Iterator[SandboxProcess]:
    """A region whose OBS holds the warehouse's files."""
    sandbox = SandboxProcess.start(folder)
    try:
        yield sandbox
    finally:
        sandbox.stop()


def walk(postgres: PostgresServer, disk: Path, seconds: float) -> dict[str, object]:
    """Fill the disk while consoles write, make room again, and count what is there."""
    with tempfile.TemporaryDirectory(prefix="aisbench-catalog-") as folder, region(Path(folder)) as sandbox:
        consoles = Consoles(TeamWarehouse.create(postgres, sandbox, "lake"))
        consoles.write("before")
        filler = disk / "filler"
        fill(filler)
        with ThreadPoolExecutor(CONSOLES) as threads:
            struggles = [threads.submit(consoles.struggle, number) for number in range(CONSOLES)]
            try:
                visits, most = watch(postgres, seconds)
            finally:
                consoles.is_over.set()
        filler.unlink()
        consoles.write("after")
        failures = sum(struggle.result() for struggle in struggles)
        return {"visits": visits, "most": most, "failures": failures, "found": consoles.found()}


def main() -> None:
    """`python -m tests.reliability.catalog_disk SECONDS`."""
    disk = Path(tempfile.mkdtemp(prefix="aisbench-full-"))
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(disk)], check=True)
    postgres = PostgresServer(settings={"max_connections": str(MOST_CONNECTIONS)})
    try:
        postgres.resume()
        tables = disk / "tables"
        tables.mkdir()
        for path in (disk, tables):
            shutil.chown(path, postgres.user or os.geteuid())
        postgres.sql(f"create tablespace small location '{tables}'")
        postgres.sql(f"alter role {USER} set default_tablespace = small")
        print(json.dumps(walk(postgres, disk, float(sys.argv[1]))))
    finally:
        postgres.stop()
        subprocess.run(["umount", str(disk)], check=True)
        disk.rmdir()


if __name__ == "__main__":
    main()
