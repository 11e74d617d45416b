"""Recording a run beside MLflow with SQLite, which logs the same: what our own MLflow export tells of that run."""

import json
import shutil
import sqlite3
import statistics
import subprocess
import time
from collections import defaultdict
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from aisbench_core.mlflow.exporting import MlflowExport
from aisbench_core.warehouse import BoardQuery, Warehouse
from aisbench_core.warehouse.reading import reader
from tests.bench.figures import put
from tests.bench.test_beside_mlflow import PYTHON
from tests.bench.test_warehouse import finished
from tests.bench.warehouses import folder_of, median_ms

PEER = Path(__file__).with_name("mlflow_logging_peer.py")
RUNS = 20_000
RECORDED = 40
AT_ONCE = 5
"""Records while the file is open: it closes every 0.2 s, so that other processes get a turn."""


def test_recording_a_run_takes_a_fraction_of_what_mlflow_takes(tmp_path: Path) -> None:
    shutil.copy(folder_of(RUNS) / "warehouse.duckdb", tmp_path)
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    warehouse.record(finished("first"))
    new = [finished(f"new-{number}") for number in range(RECORDED)]

    alone = median_ms(lambda: warehouse.record(new.pop()), RECORDED)
    turns = [ms_open(warehouse, turn) for turn in range(RECORDED // AT_ONCE)]
    shared = statistics.median(each for turn in turns for each in turn.records)
    whole = statistics.mean(turn.whole for turn in turns) / AT_ONCE
    (tmp_path / "told.json").write_text(json.dumps(told(tmp_path)), "utf-8")
    command: list[str | Path] = [PYTHON, PEER, tmp_path, str(RUNS)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
    peer = json.loads(ran.stdout.splitlines()[-1])

    name = f"MLflow {peer['version']} logging, its store open: {peer['log_ms']:.0f} ms"
    one = f"Record one run (16 cards, 20 samples) beside {RUNS:,}"
    put(f"{one}, the file opened and closed for it", f"{alone:.1f} ms", "30 ms", name, peer["log_ms"] / alone)
    put(
        f"{one}, {AT_ONCE} that end together, with opening, merging and closing",
        f"{whole:.1f} ms each",
        "",
        name,
        peer["log_ms"] / whole,
    )
    put(f"{one}, the file open", f"{shared:.1f} ms", "4 ×; 10 ms", name, peer["log_ms"] / shared)
    assert peer["log_ms"] / shared >= 1.5


class Turn(NamedTuple):
    """Milliseconds of each record while somebody else has the file open, and of all with opening and closing."""

    records: list[float]
    whole: float


def ms_open(warehouse: Warehouse, turn: int) -> Turn:
    records = [finished(f"more-{turn}-{each}") for each in range(AT_ONCE)]
    start = time.perf_counter()
    with warehouse.cursor():
        took = [median_ms(partial(warehouse.record, record), 1) for record in records]
    return Turn(took, (time.perf_counter() - start) * 1000)


def told(folder: Path) -> dict[str, Any]:
    """One such run as MLflow would have it: params and tags by name, metrics as (name, value, time, step)."""
    warehouse = Warehouse(folder / "one.duckdb")
    warehouse.record(finished("one"))
    MlflowExport(reader(warehouse.place)).export(BoardQuery("cn-north-9"), folder / "one.db")
    found: dict[str, Any] = defaultdict(dict)
    with sqlite3.connect(folder / "one.db") as con:
        for kind in ("params", "tags"):
            found[kind] = dict(con.execute(f"select key, value from {kind}"))  # noqa: S608 (our own words)
        found["metrics"] = con.execute("select key, value, timestamp, step from metrics").fetchall()
    return found
