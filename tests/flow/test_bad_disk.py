"""A disk that is full while a run is recorded, and a clock that jumps: no run is lost, and each is named."""

import errno
import os
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from aisbench_core.core import Core
from aisbench_core.model import RunRecord, RunState
from aisbench_core.running.ledger import Ledger
from aisbench_core.warehouse import Warehouse
from aisbench_core.wiring import Clouds
from tests.flow.following import GOOD, Bench, bench_on
from tests.flow.trouble import IMPATIENT, assert_completed_once, assert_retrying
from tests.sandbox_process import SandboxProcess


@pytest.fixture
def bench(sandbox: SandboxProcess, tmp_path: Path) -> Bench:
    sandbox.script(by="look", outputs=GOOD)
    return bench_on(sandbox, tmp_path / "data", **IMPATIENT)


class FullOnce(Warehouse):
    """A warehouse on a disk that has no room for the first record."""

    full = True

    def record(self, run_record: RunRecord) -> None:
        if self.full:
            self.full = False
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "warehouse.duckdb.tmp")
        super().record(run_record)


def test_a_full_disk_delays_a_run_and_loses_nothing(bench: Bench, sandbox: SandboxProcess) -> None:
    settings = bench.core.settings
    clouds, warehouse = Clouds(settings, settings.request_seconds), FullOnce(settings.warehouse_path)
    core = Core(settings, Ledger(settings.ledger_path), warehouse, bench.core.workloads, clouds, clouds, bench.clock)
    bench = replace(bench, core=core, follower=core.follower())
    run = bench.follow(bench.launch(), RunState.COLLECTING)
    bench.tick()

    assert not warehouse.full
    assert_retrying(bench, run, RunState.COLLECTING)
    assert "warehouse.duckdb.tmp cannot be written: No space left on device (free space" in bench.run(run).detail
    bench.follow(run)
    assert_completed_once(bench, sandbox, run)


def test_a_clock_that_jumps_back_ends_no_run_and_is_named_in_its_verdict(bench: Bench, sandbox: SandboxProcess) -> None:
    run = bench.follow(bench.launch(), RunState.QUEUED)
    bench.clock.now -= timedelta(days=2)
    bench.follow(run)

    assert_completed_once(bench, sandbox, run)
    row = bench.core.warehouse.run(run.run_id)
    assert row is not None
    assert "V26" in {check.id for check in row.reasons}
