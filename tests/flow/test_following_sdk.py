"""A run through the package `modelarts` (`api: sdk`), from launch to the leaderboard: a stand-in of the package, and
the sandbox over HTTP."""

from pathlib import Path

import pytest
import yaml

from aisbench_core.base.errors import SpecError
from aisbench_core.model import Api, Level, RunSpec, RunState
from tests.actors import named
from tests.flow.command_line import CommandLine
from tests.flow.examined import examined
from tests.flow.following import GOOD, PERSON, SPEC, Bench, bench_on
from tests.flow.trouble import IMPATIENT, assert_completed_once, assert_retrying, jobs_named
from tests.sandbox_process import SandboxProcess
from tests.training_client import TrainingClient

CREATE = {"service": "modelarts", "method": "POST", "path": "training-jobs$"}


def say(data_dir: Path, **changes: object) -> None:
    """Change the profile."""
    profile = data_dir / "profiles" / "sandbox.yaml"
    profile.write_text(yaml.safe_dump({**yaml.safe_load(profile.read_text("utf-8")), **changes}), "utf-8")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def bench(sandbox: SandboxProcess, sdk_venv: Path, data: Path) -> Bench:
    sandbox.script(by="look", outputs=GOOD, log="step 1\nstep 2\n")
    bench = bench_on(sandbox, data, **IMPATIENT)
    say(data, api="sdk", sdk_venv=str(sdk_venv))
    return bench


# --- a good day ---------------------------------------------------------------------------------------


def test_a_run_goes_along_the_line_and_ends_on_the_leaderboard(bench: Bench, sandbox: SandboxProcess) -> None:
    run = bench.follow(bench.launch())

    assert_completed_once(bench, sandbox, run)
    recorded = bench.core.warehouse.runs.find_row(run.run_id)
    assert recorded is not None
    assert recorded.throughput == pytest.approx(200.0)
    assert run.spec.api is Api.SDK
    assert run.started_at is not None
    assert bench.core.files.log_tail(run.run_id, 0).endswith("step 1\nstep 2\n")
    assert all(service.ok for service in bench.core.health.check("sandbox").services)


def test_a_stopped_run_ends_its_job(bench: Bench, sandbox: SandboxProcess) -> None:
    sandbox.script(by="hold")
    run = bench.follow(bench.launch(), RunState.QUEUED)

    bench.core.runs.stop(run.run_id, named(PERSON))
    ended = bench.follow(run)

    (job,) = jobs_named(sandbox, run.job_name)
    assert ended.state is RunState.STOPPED, ended.detail
    assert job.status.phase == "Terminated"


def test_the_region_has_nothing_against_a_run_and_cannot_be_asked_for_its_pools(bench: Bench) -> None:
    pooled = RunSpec(
        workload=SPEC.workload,
        pool_id="pool-nobody-knows-0123456789abcdef0123456789abcdef",
        flavor="modelarts.pool.visual.2xlarge",
        cards_per_node=2,
    )

    assert [each for each in bench.core.preflight.online(SPEC, "sandbox") if each.level is Level.ERROR] == []
    assert [each for each in bench.core.preflight.online(pooled, "sandbox") if "pool" in each.rule] == []


# --- bad days -----------------------------------------------------------------------------------------


def test_a_job_that_fails_fails_its_run(bench: Bench, sandbox: SandboxProcess) -> None:
    sandbox.script(by="look", exit_code=3)

    run = bench.follow(bench.launch())

    assert run.state is RunState.FAILED
    assert "worker-0: exited with code 3" in run.detail


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_submit_whose_answer_is_lost_makes_one_job(bench: Bench, sandbox: SandboxProcess, when: str) -> None:
    run = bench.follow(bench.launch(), RunState.SUBMITTING)
    sandbox.faults({**CREATE, "drop": when})
    bench.tick()
    assert_retrying(bench, run, RunState.SUBMITTING)
    assert len(jobs_named(sandbox, run.job_name)) == (when == "after")

    bench.follow(run)

    assert_completed_once(bench, sandbox, run)


def test_while_the_cloud_is_down_a_run_is_retried_and_then_ends_right(bench: Bench, sandbox: SandboxProcess) -> None:
    run = bench.follow(bench.launch(), RunState.QUEUED)
    sandbox.kill()
    bench.tick()
    assert_retrying(bench, run, RunState.QUEUED)

    sandbox.resume()
    bench.follow(run)

    assert_completed_once(bench, sandbox, run)


def test_a_job_that_was_deleted_in_the_cloud_fails_its_run(bench: Bench, sandbox: SandboxProcess) -> None:
    sandbox.script(by="hold")
    run = bench.follow(bench.launch(), RunState.QUEUED)
    TrainingClient(sandbox).delete(run.job_id)

    run = bench.follow(run)

    assert run.state is RunState.FAILED
    assert "is gone: it was deleted in the cloud" in run.detail


def test_a_run_on_its_way_waits_for_a_package_that_was_removed(
    bench: Bench, sandbox: SandboxProcess, sdk_venv: Path, data: Path
) -> None:
    run = bench.follow(bench.launch(), RunState.QUEUED)
    say(data, sdk_venv=str(data / "nothing"))
    bench.tick()
    assert_retrying(bench, run, RunState.QUEUED)
    assert "api sdk needs the package modelarts" in bench.run(run).detail

    say(data, sdk_venv=str(sdk_venv))
    bench.follow(run)

    assert_completed_once(bench, sandbox, run)


# --- before a launch ----------------------------------------------------------------------------------


def test_without_the_package_nothing_is_launched_and_its_place_and_wheel_are_named(
    bench: Bench, sandbox: SandboxProcess, data: Path
) -> None:
    say(data, sdk_venv=str(data / "nothing"))

    with pytest.raises(SpecError, match="needs the package modelarts, which is not installed in") as raised:
        bench.launch()

    (finding,) = [each for each in bench.core.preflight.offline(SPEC, "sandbox") if each.level is Level.ERROR]
    assert (finding.rule, finding.field) == ("api.available", "profile.api")
    assert "modelarts-latest-py2.py3-none-any.whl" in finding.hint
    assert [problem.field for problem in raised.value.problems] == ["profile.api"]
    assert sandbox.requests()["modelarts"] == {}


def test_what_the_package_has_no_argument_for_is_refused_before_the_launch(bench: Bench) -> None:
    with pytest.raises(SpecError, match="api sdk has no automatic stop"):
        bench.launch(SPEC.model_copy(update={"auto_stop_hours": 1}))


# --- the doctor ---------------------------------------------------------------------------------------


def test_the_doctor_tells_whether_the_package_is_installed_for_a_profile_that_needs_it(
    sandbox: SandboxProcess, sdk_venv: Path, tmp_path: Path
) -> None:
    shell = CommandLine(tmp_path / "data", sandbox)
    shell.add_profile("here", sandbox.profile, api="sdk", sdk_venv=str(sdk_venv))
    shell.add_profile("missing", sandbox.profile, api="sdk")

    here = {each["found"] for each in shell.answer("doctor", "--profile", "here") if each["check"] == "library"}
    missing = examined(shell, "missing")

    assert f"modelarts 0.0.standin in {sdk_venv}; no tested version is known" in here
    assert missing["library"].message == "modelarts is not installed in the console's own environment"
    assert "modelarts-latest-py2.py3-none-any.whl" in missing["library"].advice
    assert {check for check, each in missing.items() if each.state == "fail"} == {"library", "access.modelarts"}
    assert not any("modelarts 0" in each["found"] for each in shell.answer("doctor"))
