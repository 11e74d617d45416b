"""What the platform says about a run's job: why it waits, that it hangs, that a node failed; seen live, stored once."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from aisbench_core.domain.results.job_events import alert_message, cloud_events
from aisbench_core.model import AlertKind, DiagnosedFault, JobDetails, JobDiagnosis, JobFault, Run, RunSpec, RunState
from tests.actors import named
from tests.flow.command_line import CommandLine
from tests.flow.following import PERSON, Bench, bench_on
from tests.sandbox_process import SandboxProcess

POOL, NODE = "pool-details", "modelarts.pool.visual.xlarge"
SPEC = RunSpec(workload="quickstart_digits", pool_id=POOL, flavor=NODE, cards_per_node=1)
ONE_CARD = {"ranksize.json": "1", "throughput_0.json": "100.5", "accuracy.json": "0.97"}


def nodes(sandbox: SandboxProcess, count: int, *bad: int) -> None:
    """A region with a pool of so many nodes, some of which are bad."""
    sandbox.admin("PUT", "capacity", {"pools": [{"name": POOL, "flavor": NODE, "nodes": count, "bad": list(bad)}]})


@pytest.fixture
def pool_sandbox(sandbox: SandboxProcess) -> Iterator[SandboxProcess]:
    """Jobs run until the test says otherwise, on a pool of one node."""
    sandbox.script(by="hold", outputs=ONE_CARD, log="step 1\nloss is nan\n")
    nodes(sandbox, 1)
    yield sandbox
    sandbox.reset()


@pytest.fixture
def bench(pool_sandbox: SandboxProcess, tmp_path: Path) -> Bench:
    return bench_on(pool_sandbox, tmp_path / "data")


def details_of(bench: Bench, run: Run) -> JobDetails:
    return bench.core.files.job(run.run_id)


def timeline(bench: Bench, run: Run) -> list[str]:
    return [event.message for event in cloud_events(run.run_id, details_of(bench, run))]


def test_a_run_in_a_full_pool_says_why_it_waits_and_at_which_place_before_it_starts(bench: Bench) -> None:
    first = bench.follow(bench.launch(SPEC), RunState.RUNNING)
    second = bench.follow(bench.launch(SPEC), RunState.QUEUED)
    third = bench.follow(bench.launch(SPEC), RunState.QUEUED)
    bench.tick()

    waits = details_of(bench, second).waits_for
    last = [details_of(bench, run).queue[-1] for run in (second, third)]
    places = [(each.position, each.waiting) for each in last]
    bench.core.runs.stop(first.run_id, named(PERSON))
    bench.follow(second, RunState.RUNNING)
    bench.tick()

    assert waits is not None
    assert (waits.english, waits.chinese[:5]) == ("Insufficient resources: nodes needed 1, free 0 of 1.", "资源不足：")
    assert places == [(1, 2), (2, 2)]
    assert [place.position for place in details_of(bench, third).queue] == [2, 1]
    assert "place 1 of 2 in the queue of the pool" in timeline(bench, second)
    assert details_of(bench, second).stages[-1].name == "preparing"


def test_a_node_fails_the_job_restarts_and_the_record_tells_both_attempts(
    bench: Bench, pool_sandbox: SandboxProcess
) -> None:
    nodes(pool_sandbox, 2, 0)
    run = bench.launch(SPEC.model_copy(update={"retries": 1}))
    run = bench.follow(run, RunState.QUEUED)
    for _ in range(3):
        bench.tick()

    alert = details_of(bench, run).alert(ended=False, failed=False)
    assert alert is not None
    assert (alert.kind, alert.attempt and alert.attempt.fault) == (AlertKind.RESTARTED, JobFault.NODE)
    assert "this is attempt 2" in alert_message(alert)
    pool_sandbox.admin("POST", f"jobs/{bench.run(run).job_id}/advance", {})
    run = bench.follow(run)
    record = bench.core.files.record(run.run_id)

    assert run.state is RunState.COMPLETED, run.detail
    assert record is not None
    broken, good = record.attempts
    assert (broken.reason, broken.task, broken.recovery) == (
        "the node is faulty",
        "worker-0",
        "job_reschedule_with_taint",
    )
    assert broken.host
    assert good.host != broken.tasks[0].host
    assert (good.recovery, good.tasks[0].exit_code) == ("", 0)


def test_events_are_stored_once_whatever_is_killed_and_in_both_languages(
    bench: Bench, pool_sandbox: SandboxProcess, tmp_path: Path
) -> None:
    run = bench.follow(bench.launch(SPEC), RunState.RUNNING)
    bench.tick()
    seen = timeline(bench, run)

    again = bench_on(pool_sandbox, tmp_path / "data")
    for _ in range(3):
        again.tick()
    pool_sandbox.admin("POST", f"jobs/{run.job_id}/advance", {})
    again.follow(run)
    record = again.core.files.record(run.run_id)

    assert record is not None
    assert "Training job is running." in seen
    stored = [event.message for event in record.events if event.source == "cloud"]
    assert len(stored) == len(set(stored))
    assert set(seen) <= set(stored)
    assert all(event.chinese for event in details_of(again, run).events)


def test_show_prints_them(bench: Bench, pool_sandbox: SandboxProcess) -> None:
    bench.follow(bench.launch(SPEC), RunState.RUNNING)
    waiting = bench.follow(bench.launch(SPEC), RunState.QUEUED)
    bench.tick()
    shell = CommandLine(bench.core.settings.data_dir, pool_sandbox)

    shown = shell.type("show", waiting.run_id).stdout

    assert "Insufficient resources: nodes needed 1, free 0 of 1." in shown
    assert "place 1 of 1 in the queue" in shown


def test_a_failed_run_keeps_what_the_platform_found_in_its_log(bench: Bench, pool_sandbox: SandboxProcess) -> None:
    pool_sandbox.script(by="look", exit_code=137, log="step 1\nKilled\n")
    run = bench.follow(bench.launch(SPEC), RunState.FAILED)

    found = details_of(bench, run).diagnosis

    assert found == JobDiagnosis(True, "Error", (DiagnosedFault("Sandbox.Exit.137", (("class", "worker-0"),)),))
    shown = CommandLine(bench.core.settings.data_dir, pool_sandbox).type("show", run.run_id).stdout
    assert "diagnosis of the platform (Error)\n  Sandbox.Exit.137\n    class: worker-0" in shown


def test_a_region_without_a_diagnosis_is_no_error(bench: Bench, pool_sandbox: SandboxProcess) -> None:
    pool_sandbox.script(by="look", exit_code=1, log="step 1\n")
    unknown = {"code": "APIGW.0101", "message": "The API does not exist or has not been published."}
    pool_sandbox.faults({"service": "modelarts", "path": "/diagnosis", "status": 404, **unknown})
    run = bench.follow(bench.launch(SPEC), RunState.FAILED)

    assert details_of(bench, run).diagnosis is None
