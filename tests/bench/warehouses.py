"""Warehouses of many runs, made by the product's own import and kept in `.bench/` for the next time."""

import hashlib
import time
from collections.abc import Callable
from pathlib import Path

from aisbench_core.warehouse import BoardQuery, Warehouse
from aisbench_core.warehouse.migrations import LATEST
from tests.bench import many_runs

FOLDER = Path(__file__).parents[2] / ".bench"
BOARD = BoardQuery(many_runs.REGION)
FILTERED = BoardQuery(
    many_runs.REGION, models=("model3_v1.5",), framework_versions=("r2.0",), flavors=("modelarts.p6.8xlarge",)
)


def folder_of(count: int) -> Path:
    """A data folder whose warehouse holds so many runs; made anew when schema or runs are others."""
    made_of = hashlib.sha256(Path(many_runs.__file__).read_bytes()).hexdigest()[:8]
    folder = FOLDER / f"{count}-{LATEST}-{made_of}"
    if not (folder / "complete").exists():
        folder.mkdir(parents=True, exist_ok=True)
        for left in folder.iterdir():
            left.unlink()
        warehouse = Warehouse(folder / "warehouse.duckdb")
        warehouse.record_many(many_runs.many_runs(count))
        warehouse.compact()
        (folder / "complete").touch()
    return folder


def median_ms(work: Callable[[], object], times: int = 7) -> float:
    """The median duration of a call, in milliseconds."""
    durations = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        durations.append((time.perf_counter() - start) * 1000)
    return sorted(durations)[times // 2]
