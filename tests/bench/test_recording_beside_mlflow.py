"""Recording a run beside MLflow with SQLite, which logs the same: what our own MLflow export tells of that run."""

import json
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from aisbench_core.exchange.mlflow.exporting import tracked_run
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.open.reading import make_reader
from aisbench_core.warehouse.records.full_runs import iter_full_runs
from aisbench_core.warehouse.values.runs import BoardQuery
from tests.bench.figures import put
from tests.bench.test_beside_mlflow import PYTHON
from tests.bench.test_warehouse import finished
from tests.bench.warehouses import folder_of, median_ms

PEER = Path(__file__).with_name("mlflow_logging_peer.py")
RUNS = 20_000
TURNS = 12
AT_ONCE = 5
"""Records while the file is open: it closes every 0.2 s, so that other processes get a turn."""


def test_recording_a_run_takes_a_fraction_of_what_mlflow_takes(tmp_path: Path) -> None:
    shutil.copy(folder_of(RUNS) / "warehouse.duckdb", tmp_path)
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    warehouse.record(finished("first"))
    (tmp_path / "told.json").write_text(json.dumps(told(tmp_path)), "utf-8")

    with mlflow(tmp_path) as (version, log_ms):  # they take turns: what slows the machine down meets both
        turns = [(ms_alone(warehouse, turn), ms_open(warehouse, turn), log_ms()) for turn in range(TURNS)]

    alone = statistics.median(each for each, _, _ in turns)
    together = statistics.mean(each.whole for _, each, _ in turns) / AT_ONCE
    shared = statistics.median(each for _, turn, _ in turns for each in turn.records)
    theirs = statistics.median(each for _, _, logged in turns for each in logged)
    name = f"MLflow {version} logging, its store open: {theirs:.0f} ms"
    one = f"Record one run (16 cards, 20 samples) beside {RUNS:,}"
    put(f"{one}, the file opened and closed for it", f"{alone:.1f} ms", "30 ms", name, theirs / alone)
    what = f"{one}, {AT_ONCE} that end together, with opening, merging and closing"
    put(what, f"{together:.1f} ms each", "", name, theirs / together)
    put(f"{one}, the file open", f"{shared:.1f} ms", "4 ×; 10 ms", name, theirs / shared)
    assert theirs / shared >= 1.5


@contextmanager
def mlflow(folder: Path) -> Iterator[tuple[str, Callable[[], list[float]]]]:
    """MLflow's version, and what takes AT_ONCE times as long as it takes to log a run, and tells each in ms."""
    command: list[str | Path] = [PYTHON, PEER, folder, str(RUNS)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as peer:
        assert peer.stdin
        assert peer.stdout
        asked, answers = peer.stdin, peer.stdout

        def log_ms() -> list[float]:
            asked.write("\n" * AT_ONCE)
            asked.flush()
            return [float(answers.readline()) for _ in range(AT_ONCE)]

        yield answers.readline().strip(), log_ms
        asked.close()


class Turn(NamedTuple):
    """Milliseconds of each record while somebody else has the file open, and of all with opening and closing."""

    records: list[float]
    whole: float


def ms_alone(warehouse: Warehouse, turn: int) -> float:
    record = finished(f"new-{turn}")
    return median_ms(partial(warehouse.record, record), 1)


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
    with make_reader(warehouse.location).cursor() as cur:
        [run] = iter_full_runs(cur, BoardQuery("cn-north-9"))
    sent = tracked_run(run)
    points = [(key, value, at, step) for key, step, at, value in sent.points]
    return {"params": sent.params, "tags": sent.tags, "metrics": points}
