"""A job completed, and its result cannot be read yet: the run waits, says why, and goes on when that is mended."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from aisbench_core.model import Run, RunState
from tests.actors import named
from tests.flow.following import GOOD, PERSON, Bench, bench_on
from tests.flow.trouble import IMPATIENT, assert_completed_once, assert_retrying
from tests.sandbox_process import SandboxProcess

OBS = {"service": "obs", "times": 1000}
REFUSALS: dict[str, dict[str, Any]] = {
    "keys that OBS refuses": {**OBS, "status": 403, "code": "InvalidAccessKeyId"},
    "a signature that is wrong": {**OBS, "status": 403, "code": "SignatureDoesNotMatch"},
    "a clock that is an hour off": {**OBS, "clock_s": 3600},
    "a right that is lacking": {**OBS, "status": 403, "code": "AccessDenied"},
    "a bucket that is not there": {**OBS, "status": 404, "code": "NoSuchBucket"},
    "an address that moved": {**OBS, "status": 301, "code": "PermanentRedirect"},
}


@pytest.fixture
def bench(sandbox: SandboxProcess, tmp_path: Path) -> Bench:
    sandbox.script(by="look", outputs=GOOD, log="step 1\n")
    return bench_on(sandbox, tmp_path / "data", **IMPATIENT)


def assert_waits(bench: Bench, sandbox: SandboxProcess, run: Run, *faults: dict[str, Any]) -> None:
    sandbox.faults(*faults)
    for _ in range(10):
        bench.tick()
    assert_retrying(bench, run, RunState.COLLECTING)
    sandbox.faults()


@pytest.mark.parametrize("refusal", REFUSALS.values(), ids=list(REFUSALS))
def test_a_completed_job_waits_for_a_result_that_is_refused(
    bench: Bench, sandbox: SandboxProcess, refusal: dict[str, Any]
) -> None:
    run = bench.follow(bench.launch(), RunState.COLLECTING)
    assert_waits(bench, sandbox, run, refusal)

    bench.follow(run)

    assert_completed_once(bench, sandbox, run)
    record = bench.core.files.record(run.run_id)
    assert record is not None
    assert record.result is not None
    assert record.result.info.throughput_ratio == 200.0


def test_keys_that_are_refused_while_only_the_logs_are_fetched_cost_no_log(
    bench: Bench, sandbox: SandboxProcess
) -> None:
    run = bench.follow(bench.launch(), RunState.COLLECTING)
    logs = {**REFUSALS["keys that OBS refuses"], "path": "log(/|%2F)"}
    for log in (bench.core.settings.runs_dir / run.run_id / "logs").glob("*"):
        log.unlink()
    assert_waits(bench, sandbox, run, logs)

    bench.follow(run)

    assert_completed_once(bench, sandbox, run)
    assert bench.core.files.log_tail(run.run_id, 0).endswith("step 1\n")


def test_a_run_whose_result_stays_refused_ends_when_a_person_stops_it(bench: Bench, sandbox: SandboxProcess) -> None:
    run = bench.follow(bench.launch(), RunState.COLLECTING)
    sandbox.faults(REFUSALS["a bucket that is not there"])
    bench.tick()

    bench.core.runs.stop(run.run_id, named(PERSON))

    ended = bench.run(run)
    assert ended.state is RunState.FAILED
    assert "given up by tester" in ended.detail


def test_a_job_that_failed_is_not_held_up_by_results_that_it_may_not_have(
    bench: Bench, sandbox: SandboxProcess
) -> None:
    sandbox.script(by="look", exit_code=1, outputs={})
    run = bench.follow(bench.launch(), RunState.COLLECTING)
    sandbox.faults(REFUSALS["a bucket that is not there"])

    ended = bench.follow(run)

    assert ended.state is RunState.FAILED


def test_a_queue_of_ten_years_is_no_measurement(bench: Bench, sandbox: SandboxProcess) -> None:
    now = bench.clock.now
    bench.clock.now = now - timedelta(days=3650)
    run = bench.follow(bench.launch(), RunState.QUEUED)
    bench.clock.now = now
    bench.follow(run)

    assert_completed_once(bench, sandbox, run)
    row = bench.core.warehouse.runs.find_row(run.run_id)
    assert row is not None
    assert row.queue_s is None
    found = {check.id: check for check in row.reasons}
    assert "lies months after" in found["V26"].found
