"""A run by the older API through the package `modelarts` (`api: sdk-v1`), from launch to the leaderboard."""

from pathlib import Path

import pytest

from aisbench_core.base.errors import SpecError
from aisbench_core.model import Api, Channel, RunSpec, RunState
from tests.actors import named
from tests.flow.following import GOOD, PERSON, SPEC, Bench, bench_on
from tests.flow.test_following_sdk import say
from tests.flow.test_following_v1 import CREATE, assert_completed_once, versions_of
from tests.flow.trouble import IMPATIENT, assert_retrying
from tests.legacy_client import LegacyClient
from tests.sandbox_process import SandboxProcess


@pytest.fixture
def bench(sandbox: SandboxProcess, sdk_venv: Path, tmp_path: Path) -> Bench:
    sandbox.script(by="look", outputs=GOOD, log="step 1\nstep 2\n")
    bench = bench_on(sandbox, tmp_path / "data", **IMPATIENT)
    say(tmp_path / "data", api="sdk-v1", sdk_venv=str(sdk_venv))
    bench.objects().make_directory(f"/{sandbox.bucket}/data/")
    return bench


@pytest.fixture
def spec(sandbox: SandboxProcess) -> RunSpec:
    """The package wants an input."""
    return SPEC.model_copy(update={"inputs": (Channel(name="data_url", path=f"/{sandbox.bucket}/data/"),)})


def test_a_run_goes_along_the_line_and_ends_on_the_leaderboard(
    bench: Bench, sandbox: SandboxProcess, spec: RunSpec
) -> None:
    run = bench.follow(bench.launch(spec))

    assert_completed_once(bench, sandbox, run)
    found = bench.objects().list(f"/{sandbox.bucket}/aisbench/output/{run.job_name}/V1/")
    assert {stat.path.rpartition("/")[2] for stat in found} >= GOOD.keys()
    assert run.spec.api is Api.SDK_V1
    assert run.started_at is not None
    assert bench.core.files.log_tail(run.run_id, 0).endswith("step 1\nstep 2\n")


def test_a_stopped_run_ends_its_job(bench: Bench, sandbox: SandboxProcess, spec: RunSpec) -> None:
    sandbox.script(by="hold")
    run = bench.follow(bench.launch(spec), RunState.QUEUED)

    bench.core.runs.stop(run.run_id, named(PERSON))
    ended = bench.follow(run)

    (job,) = LegacyClient(sandbox).ask("GET", "training-jobs")["jobs"]
    assert ended.state is RunState.STOPPED, ended.detail
    assert (job["job_name"], job["status"]) == (run.job_name, 12)


def test_a_submit_whose_answer_is_lost_makes_one_job(bench: Bench, sandbox: SandboxProcess, spec: RunSpec) -> None:
    run = bench.follow(bench.launch(spec), RunState.SUBMITTING)
    sandbox.faults({**CREATE, "drop": "after"})
    bench.tick()
    assert_retrying(bench, run, RunState.SUBMITTING)
    assert len(versions_of(sandbox, run)) == 1

    bench.follow(run)

    assert_completed_once(bench, sandbox, run)


def test_what_it_lacks_is_refused_before_the_launch(bench: Bench, spec: RunSpec) -> None:
    with pytest.raises(SpecError, match="api sdk-v1 needs an input data_url"):
        bench.launch()
    with pytest.raises(SpecError, match="api sdk-v1 has no retries"):
        bench.launch(spec.model_copy(update={"retries": 1}))
