"""A disk that is full when runs are recorded or results are read, and a clock that jumps: no run is lost."""

import errno
import json
import os
import resource
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from aisbench_core.base.errors import ReadOnlyFolder
from aisbench_core.base.messages import make_verbatim
from aisbench_core.cloud.clouds import Clouds
from aisbench_core.model import RunRecord, RunState
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.wiring import Core
from tests import records as a
from tests.flow.following import GOOD, Bench, bench_on
from tests.flow.trouble import IMPATIENT, assert_completed_once, assert_retrying
from tests.sandbox_process import SandboxProcess


@pytest.fixture
def bench(sandbox: SandboxProcess, tmp_path: Path) -> Bench:
    sandbox.script(by="look", outputs=GOOD)
    return bench_on(sandbox, tmp_path / "data", **IMPATIENT)


class FullOnce(Warehouse):
    """A warehouse on a disk that has no room for the first record, or in a folder that is read-only meanwhile."""

    def __init__(self, place: Path, trouble: Exception) -> None:
        super().__init__(place)
        self.full = True
        self._trouble = trouble
        self._recording, self.record = self.record, self._record

    def _record(self, run_record: RunRecord) -> None:
        if self.full:
            self.full = False
            raise self._trouble
        self._recording(run_record)


TROUBLES = (
    (
        OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "warehouse.duckdb.tmp"),
        "warehouse.duckdb.tmp cannot be written: No space left on device (free space",
    ),
    (
        ReadOnlyFolder(make_verbatim("the folder /results is read-only"), make_verbatim("make it writable")),
        "the folder /results is read-only",
    ),
)


@pytest.mark.parametrize(("trouble", "sentence"), TROUBLES)
def test_a_full_or_read_only_disk_delays_a_run_and_loses_nothing(
    bench: Bench, sandbox: SandboxProcess, trouble: Exception, sentence: str
) -> None:
    settings = bench.core.settings
    clouds, warehouse = Clouds(settings, settings.request_seconds), FullOnce(settings.warehouse_path, trouble)
    core = Core(settings, Ledger(settings.ledger_path), warehouse, clouds, clouds, bench.clock)
    bench = replace(bench, core=core, follower=core.following.follower())
    run = bench.follow(bench.launch(), RunState.COLLECTING)
    bench.tick()

    assert not warehouse.full
    assert_retrying(bench, run, RunState.COLLECTING)
    assert sentence in bench.run(run).detail
    bench.follow(run)
    assert_completed_once(bench, sandbox, run)


def test_a_clock_that_jumps_back_ends_no_run_and_is_named_in_its_verdict(bench: Bench, sandbox: SandboxProcess) -> None:
    run = bench.follow(bench.launch(), RunState.QUEUED)
    bench.clock.now -= timedelta(days=2)
    bench.follow(run)

    assert_completed_once(bench, sandbox, run)
    row = bench.core.warehouse.runs.find_row(run.run_id)
    assert row is not None
    assert "V26" in {check.id for check in row.reasons}


READ_ONLY = (
    ["leaderboard", "--region", "cn-north-9"],
    ["compare", "run-0", "run-1"],
    ["scaling", "run-0"],
    ["export", "--region", "cn-north-9", "--format", "csv"],
    ["report", "run-0"],
    ["warehouse", "check"],
    ["runs"],
    ["show", "run-0"],
    ["sql", "select run_id from v_runs"],
)
WRITING = (["note", "run-0", "seen"], ["warehouse", "snapshot", "taken.duckdb"])
TYPED = """
import json, sys
from click.testing import CliRunner
from aisbench_core.interfaces.cli import main
found = [CliRunner().invoke(main, words) for words in json.loads(sys.argv[1])]
print(json.dumps([[each.exit_code, each.stdout, each.stderr] for each in found]))
"""


def test_a_disk_without_any_room_keeps_nobody_from_reading_results(tmp_path: Path) -> None:
    """Not a byte may be written anywhere, not into the folder for temporary files either."""
    Warehouse(tmp_path / "warehouse.duckdb").record_many(a.records([7900, 8000, 8100], "run"))
    Ledger(tmp_path / "ledger.sqlite3").add(a.run("run-0"))
    typed = subprocess.run(
        [sys.executable, "-c", TYPED, json.dumps([*READ_ONLY, *WRITING])],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)),
        capture_output=True,
        env={**os.environ, "AISBENCH_DATA_DIR": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"},
        cwd=tmp_path,
        check=True,
        text=True,
        timeout=120,
    )
    found = json.loads(typed.stdout)

    assert typed.stderr == ""
    for words, (code, said, _) in zip(READ_ONLY, found, strict=False):
        assert code == 0, words
        assert "run-0" in said or "mindspore_resnet" in said or "no problems found" in said or "8,000" in said, words
    for words, (code, said, refused) in zip(WRITING, found[len(READ_ONLY) :], strict=True):
        assert code == 1, words
        assert said == ""
        assert refused.startswith("error: ")
        assert refused.count("\n") == 1
        assert "free space" in refused
    assert not (tmp_path / "taken.duckdb").exists()
