"""A run by ModelArts' older API (v1), from launch to the leaderboard, against the sandbox over HTTP."""

from pathlib import Path

import pytest
import yaml

from aisbench_core.base.errors import SpecError
from aisbench_core.config.settings import HOME
from aisbench_core.domain.authoring.workloads import Workloads
from aisbench_core.model import Api, Run, RunPart, RunSpec, RunState
from tests.actors import named
from tests.flow.following import GOOD, PERSON, SPEC, Bench, bench_on
from tests.flow.trouble import IMPATIENT, assert_retrying
from tests.legacy_client import LegacyClient
from tests.sandbox_process import SandboxProcess

CREATE = {"service": "modelarts", "method": "POST", "path": "/v1/[^/]*/training-jobs$"}
LIST = {"service": "modelarts", "method": "GET", "path": r"/v1/[^/]*/training-jobs\?"}
NOTHING_FOUND = {"status": 200, "body": '{"is_success": true, "jobs": []}'}


def bench_by_v1(sandbox: SandboxProcess, data_dir: Path) -> Bench:
    """A bench whose profile says `api: v1`."""
    bench = bench_on(sandbox, data_dir, **IMPATIENT)
    profile = data_dir / "profiles" / "sandbox.yaml"
    profile.write_text(yaml.safe_dump({**yaml.safe_load(profile.read_text("utf-8")), "api": "v1"}), "utf-8")
    return bench


@pytest.fixture
def bench(sandbox: SandboxProcess, tmp_path: Path) -> Bench:
    sandbox.script(by="look", outputs=GOOD, log="step 1\nstep 2\n")
    return bench_by_v1(sandbox, tmp_path / "data")


def versions_of(sandbox: SandboxProcess, run: Run) -> list[str]:
    """Every version of every job with the run's name, by the older API."""
    client = LegacyClient(sandbox)
    jobs = client.ask("GET", f"training-jobs?search_content={run.job_name}")["jobs"]
    assert all(job["job_name"] == run.job_name for job in jobs)
    return [
        version["version_name"]
        for job in jobs
        for version in client.ask("GET", f"training-jobs/{job['job_id']}/versions")["versions"]
    ]


def assert_completed_once(bench: Bench, sandbox: SandboxProcess, run: Run) -> None:
    """The run ended well, made exactly one version of one job, and is in the warehouse."""
    ended = bench.run(run)
    recorded = bench.core.warehouse.runs.find_row(run.run_id)
    assert ended.state is RunState.COMPLETED, ended.detail
    assert versions_of(sandbox, run) == ["V0001"]
    assert recorded is not None
    assert recorded.throughput == pytest.approx(200.0)


def test_a_run_goes_along_the_line_and_ends_on_the_leaderboard(bench: Bench, sandbox: SandboxProcess) -> None:
    run = bench.follow(bench.launch())

    assert_completed_once(bench, sandbox, run)
    assert run.spec.api is Api.V1
    assert run.started_at is not None
    assert "/" in run.job_id
    assert bench.core.files.log_tail(run.run_id, 0).endswith("step 1\nstep 2\n")
    assert bench.core.health.check("sandbox").services[1].ok


def test_results_lie_in_the_directory_of_the_first_version(bench: Bench, sandbox: SandboxProcess) -> None:
    run = bench.follow(bench.launch())

    found = bench.objects().list(f"/{sandbox.bucket}/aisbench/output/{run.job_name}/V1/")
    assert {stat.path.rpartition("/")[2] for stat in found} >= GOOD.keys()


def test_a_spec_may_ask_for_the_older_api_where_the_profile_does_not(sandbox: SandboxProcess, tmp_path: Path) -> None:
    sandbox.script(by="look", outputs=GOOD)
    bench = bench_on(sandbox, tmp_path / "data")
    older = bench.launch(SPEC.model_copy(update={"api": Api.V1}))
    newer = bench.launch()

    bench.follow(older)
    bench.follow(newer)

    assert_completed_once(bench, sandbox, older)
    assert bench.run(newer).state is RunState.COMPLETED
    assert versions_of(sandbox, newer) == []


def test_a_run_on_its_way_keeps_its_api_when_the_profile_changes(
    bench: Bench, sandbox: SandboxProcess, tmp_path: Path
) -> None:
    run = bench.follow(bench.launch(), RunState.QUEUED)
    profile = tmp_path / "data" / "profiles" / "sandbox.yaml"
    profile.write_text(profile.read_text("utf-8").replace("api: v1", "api: v2"), "utf-8")

    bench.follow(run)

    assert_completed_once(bench, sandbox, run)


def test_a_stopped_run_ends_its_job(bench: Bench, sandbox: SandboxProcess) -> None:
    sandbox.script(by="hold")
    run = bench.follow(bench.launch(), RunState.QUEUED)

    bench.core.runs.stop(run.run_id, named(PERSON))
    ended = bench.follow(run)

    (job,) = LegacyClient(sandbox).ask("GET", "training-jobs")["jobs"]
    assert ended.state is RunState.STOPPED, ended.detail
    assert (job["job_name"], job["status"]) == (run.job_name, 12)


def test_a_job_that_fails_fails_its_run(bench: Bench, sandbox: SandboxProcess) -> None:
    sandbox.script(by="look", exit_code=3)

    run = bench.follow(bench.launch())

    assert (run.state, run.detail) == (RunState.FAILED, "the job ended as Failed")


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_submit_whose_answer_is_lost_makes_one_job(bench: Bench, sandbox: SandboxProcess, when: str) -> None:
    run = bench.follow(bench.launch(), RunState.SUBMITTING)
    sandbox.faults({**CREATE, "drop": when})
    bench.tick()
    assert_retrying(bench, run, RunState.SUBMITTING)
    assert len(versions_of(sandbox, run)) == (when == "after")

    bench.follow(run)

    assert_completed_once(bench, sandbox, run)


def test_a_job_that_the_list_does_not_show_yet_is_waited_for_when_its_name_is_taken(
    bench: Bench, sandbox: SandboxProcess
) -> None:
    run = bench.follow(bench.launch(), RunState.SUBMITTING)
    sandbox.faults({**CREATE, "drop": "after"}, {**LIST, **NOTHING_FOUND, "times": 6})
    for _ in range(2):
        bench.tick()
    assert_retrying(bench, run, RunState.SUBMITTING)

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
    LegacyClient(sandbox).ask("DELETE", f"training-jobs/{run.job_id.partition('/')[0]}")

    run = bench.follow(run)

    assert run.state is RunState.FAILED
    assert "is gone: it was deleted in the cloud" in run.detail


def test_what_the_older_api_lacks_is_refused_before_the_launch(bench: Bench, sandbox: SandboxProcess) -> None:
    with pytest.raises(SpecError, match="api v1 has no automatic stop"):
        bench.launch(SPEC.model_copy(update={"auto_stop_hours": 1}))

    assert LegacyClient(sandbox).names() == []


def test_the_quickstart_really_trains_and_reports_through_moxing(real_sandbox: SandboxProcess, tmp_path: Path) -> None:
    real_sandbox.reset()
    bench = bench_by_v1(real_sandbox, tmp_path / "data")
    run = bench.launch(
        RunSpec(workload="quickstart_digits", flavor="sandbox.cpu.2cards", cards_per_node=2, parameters={"epochs": 12})
    )
    bench.await_end(run)

    log = bench.core.files.log_tail(run.run_id, 0)
    recorded = bench.core.warehouse.runs.find_row(run.run_id)
    target = Workloads(HOME / "workloads").get("quickstart_digits").target
    assert bench.run(run).state is RunState.COMPLETED, log
    assert recorded is not None
    assert recorded.accuracy is not None
    assert target is not None
    assert recorded.accuracy > 0.9
    assert recorded.throughput is not None
    assert recorded.throughput > 0


def test_a_clean_up_removes_the_job_with_its_version_and_everything_below_its_name(
    bench: Bench, sandbox: SandboxProcess
) -> None:
    run = bench.follow(bench.launch())
    plan = bench.core.cleaning.plan(run.run_id)

    bench.core.cleaning.clean(plan, named(PERSON))

    assert [item.part for item in plan.items] == list(RunPart)
    assert plan.items[1].path.endswith(f"/{run.job_name}/")
    assert versions_of(sandbox, run) == []
    assert not [stat.path for stat in bench.objects().list(plan.items[1].path)]
    assert bench.core.cleaning.plan(run.run_id).items == ()
