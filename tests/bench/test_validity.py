"""Judging stored runs again: all at once against one by one, in the same run on the same machine."""

import time
from dataclasses import replace
from pathlib import Path

from aisbench_core.model import RunRecord
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.runs import BoardQuery
from tests import records as a
from tests.actors import TESTER
from tests.bench.figures import put

RUNS = 20_000
ONE_BY_ONE = 40
ALL = BoardQuery("cn-north-9", include_invalid=True)


def many_runs() -> list[RunRecord]:
    """Runs on 2 nodes with 8 cards each; each its own, a tenth of them with a straggler, a tenth below the target."""
    plain = [
        a.record(
            f"base-{index}",
            node_count=2,
            throughputs=[1000.0 + index] * 15 + [900.0 if index % 10 == 0 else 1000.0 + index],
            accuracy=0.74 if index % 10 == 1 else 0.76 + index / 100_000,
        )
        for index in range(200)
    ]
    return [
        replace(plain[number % 200], run=replace(plain[number % 200].run, run_id=f"run-{number}"))
        for number in range(RUNS)
    ]


def test_judging_twenty_thousand_stored_runs_takes_a_moment(tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    warehouse.rebuild(many_runs())
    strict = replace(ALL, ruleset_id="ieee-2937-2022")

    start = time.perf_counter()
    at_once = warehouse.validate(ALL)
    seconds = time.perf_counter() - start
    start = time.perf_counter()
    one_by_one = [warehouse.validate(replace(ALL, text=f"run-{number * 499}")) for number in range(ONE_BY_ONE)]
    naive = (time.perf_counter() - start) / ONE_BY_ONE * RUNS
    start = time.perf_counter()
    stored = warehouse.store_evaluations(warehouse.validate(strict), actor=TESTER)
    kept = time.perf_counter() - start

    beside = f"one by one: {naive:.0f} s"
    put(f"Validate {RUNS:,} stored runs again", f"{seconds:.2f} s", "2 s", beside, naive / seconds)
    put(f"Validate {RUNS:,} stored runs with another ruleset and store it", f"{kept:.1f} s", "", beside, naive / kept)
    assert len(at_once.runs) == RUNS
    assert all(run.is_stored for run in at_once.runs)
    assert {run.runs[0].validity for run in one_by_one} == {"valid"}
    assert stored == RUNS
    assert naive / seconds >= 50
