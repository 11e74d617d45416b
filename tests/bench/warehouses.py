"""Warehouses of many runs, kept in `.bench/` for the next time.

The first hundred thousand come in by the product's own import, more of them are copies with other ids, times and
values: importing a million takes minutes, and is measured by itself."""

import hashlib
import time
from collections.abc import Callable
from dataclasses import fields
from datetime import timedelta
from pathlib import Path

from aisbench_core.model import Run
from aisbench_core.store.ledger.database.rows import insert_row
from aisbench_core.store.ledger.ledger import Ledger, row_of
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.queries.group_statistics import settle_groups
from aisbench_core.warehouse.store import warehouse_file
from aisbench_core.warehouse.store.migrations import LATEST
from aisbench_core.warehouse.tables.schema import TABLES
from aisbench_core.warehouse.values.runs import BoardQuery
from tests.bench import many_runs

IMPORTED = 100_000
LAUNCHED, LAUNCHED_FIRST = 1_000_000, 10_000
_TIMES = ("created_at", "updated_at", "next_step_at", "submitted_at", "started_at", "ended_at")
FOLDER = Path(__file__).parents[2] / ".bench"
BOARD = BoardQuery(many_runs.REGION)
FILTERED = BoardQuery(
    many_runs.REGION, models=("model3_v1.5",), framework_versions=("r2.0",), flavors=("modelarts.p6.8xlarge",)
)


def folder_of(count: int) -> Path:
    """A data folder whose warehouse holds so many runs; made anew when schema, format or runs are others."""
    made_by = b"".join(Path(str(module.__file__)).read_bytes() for module in (many_runs, warehouse_file))
    made_of = hashlib.sha256(made_by).hexdigest()[:8]
    folder = FOLDER / f"{count}-{LATEST}-{made_of}"
    if not (folder / "complete").exists():
        folder.mkdir(parents=True, exist_ok=True)
        for left in folder.iterdir():
            left.unlink()
        warehouse = Warehouse(folder / "warehouse.duckdb")
        warehouse.record_many(many_runs.many_runs(min(count, IMPORTED)))
        copy_runs(warehouse, count // IMPORTED - 1, timedelta(minutes=IMPORTED))
        warehouse.compact()
        (folder / "complete").touch()
    return folder


def copy_runs(warehouse: Warehouse, times: int, every: timedelta) -> None:
    """All recorded runs so many times more, each time so much later, with their group statistics."""
    for copy in range(1, times + 1):
        _copy(warehouse, copy, copy * every)
    with warehouse.cursor() as cur:
        settle_groups(cur)


def _copy(warehouse: Warehouse, copy: int, by: timedelta) -> None:
    """All recorded runs once more, as others: later, a little faster, with hashes and ids of their own."""
    later = f"interval {by.total_seconds():.0f} second"
    others = {
        "run_id": f"'r{copy}' || substr(run_id, 2)",
        "job_id": f"md5(job_id || '{copy}')",
        "record_sha256": f"sha256(record_sha256 || '{copy}')",
        **{name: f"{name} + {later}" for name in ("created_at", "submitted_at", "started_at", "ended_at")},
        **{name: f"{name} * {1 + copy / 1000}" for name in ("throughput", "throughput_cluster", "throughput_ratio")},
    }
    with warehouse.cursor() as cur:
        cur.begin()
        for table, columns in TABLES.items():
            cells = ", ".join(others.get(name, name) for name in columns)
            cur.execute(f"insert into {table} select {cells} from {table} where run_id like 'r20%'")
        cur.execute("insert into group_statistics_due select group_id from group_statistics")
        cur.commit()


def launch_as_many(folder: Path, count: int = LAUNCHED, first: int = LAUNCHED_FIRST) -> None:
    """A ledger beside the warehouse that knows so many ended runs: a console that launched all of them itself.

    Those after the first are copies."""
    ledger = Ledger(folder / "ledger.sqlite3")
    if ledger.count() >= count:
        return
    with ledger.transaction() as con:
        for record in many_runs.many_runs(first):
            insert_row(con, "runs", row_of(record.run))
    names = [field.name for field in fields(Run)] + ["workload"]
    with ledger.transaction() as con:
        for copy in range(1, count // first):
            others = {"run_id": f"'c{copy:03}-' || run_id", "job_id": f"job_id || '{copy}'"}
            others |= {name: f"date({name}, '+{7 * copy} days') || substr({name}, 11)" for name in _TIMES}
            cells = ", ".join(others.get(name, name) for name in names)
            con.execute(f"insert into runs ({', '.join(names)}) select {cells} from runs where run_id >= 'r'")


def median_ms(work: Callable[[], object], times: int = 7) -> float:
    """The median duration of a call, in milliseconds."""
    durations = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        durations.append((time.perf_counter() - start) * 1000)
    return sorted(durations)[times // 2]
