"""Bad days of the cloud: down, busy, slow, deaf. The run says so, and ends right with exactly one job."""

from pathlib import Path
from typing import Any

import pytest

from aisbench_core.model import RunState
from tests.actors import named
from tests.flow.following import GOOD, PERSON, Bench, bench_on
from tests.flow.trouble import (
    IMPATIENT,
    assert_completed_once,
    assert_one_sentence,
    assert_retrying,
    jobs_named,
    retries,
)
from tests.sandbox_process import SandboxProcess
from tests.training_client import TrainingClient, await_true

LINE = [
    RunState.PREPARING,
    RunState.UPLOADING,
    RunState.SUBMITTING,
    RunState.QUEUED,
    RunState.RUNNING,
    RunState.COLLECTING,
]
CREATE = {"service": "modelarts", "method": "POST", "path": "/training-jobs$"}
LOOK = {"service": "modelarts", "method": "POST", "path": "/training-job-searches$"}
DETAIL = {"service": "modelarts", "method": "GET", "path": "/training-jobs/"}
NOTHING_FOUND = {"status": 200, "body": '{"items": [], "total": 0, "count": 0}'}


@pytest.fixture
def bench(sandbox: SandboxProcess, tmp_path: Path) -> Bench:
    sandbox.script(by="look", outputs=GOOD)
    return bench_on(sandbox, tmp_path / "data", **IMPATIENT)


OF_EACH_SERVICE = (RunState.UPLOADING, RunState.SUBMITTING, RunState.COLLECTING)
LIKE_THEM = [pytest.param(state, marks=pytest.mark.exhaustive) for state in LINE if state not in OF_EACH_SERVICE]


@pytest.mark.parametrize("state", [*OF_EACH_SERVICE, *LIKE_THEM])
def test_while_the_cloud_is_down_a_run_is_retried_and_then_ends_right(
    bench: Bench, sandbox: SandboxProcess, state: RunState
) -> None:
    run = bench.follow(bench.launch(), state)
    sandbox.kill()
    for _ in range(3):
        bench.tick()
    assert_retrying(bench, run, state)
    assert len(retries(bench, run)) == 1, "only the first failure is an event"

    sandbox.resume()
    bench.follow(run)

    assert_completed_once(bench, sandbox, run)


def test_a_run_can_be_launched_while_the_cloud_is_down(bench: Bench, sandbox: SandboxProcess) -> None:
    sandbox.kill()
    run = bench.launch()
    bench.tick()
    assert_retrying(bench, run, RunState.PREPARING)

    sandbox.resume()
    bench.follow(run)

    assert_completed_once(bench, sandbox, run)


def test_a_cloud_that_dies_in_the_middle_of_an_upload_gets_the_rest_later(
    bench: Bench, sandbox: SandboxProcess
) -> None:
    run = bench.follow(bench.launch(), RunState.UPLOADING)
    sandbox.forget_requests()
    sandbox.latency(obs_ms=500)
    bench.clock.move(10)

    bench.follower.tick()
    await_true(lambda: sandbox.requests()["obs"].get("PUT", 0) > 0, "the upload to begin")
    sandbox.kill()
    bench.follower.settle()

    assert_retrying(bench, run, RunState.UPLOADING)
    sandbox.resume()
    bench.follow(run)
    assert_completed_once(bench, sandbox, run)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_submit_whose_answer_is_lost_makes_one_job(bench: Bench, sandbox: SandboxProcess, when: str) -> None:
    run = bench.follow(bench.launch(), RunState.SUBMITTING)
    sandbox.faults({**CREATE, "drop": when})
    bench.tick()
    assert_retrying(bench, run, RunState.SUBMITTING)
    assert len(jobs_named(sandbox, run.job_name)) == (when == "after")

    bench.follow(run)

    assert_completed_once(bench, sandbox, run)


def test_a_job_that_the_list_does_not_show_yet_is_waited_for_when_its_name_is_taken(
    bench: Bench, sandbox: SandboxProcess
) -> None:
    run = bench.follow(bench.launch(), RunState.SUBMITTING)
    sandbox.faults({**CREATE, "drop": "after"}, {**LOOK, **NOTHING_FOUND, "times": 3})
    for _ in range(2):
        bench.tick()
    assert_retrying(bench, run, RunState.SUBMITTING)

    bench.follow(run)

    assert_completed_once(bench, sandbox, run)


def test_stop_finds_and_stops_a_job_whose_submit_was_never_answered(bench: Bench, sandbox: SandboxProcess) -> None:
    sandbox.script(by="hold")
    run = bench.follow(bench.launch(), RunState.SUBMITTING)
    sandbox.faults({**CREATE, "drop": "after"})
    bench.tick()
    assert_retrying(bench, run, RunState.SUBMITTING)

    bench.core.runs.stop(run.run_id, named(PERSON))
    ended = bench.follow(run)

    jobs = jobs_named(sandbox, run.job_name)
    assert ended.state is RunState.STOPPED
    assert [job.metadata.id for job in jobs] == [ended.job_id]
    assert [job.status.phase for job in jobs] == ["Terminated"]


def test_stop_waits_for_a_job_that_may_still_appear(bench: Bench, sandbox: SandboxProcess) -> None:
    sandbox.script(by="hold")
    run = bench.follow(bench.launch(), RunState.SUBMITTING)
    sandbox.faults({**CREATE, "drop": "after"}, {**LOOK, **NOTHING_FOUND, "times": 2})
    bench.tick()
    bench.core.runs.stop(run.run_id, named(PERSON))
    bench.tick(seconds=1)
    assert bench.run(run).state is RunState.STOPPING

    ended = bench.follow(run)

    assert ended.state is RunState.STOPPED
    assert [job.status.phase for job in jobs_named(sandbox, run.job_name)] == ["Terminated"]


def test_stopping_goes_on_after_the_cloud_was_down(bench: Bench, sandbox: SandboxProcess) -> None:
    sandbox.script(by="hold")
    run = bench.follow(bench.launch(), RunState.RUNNING)
    bench.core.runs.stop(run.run_id, named(PERSON))
    sandbox.kill()
    for _ in range(2):
        bench.tick()
    assert_retrying(bench, run, RunState.STOPPING)

    sandbox.resume()
    ended = bench.follow(run)

    assert ended.state is RunState.STOPPED
    assert [job.status.phase for job in jobs_named(sandbox, run.job_name)] == ["Terminated"]


@pytest.mark.parametrize(("state", "status"), list(zip(LINE, [503, 429] * 3, strict=True)))
def test_a_busy_cloud_delays_a_run_and_nothing_else(
    bench: Bench, sandbox: SandboxProcess, state: RunState, status: int
) -> None:
    run = bench.follow(bench.launch(), state)
    busy = {"status": status, "times": 4}
    sandbox.faults({"service": "obs", **busy}, {"service": "modelarts", **busy})
    bench.tick()
    assert_retrying(bench, run, state)

    bench.follow(run)

    assert_completed_once(bench, sandbox, run)


@pytest.mark.parametrize(
    ("state", "slow"),
    [
        (RunState.PREPARING, {"service": "obs"}),
        (RunState.UPLOADING, {"service": "obs", "method": "PUT"}),
        (RunState.SUBMITTING, CREATE),
        (RunState.QUEUED, LOOK),
        (RunState.RUNNING, LOOK),
        (RunState.COLLECTING, {"service": "obs", "method": "GET"}),
    ],
)
def test_an_answer_that_comes_too_late_counts_as_none(
    sandbox: SandboxProcess, tmp_path: Path, state: RunState, slow: dict[str, Any]
) -> None:
    sandbox.script(by="look", outputs=GOOD)
    bench = bench_on(sandbox, tmp_path / "data", **{**IMPATIENT, "request_seconds": 0.5})
    run = bench.follow(bench.launch(), state)
    sandbox.faults({**slow, "delay_s": 1.5, "times": 20})
    bench.tick()
    assert_retrying(bench, run, state)

    sandbox.faults()
    bench.follow(run)

    assert_completed_once(bench, sandbox, run)


def test_a_job_that_was_deleted_in_the_cloud_fails_its_run(bench: Bench, sandbox: SandboxProcess) -> None:
    sandbox.script(by="hold", log="so far\n")
    run = bench.follow(bench.launch(), RunState.RUNNING)
    bench.tick()

    TrainingClient(sandbox).delete(bench.run(run).job_id)
    ended = bench.follow(run)

    assert ended.state is RunState.FAILED
    assert "was deleted in the cloud" in ended.detail
    assert_one_sentence(ended.detail)
    assert "so far" in bench.core.files.log_tail(run.run_id, 0)
    assert bench.core.warehouse.runs.find_row(run.run_id) is not None


def test_a_refused_job_fails_its_run_with_the_clouds_words(bench: Bench, sandbox: SandboxProcess) -> None:
    run = bench.follow(bench.launch(), RunState.SUBMITTING)
    sandbox.faults({**CREATE, "status": 400, "code": "ModelArts.2815", "message": "The quota is used up."})

    ended = bench.follow(run)

    assert ended.state is RunState.FAILED
    assert "The quota is used up." in ended.detail
    assert_one_sentence(ended.detail)


def test_a_web_page_in_place_of_an_answer_never_gives_a_running_job_up(bench: Bench, sandbox: SandboxProcess) -> None:
    run = bench.follow(bench.launch(), RunState.RUNNING)
    page = {"status": 200, "body": "<html><title>Please sign in</title></html>", "times": 4}
    sandbox.faults({**LOOK, **page})
    bench.tick()
    assert_retrying(bench, run, RunState.RUNNING)

    bench.follow(run)

    assert_completed_once(bench, sandbox, run)


def test_a_cloud_that_is_away_for_days_is_still_asked(bench: Bench, sandbox: SandboxProcess) -> None:
    run = bench.follow(bench.launch(), RunState.RUNNING)
    long_ago = bench.run(run)
    days = {"attempts": 5000, "detail": "retrying: for a week"}
    bench.core.ledger.advance(long_ago, long_ago.to(RunState.RUNNING, **days))
    sandbox.faults({**LOOK, "status": 503, "times": 2})
    bench.tick()
    assert bench.run(run).attempts == 5001
    assert bench.run(run).next_step_at > bench.clock()

    bench.follow(run)

    assert_completed_once(bench, sandbox, run)
