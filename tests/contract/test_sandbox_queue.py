"""Dedicated pools over HTTP: who waits for whom, who gives way, what a faulty node does, what a restart keeps."""

import json
import urllib.error
from pathlib import Path
from typing import Any

import pytest
from huaweicloudsdkcore.exceptions.exceptions import ClientRequestException
from huaweicloudsdkmodelarts.v1 import (
    ChangeTrainingJobDescriptionRequest,
    Filter,
    JobSearches,
    ListTrainingJobEventsRequest,
    ListTrainingJobsRequest,
    ListTrainingJobStagesRequest,
    ListTrainingJobTasksRequest,
    ListWorkloadsRequest,
)

from tests.sandbox_process import SandboxProcess
from tests.training_client import TrainingClient, await_true, job_body

POOL = "pool-bench-0123456789abcdef0123456789abcdef"
WHOLE = "modelarts.pool.visual.8xlarge"


@pytest.fixture
def client(sandbox: SandboxProcess) -> TrainingClient:
    client = TrainingClient(sandbox)
    client.put("code/train.py", "print('hello')")
    plan(sandbox)
    return client


def plan(sandbox: SandboxProcess, nodes: int = 4, **more: Any) -> None:
    sandbox.admin("PUT", "capacity", {"pools": [{"name": POOL, "flavor": WHOLE, "nodes": nodes, **more}]})


def in_pool(name: str, *, nodes: int = 1, flavor: str = WHOLE, retries: int = 0, **policy: Any) -> dict[str, Any]:
    """A request for a job in the pool."""
    body = job_body(name, nodes=nodes, flavor=flavor)
    body["spec"]["resource"]["pool_id"] = POOL
    if policy:
        body["spec"]["schedule_policy"] = policy
    if retries:
        body["metadata"]["annotations"] = {"fault-tolerance/job-retry-num": str(retries)}
    return body


def create(client: TrainingClient, *bodies: dict[str, Any]) -> list[str]:
    return [client.create(body).metadata.id for body in bodies]


def phases(client: TrainingClient, *ids: str) -> list[str]:
    return [client.phase(job_id) for job_id in ids]


def told(client: TrainingClient, job_id: str) -> list[str]:
    request = ListTrainingJobEventsRequest(training_job_id=job_id, order="asc", x_language="en-us")
    return [event.message for event in client.sdk.list_training_job_events(request).events]


def test_fifty_jobs_on_four_nodes_run_by_priority_and_age(client: TrainingClient, sandbox: SandboxProcess) -> None:
    sandbox.script(by="hold")
    bodies = [in_pool(f"job-{number:02}", priority=1 + number % 3) for number in range(50)]
    create(client, *bodies)
    order: list[str] = []

    while len(order) < len(bodies):
        running = all_running(client)
        assert len(running) == min(4, len(bodies) - len(order))
        order += sorted(running)
        for job_id in running.values():
            sandbox.advance(job_id)

    # Those that start in the same moment have no order among them.
    expected = sorted(order, key=lambda name: (-(1 + int(name[4:]) % 3), name))
    assert order == [name for first in range(0, 50, 4) for name in sorted(expected[first : first + 4])]


def all_running(client: TrainingClient) -> dict[str, str]:
    """Ids of running jobs by name."""
    running = Filter(key="phase", operator="in", value=["Running"])
    reply = client.sdk.list_training_jobs(ListTrainingJobsRequest(body=JobSearches(limit=50, filters=[running])))
    return {job.metadata.name: job.metadata.id for job in reply.items}


def test_the_priority_of_a_waiting_job_can_be_changed(client: TrainingClient, sandbox: SandboxProcess) -> None:
    sandbox.script(by="hold")
    first, second, third = create(
        client, in_pool("first", nodes=4), in_pool("second", nodes=4), in_pool("third", nodes=4)
    )
    assert phases(client, first, second, third) == ["Running", "Pending", "Pending"]
    body = {"spec": {"schedule_policy": {"priority": 2}}}
    client.sdk.change_training_job_description(ChangeTrainingJobDescriptionRequest(training_job_id=third, body=body))

    sandbox.advance(first)

    assert phases(client, second, third) == ["Pending", "Running"]


def test_jobs_share_a_node_when_they_take_a_part_of_it(client: TrainingClient, sandbox: SandboxProcess) -> None:
    sandbox.script(by="hold")
    plan(sandbox, nodes=1)
    quarter = "modelarts.pool.visual.2xlarge"

    ids = create(client, *(in_pool(f"quarter-{number}", flavor=quarter) for number in range(5)))

    assert phases(client, *ids) == ["Running"] * 4 + ["Pending"]
    assert client.show(ids[4]).status.secondary_phase == "Queuing"


def test_a_job_of_higher_priority_takes_the_place_of_one_that_is_preemptible(
    client: TrainingClient, sandbox: SandboxProcess
) -> None:
    sandbox.script(by="hold")
    low, firm = create(client, in_pool("low", nodes=2, priority=1, preemptible=True), in_pool("firm", nodes=2))
    assert phases(client, low, firm) == ["Running", "Running"]

    (high,) = create(client, in_pool("high", nodes=2, priority=3))

    await_true(lambda: phases(client, high, low, firm) == ["Running", "Pending", "Running"], "preemption")
    assert "Training job is preempted." in told(client, low)
    (record,) = client.show(low).status.running_records
    assert record.end_reason == "preempted by a job of higher priority"
    sandbox.advance(high)
    assert client.phase(low) == "Running"
    assert len(client.show(low).status.running_records) == 2


def test_a_preempted_job_keeps_its_place_in_the_pools_list(client: TrainingClient, sandbox: SandboxProcess) -> None:
    sandbox.script(by="hold")
    plan(sandbox, nodes=1)
    low, younger = create(client, in_pool("low", priority=1, preemptible=True), in_pool("younger"))
    assert phases(client, low, younger) == ["Running", "Pending"]

    (high,) = create(client, in_pool("high", priority=3))

    await_true(lambda: phases(client, high, low) == ["Running", "Pending"], "preemption")
    listed = client.sdk.list_workloads(ListWorkloadsRequest(pool_name=POOL)).items
    assert {job.job_name: job.pending_position for job in listed} == {"high": 0, "low": 1, "younger": 2}


def test_a_faulty_node_is_isolated_and_the_job_runs_again_elsewhere(
    client: TrainingClient, sandbox: SandboxProcess
) -> None:
    sandbox.script(by="hold")
    plan(sandbox, bad=[0])
    (job_id,) = create(client, in_pool("tolerant", nodes=2, retries=2))

    await_true(lambda: len(client.show(job_id).status.running_records) == 2, "the second running")

    status = client.show(job_id).status
    assert status.phase == "Running"
    first = status.running_records[0]
    assert (first.end_recover, first.end_related_task) == ("job_reschedule_with_taint", "worker-0")
    assert first.recover_records[0].fault_scenario == "node_fault"
    (pool,) = sandbox.admin("GET", "capacity")["pools"]
    assert (pool["bad"], pool["isolated"]) == ([0], [0])
    assert "Training job is restarted." in told(client, job_id)
    tasks = client.sdk.list_training_job_tasks(ListTrainingJobTasksRequest(training_job_id=job_id)).body
    assert {task.schedule_count for task in tasks} == {2}
    stages = client.sdk.list_training_job_stages(ListTrainingJobStagesRequest(training_job_id=job_id))
    assert stages.total_count == 2


def test_the_stages_of_a_waiting_job_say_why_it_waits_until_it_runs(
    client: TrainingClient, sandbox: SandboxProcess
) -> None:
    def reasons() -> list[tuple[str, str]]:
        requests = (ListTrainingJobStagesRequest(training_job_id=job_id) for job_id in ids)
        records = [client.sdk.list_training_job_stages(request).running_records[-1] for request in requests]
        steps = [record.stages[-1].sub_stages[-1] for record in records]
        return [(step.name, step.en_message) for step in steps]

    sandbox.script(by="hold")
    ids = create(client, in_pool("first", nodes=3), in_pool("second", nodes=2), in_pool("third"))
    await_true(lambda: phases(client, *ids) == ["Running", "Pending", "Pending"], "the first job at work")

    waiting = reasons()[1:]
    client.stop(ids[0])
    await_true(lambda: phases(client, *ids[1:]) == ["Running", "Running"], "the others at work")

    assert waiting == [
        ("insufficient_resources", "Insufficient resources: nodes needed 2, free 1 of 4."),
        ("waiting_for_jobs", "Waiting in the queue. Jobs before this one: 1."),
    ]
    assert {name for name, _ in reasons()[1:]} == {"running"}


def test_without_fault_tolerance_a_faulty_node_fails_the_job_and_stays(
    client: TrainingClient, sandbox: SandboxProcess
) -> None:
    plan(sandbox, bad=[0])
    (job_id,) = create(client, in_pool("careless"))

    job = client.wait(job_id)

    (end,) = job.status.task_statuses
    assert (job.status.phase, end.exit_code, end.message) == ("Failed", 137, "the node is faulty")
    assert sandbox.admin("GET", "capacity")["pools"][0]["isolated"] == []


def test_a_job_that_was_issued_again_comes_first_and_gives_up_when_nodes_stay_short(
    client: TrainingClient, sandbox: SandboxProcess
) -> None:
    sandbox.script(by="hold")
    plan(sandbox, nodes=2, bad=[1])
    (wide,) = create(client, in_pool("wide", nodes=2, retries=1))
    client.phase(wide)
    (small,) = create(client, in_pool("small", priority=3))
    assert phases(client, wide, small) == ["Pending", "Pending"]

    sandbox.admin("PUT", "capacity", {**sandbox.admin("GET", "capacity"), "requeue_s": 0.001})

    assert phases(client, wide, small) == ["Failed", "Running"]
    assert told(client, wide)[-1] == "Training job failed to queue: it waited longer than 0.001 s after its restart."


def test_scripted_jobs_fail_and_are_restarted_as_their_annotations_say(
    client: TrainingClient, sandbox: SandboxProcess
) -> None:
    sandbox.script(exit_code=3)
    body = in_pool("stubborn", retries=1)
    body["metadata"]["annotations"]["fault-tolerance/job-unconditional-retry"] = "true"

    job = client.wait(client.create(body).metadata.id)

    assert (job.status.phase, job.status.task_statuses[0].exit_code) == ("Failed", 3)
    assert [record.end_recover for record in job.status.running_records] == ["job_reschedule", None]


def test_the_next_public_nodes_can_be_bad(client: TrainingClient, sandbox: SandboxProcess) -> None:
    sandbox.admin("PUT", "capacity", {"bad_public_nodes": 1})
    careless, lucky = create(client, job_body("careless"), job_body("lucky"))

    assert [client.wait(job_id).status.phase for job_id in (careless, lucky)] == ["Failed", "Completed"]


@pytest.mark.parametrize("retries", ["0", "129", "many", ""])
def test_the_number_of_restarts_is_checked_at_creation_and_at_every_change(
    client: TrainingClient, retries: str
) -> None:
    annotation = {"fault-tolerance/job-retry-num": retries}
    body = in_pool("job")
    (job_id,) = create(client, in_pool("other"))
    body["metadata"]["annotations"] = annotation
    change = ChangeTrainingJobDescriptionRequest(training_job_id=job_id, body={"metadata": {"annotation": annotation}})

    with pytest.raises(ClientRequestException, match=r"ModelArts\.2788"):
        client.create(body)
    with pytest.raises(ClientRequestException, match=r"ModelArts\.2788"):
        client.sdk.change_training_job_description(change)
    assert client.phase(job_id) == "Pending"


def test_the_queue_survives_the_sandbox(client: TrainingClient, sandbox: SandboxProcess) -> None:
    sandbox.script(by="hold")
    plan(sandbox, nodes=1, bad=[])
    (first,) = create(client, in_pool("first"))
    client.phase(first)
    low, high = create(client, in_pool("low"), in_pool("high", priority=2))
    assert phases(client, first, low, high) == ["Running", "Pending", "Pending"]

    sandbox.restart()

    sandbox.advance(first)
    assert phases(client, first, low, high) == ["Completed", "Pending", "Running"]
    assert sandbox.admin("GET", "capacity")["pools"][0]["nodes"] == 1


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (in_pool("a", nodes=5), "ModelArts.2815"),
        (in_pool("a", flavor="modelarts.pool.visual.16xlarge"), "ModelArts.2763"),
        (in_pool("a", flavor="modelarts.kat1.8xlarge"), "ModelArts.2763"),
    ],
)
def test_a_job_that_the_pool_can_never_run_is_refused(client: TrainingClient, body: dict[str, Any], code: str) -> None:
    with pytest.raises(ClientRequestException) as refused:
        client.create(body)

    assert refused.value.error_code == code


def test_a_plan_that_makes_no_sense_is_refused_and_the_old_one_stays(sandbox: SandboxProcess) -> None:
    plan(sandbox)

    with pytest.raises(urllib.error.HTTPError) as refused:
        plan(sandbox, nodes=-1)

    assert refused.value.code == 422
    refused.value.close()
    assert sandbox.admin("GET", "capacity")["pools"][0]["nodes"] == 4


def test_a_sandbox_can_start_with_a_plan(tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    file.write_text(json.dumps({"pools": [{"name": POOL, "flavor": WHOLE, "nodes": 3}]}))

    sandbox = SandboxProcess.start(tmp_path / "sandbox", arguments=("--capacity", str(file)))

    shown = sandbox.admin("GET", "capacity")
    sandbox.stop()
    assert [(pool["name"], pool["nodes"]) for pool in shown["pools"]] == [(POOL, 3)]
