"""A cloud that answers half of what it is asked, and people who spoil what a run rests on: no run ends wrong for it."""

from pathlib import Path

import pytest

from aisbench_core.model import Channel, Level, RunState
from tests.actors import named
from tests.flow.following import GOOD, PERSON, SPEC, Bench, bench_on
from tests.flow.trouble import IMPATIENT, assert_completed_once, assert_retrying
from tests.sandbox_process import SandboxProcess

WRONG_ADDRESS = {
    "service": "modelarts",
    "path": "/training-jobs/[^/]+$",
    "status": 404,
    "code": "APIG.0101",
    "message": "The API does not exist",
}
METRICS = {"service": "modelarts", "path": "/metrics/", "status": 403, "code": "ModelArts.2784", "times": 1000}
EVENTS = {"service": "modelarts", "path": "/events", "status": 403, "code": "ModelArts.2784", "times": 1000}


@pytest.fixture
def bench(sandbox: SandboxProcess, tmp_path: Path) -> Bench:
    sandbox.script(by="look", outputs=GOOD)
    return bench_on(sandbox, tmp_path / "data", **IMPATIENT)


def test_metrics_that_are_refused_delay_no_run_and_cost_no_result(bench: Bench, sandbox: SandboxProcess) -> None:
    run = bench.follow(bench.launch(), RunState.QUEUED)
    sandbox.faults(METRICS, EVENTS)

    bench.follow(run)

    assert_completed_once(bench, sandbox, run)
    events = bench.core.ledger.events(run.run_id)
    warnings = [event.message for event in events if event.level is Level.WARNING]
    assert not any("retrying" in warning for warning in warnings)
    assert any("metrics" in warning for warning in warnings)
    assert any("events" in warning for warning in warnings)
    record = bench.core.files.record(run.run_id)
    assert record
    assert set(warnings) <= {event.message for event in record.events}


def test_metrics_that_stay_broken_hold_a_result_up_for_a_while_only(bench: Bench, sandbox: SandboxProcess) -> None:
    run = bench.follow(bench.launch(), RunState.COLLECTING)
    broken = {"status": 503, "code": ""}
    sandbox.faults({**METRICS, **broken}, {**EVENTS, **broken})
    bench.tick()
    assert_retrying(bench, run, RunState.COLLECTING)

    bench.follow(run)

    assert_completed_once(bench, sandbox, run)
    warnings = [event.message for event in bench.core.ledger.events(run.run_id) if event.level is Level.WARNING]
    assert any(warning.startswith("not collected: ") and "metrics" in warning for warning in warnings)


def test_a_wrong_address_is_not_taken_for_a_job_that_is_gone(bench: Bench, sandbox: SandboxProcess) -> None:
    sandbox.script(by="hold")
    run = bench.follow(bench.launch(), RunState.RUNNING)
    nothing_listed = {"service": "modelarts", "path": "/training-job-searches$", "status": 200, "body": '{"items": []}'}
    sandbox.faults(nothing_listed, WRONG_ADDRESS)

    bench.tick()

    assert_retrying(bench, run, RunState.RUNNING)


def test_a_stop_does_not_take_a_wrong_address_for_a_job_that_is_gone(bench: Bench, sandbox: SandboxProcess) -> None:
    sandbox.script(by="hold")
    run = bench.follow(bench.launch(), RunState.RUNNING)
    bench.core.runs.stop(run.run_id, named(PERSON))
    sandbox.faults(WRONG_ADDRESS)
    bench.tick()
    assert_retrying(bench, run, RunState.STOPPING)

    ended = bench.follow(run)

    assert ended.state is RunState.STOPPED
    assert ended.phase == "Terminated"


@pytest.mark.parametrize("state", [RunState.QUEUED, RunState.COLLECTING])
def test_a_profile_with_a_slip_of_the_pen_is_waited_for(bench: Bench, sandbox: SandboxProcess, state: RunState) -> None:
    run = bench.follow(bench.launch(), state)
    file = bench.core.settings.profiles_dir / "sandbox.yaml"
    right = file.read_text("utf-8")
    file.write_text(f"{right}\nbukket: slip\n", "utf-8")
    bench.tick()
    assert_retrying(bench, run, state)

    file.write_text(right, "utf-8")
    bench.follow(run)

    assert_completed_once(bench, sandbox, run)


def test_runs_that_name_the_same_output_directory_do_not_share_results(bench: Bench, sandbox: SandboxProcess) -> None:
    spec = SPEC.model_copy(update={"outputs": (Channel(name="train_url", path="/sandbox-bench/mine/"),)})
    first = bench.follow(bench.launch(spec))
    sandbox.script(by="look", outputs={})

    second = bench.follow(bench.launch(spec))

    assert first.state is RunState.COMPLETED
    assert second.state is RunState.FAILED
    assert "throughput_0.json is missing" in second.detail


def test_a_profile_that_leads_elsewhere_now_has_other_flavors(bench: Bench, sandbox: SandboxProcess) -> None:
    bench.core.regions.flavors()
    file = bench.core.settings.profiles_dir / "sandbox.yaml"
    file.write_text(file.read_text("utf-8").replace("region: sandbox", "region: elsewhere"), "utf-8")
    sandbox.forget_requests()

    for _ in range(2):
        bench.core.regions.flavors()

    assert sum(sandbox.requests()["modelarts"].values()) == 1
