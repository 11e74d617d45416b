"""The priority of a waiting run: changed by command, it overtakes; where it cannot be changed, the reason is said."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from aisbench_core.base.errors import AccessDenied, SpecError
from aisbench_core.model import Api, Run, RunSpec, RunState
from tests.actors import named
from tests.flow.command_line import CommandLine
from tests.flow.following import PERSON, Bench, bench_on
from tests.sandbox_process import SandboxProcess
from tests.training_client import await_true

POOL, NODE = "pool-priority", "modelarts.pool.visual.xlarge"


@pytest.fixture
def pool_sandbox(sandbox: SandboxProcess) -> Iterator[SandboxProcess]:
    """A region with a pool of one node, whose jobs run until the test says otherwise."""
    sandbox.script(by="hold", outputs={}, log="step 1\n")
    sandbox.admin("PUT", "capacity", {"pools": [{"name": POOL, "flavor": NODE, "nodes": 1}]})
    yield sandbox
    sandbox.reset()


@pytest.fixture
def bench(pool_sandbox: SandboxProcess, tmp_path: Path) -> Bench:
    return bench_on(pool_sandbox, tmp_path / "data")


def launched(bench: Bench, until: RunState) -> Run:
    spec = RunSpec(workload="quickstart_digits", pool_id=POOL, flavor=NODE, cards_per_node=1)
    return bench.follow(bench.launch(spec), until)


def test_a_run_with_a_higher_priority_overtakes_one_that_waits_longer(bench: Bench) -> None:
    first = launched(bench, RunState.RUNNING)
    second, third = (launched(bench, RunState.QUEUED) for _ in range(2))

    bench.core.jobs.set_priority(third.run_id, 3, named(PERSON))
    bench.core.runs.stop(first.run_id, named(PERSON))
    bench.follow(third, RunState.RUNNING)

    assert bench.run(second).state is RunState.QUEUED
    said = [event.message for event in bench.core.ledger.events(third.run_id)]
    assert f"priority changed from 1 to 3 by {PERSON}" in said


def test_a_run_that_does_not_wait_in_a_pool_has_no_priority_to_change(bench: Bench) -> None:
    running = launched(bench, RunState.RUNNING)

    with pytest.raises(SpecError, match="only a run that waits in a dedicated pool"):
        bench.core.jobs.set_priority(running.run_id, 2, named(PERSON))
    with pytest.raises(SpecError, match="must be 1 to 3"):
        bench.core.jobs.set_priority(running.run_id, 4, named(PERSON))


def test_what_the_region_refuses_is_said_and_is_no_event(bench: Bench) -> None:
    first = launched(bench, RunState.RUNNING)
    waiting = launched(bench, RunState.QUEUED)
    training = bench.core.jobs.interactive("sandbox", None).training
    training.stop(first.job_id)
    await_true(lambda: training.detail(waiting.job_id).phase == "Running", "the job at work")

    with pytest.raises(SpecError, match=r"only a run that waits in a dedicated pool.*Running"):
        bench.core.jobs.set_priority(waiting.run_id, 2, named(PERSON))  # the ledger does not know it yet

    assert not [event for event in bench.core.ledger.events(waiting.run_id) if "priority" in event.message]


def test_the_highest_priority_without_the_permission_names_it_and_leaves_the_job_as_it_is(
    bench: Bench, pool_sandbox: SandboxProcess
) -> None:
    launched(bench, RunState.RUNNING)
    waiting = launched(bench, RunState.QUEUED)
    bench.core.jobs.set_priority(waiting.run_id, 2, named(PERSON))
    refusal = {"service": "modelarts", "method": "PUT", "path": "training-jobs/", "status": 403}
    pool_sandbox.faults({**refusal, "code": "ModelArts.2785", "message": "Not authorized."})

    with pytest.raises(AccessDenied, match="Not authorized") as raised:
        bench.core.jobs.set_priority(waiting.run_id, 3, named(PERSON))

    assert "modelarts:trainJob:setHighPriority" in raised.value.hint
    assert bench.core.jobs.interactive("sandbox", None).training.detail(waiting.job_id).priority == 2
    said = [event.message for event in bench.core.ledger.events(waiting.run_id) if "priority" in event.message]
    assert said == [f"priority changed from 1 to 2 by {PERSON}"]


@pytest.mark.parametrize("api", [Api.V1, Api.SDK])
def test_an_api_that_cannot_change_priorities_is_named(bench: Bench, api: Api) -> None:
    launched(bench, RunState.RUNNING)
    waiting = launched(bench, RunState.QUEUED)
    with_api = replace(waiting, spec=waiting.spec.model_copy(update={"api": api}))
    bench.core.ledger.advance(waiting, with_api)

    with pytest.raises(SpecError, match=f"api {api} cannot change it"):
        bench.core.jobs.set_priority(waiting.run_id, 2, named(PERSON))


def test_the_command_changes_it_too(bench: Bench, pool_sandbox: SandboxProcess) -> None:
    launched(bench, RunState.RUNNING)
    waiting = launched(bench, RunState.QUEUED)
    shell = CommandLine(bench.core.settings.data_dir, pool_sandbox)

    done = shell.type("priority", waiting.run_id, "2")
    wrong = shell.type("priority", waiting.run_id, "4")

    assert (done.exit_code, wrong.exit_code) == (0, 2), done.output
    assert "priority changed from 1 to 2" in shell.type("show", waiting.run_id).stdout
