"""Eight processes that record fifty runs each at once into one warehouse file, beside somebody who reads."""

import contextlib
import statistics
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from aisbench_core.base.errors import WarehouseBusy
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.runs import BoardQuery
from tests import records as a
from tests.processes import FORKED
from tests.reliability.outcomes import campaign

PROCESSES, RUNS = 8, 50


def until_its_turn(work: Callable[[], object]) -> None:
    """Try again when others keep the file busy, as followers and pages do."""
    while True:
        with contextlib.suppress(WarehouseBusy):
            work()
            return


def record(file: Path, process: int) -> None:
    """Record so many runs, and write down how long each took."""
    warehouse = Warehouse(file)
    waits = []
    for number in range(RUNS):
        begun = time.monotonic()
        record_run = partial(warehouse.record, a.record(f"run-{process}-{number}"))
        until_its_turn(record_run)
        waits.append(time.monotonic() - begun)
    file.with_name(f"waits-{process}").write_text("\n".join(map(str, waits)), "utf-8")


def read_until(file: Path, done: threading.Event, waits: list[float]) -> None:
    warehouse = Warehouse(file)
    while not done.wait(0.2):
        begun = time.monotonic()
        until_its_turn(lambda: warehouse.board.list_rows(BoardQuery("cn-north-9")))
        waits.append(time.monotonic() - begun)


def test_records_of_many_processes_are_all_kept(tmp_path: Path) -> None:
    file = tmp_path / "warehouse.duckdb"
    Warehouse(file).record(a.record("run-first"))
    reads: list[float] = []
    done = threading.Event()
    with campaign("Records at once", __file__) as row:
        reader = threading.Thread(target=read_until, args=(file, done, reads))
        reader.start()
        processes = [FORKED.Process(target=record, args=(file, number)) for number in range(PROCESSES)]
        for process in processes:
            process.start()
        for process in processes:
            process.join(600)
        done.set()
        reader.join()

        assert [process.exitcode for process in processes] == [0] * PROCESSES
        with Warehouse(file).cursor() as cur:
            cur.execute("select count(*), count(distinct run_id) from runs")
            assert cur.fetchone() == (PROCESSES * RUNS + 1, PROCESSES * RUNS + 1)
        logs = [tmp_path / f"waits-{process}" for process in range(PROCESSES)]
        waits = [float(line) for log in logs for line in log.read_text("utf-8").splitlines()]
        row.repetitions = f"{PROCESSES} processes × {RUNS} records, a reader beside them"
        row.outcome = (
            f"all kept; a record waited {statistics.median(waits):.2f} s in the median and {max(waits):.1f} s at most, "
            f"a reader {max(reads):.1f} s"
        )
