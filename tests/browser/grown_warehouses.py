"""Data folders with few and many recorded runs, made in seconds: most of the many are copies."""

import shutil
from datetime import timedelta
from pathlib import Path

from aisbench_core.warehouse.facade import Warehouse
from tests.bench import many_runs
from tests.bench.warehouses import copy_runs, launch_as_many
from tests.console import seeds
from tests.sandbox_process import SandboxProcess

RECORDED = 2_000
"""How many runs are recorded one by one; of more, the others are copies of these."""


def fill(data_dir: Path, count: int) -> None:
    """Put so many runs into a new warehouse, and the ledger that launched them beside it."""
    warehouse = Warehouse(data_dir / "warehouse.duckdb")
    recorded = min(count, RECORDED)
    warehouse.record_many(many_runs.many_runs(recorded))
    copy_runs(warehouse, count // recorded - 1, timedelta(minutes=recorded))
    if count > 1:
        warehouse.record_many(seeds.history())  # the same configuration on 1, 2 and 4 nodes
    launch_as_many(data_dir, count, recorded)


def add_region(data_dir: Path, sandbox: SandboxProcess) -> None:
    """Give the console a profile whose region answers."""
    (data_dir / "sandbox").mkdir()
    shutil.copy(sandbox.data_dir / "profile.yaml", data_dir / "sandbox")
