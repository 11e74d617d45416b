"""Really running jobs that are restarted, preempted, lost and found hanging."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from huaweicloudsdkmodelarts.v1 import ListTrainingJobEventsRequest, ShowTrainingJobMetricsRequest

from tests.sandbox_process import SandboxProcess, processes_of
from tests.training_client import TrainingClient, await_true, job_body

POOL = "pool-life"
NODE = "modelarts.pool.visual.xlarge"
FOREVER = "import time\nprint('started', flush=True)\ntime.sleep(600)\n"


@pytest.fixture(scope="module")
def pool_sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SandboxProcess]:
    """It ends processes quickly."""
    process = SandboxProcess.start(tmp_path_factory.mktemp("pool"), "subprocess", ("--grace", "1"))
    yield process
    process.stop()


@pytest.fixture
def client(pool_sandbox: SandboxProcess) -> Iterator[TrainingClient]:
    pool_sandbox.reset()
    yield TrainingClient(pool_sandbox)
    pool_sandbox.reset()


def plan(sandbox: SandboxProcess, nodes: int = 2, hang_s: float = 1800.0, **more: Any) -> None:
    pool = {"name": POOL, "flavor": NODE, "nodes": nodes, **more}
    sandbox.admin("PUT", "capacity", {"pools": [pool], "hang_s": hang_s})


def in_pool(name: str = "a-job", *options: str, nodes: int = 1, retries: int = 0, **policy: Any) -> dict[str, Any]:
    """A request for a job in the pool, with options of fault tolerance."""
    body = job_body(name, nodes=nodes, flavor=NODE)
    body["spec"]["resource"]["pool_id"] = POOL
    if policy:
        body["spec"]["schedule_policy"] = policy
    annotations = {f"fault-tolerance/{option}": "true" for option in options}
    if retries:
        annotations["fault-tolerance/job-retry-num"] = str(retries)
    body["metadata"]["annotations"] = annotations
    return body


def quick(body: dict[str, Any]) -> dict[str, Any]:
    """The same request for other code."""
    body["algorithm"] |= {"code_dir": "/sandbox-bench/quick/", "boot_file": "/sandbox-bench/quick/train.py"}
    return body


def told(client: TrainingClient, job_id: str) -> list[str]:
    request = ListTrainingJobEventsRequest(training_job_id=job_id, order="asc", x_language="en-us", limit=100)
    return [event.message for event in client.sdk.list_training_job_events(request).events]


def runs(client: TrainingClient, job_id: str) -> int:
    return len(client.show(job_id).status.running_records)


def test_twenty_jobs_on_four_nodes_run_by_priority_and_age(
    client: TrainingClient, pool_sandbox: SandboxProcess
) -> None:
    plan(pool_sandbox, nodes=4)
    client.put("code/train.py", FOREVER)
    client.put("quick/train.py", "")
    blocking = client.create(in_pool("blocking", nodes=4)).metadata.id
    bodies = [quick(in_pool(f"job-{number:02}", priority=1 + number % 3)) for number in range(20)]
    ids = [client.create(body).metadata.id for body in bodies]

    client.stop(blocking)

    jobs = [client.wait(job_id) for job_id in ids]
    assert {job.status.phase for job in jobs} == {"Completed"}
    started = [job.metadata.name for job in sorted(jobs, key=lambda job: job.status.start_time)]
    in_line = sorted(started, key=lambda name: (-(1 + int(name[4:]) % 3), name))
    # Those that start in the same millisecond have no order among them, and at most four start at once.
    assert all(abs(started.index(name) - place) < 4 for place, name in enumerate(in_line))


def test_a_job_that_fails_is_run_again_from_its_code_if_it_wants_that_unconditionally(
    client: TrainingClient, pool_sandbox: SandboxProcess
) -> None:
    plan(pool_sandbox)
    client.put("code/train.py", "import os, sys\nprint('tried', flush=True)\nsys.exit(5)\n")

    job = client.wait(client.create(in_pool("stubborn", "job-unconditional-retry", retries=2)).metadata.id)

    assert (job.status.phase, job.status.task_statuses[0].exit_code) == ("Failed", 5)
    records = job.status.running_records
    assert [(record.end_reason, record.end_recover) for record in records] == [
        ("exit with 5", "job_reschedule"),
        ("exit with 5", "job_reschedule"),
        ("exit with 5", None),
    ]
    assert client.log(job.metadata.id).count("tried") == 3
    assert told(client, job.metadata.id).count("Training job is restarted.") == 2


def test_a_faulty_node_is_found_by_the_environment_check_and_the_job_runs_elsewhere(
    client: TrainingClient, pool_sandbox: SandboxProcess
) -> None:
    plan(pool_sandbox, nodes=3, bad=[1])
    client.put("code/train.py", "")

    job = client.wait(client.create(in_pool("tolerant", nodes=2, retries=1)).metadata.id)

    assert job.status.phase == "Completed"
    messages = told(client, job.metadata.id)
    checks = [message for message in messages if "heck" in message and "[worker-1]" in message]
    assert checks[0] == "[worker-1] Checking the training environment."
    assert checks[1].endswith("Check failed. Error found: the node is faulty")
    assert checks[3].endswith("Environment check finished.")
    assert pool_sandbox.admin("GET", "capacity")["pools"][0]["isolated"] == [1]
    assert "item: disk-size root" in client.log(job.metadata.id)


def test_a_node_that_breaks_under_a_running_job_ends_its_processes_and_moves_it(
    client: TrainingClient, pool_sandbox: SandboxProcess
) -> None:
    plan(pool_sandbox)
    client.put("code/train.py", FOREVER)
    job_id = client.create(in_pool(retries=1)).metadata.id
    await_true(lambda: "started" in client.log(job_id), "the job at work")
    before = processes_of(job_id)

    plan(pool_sandbox, bad=[0])

    await_true(lambda: runs(client, job_id) == 2, "the second running")
    await_true(lambda: client.log(job_id).count("started") == 2, "the job at work again")
    assert set(before).isdisjoint(processes_of(job_id))
    client.stop(job_id)
    client.wait(job_id)


def test_a_job_that_does_nothing_is_suspected_and_restarted_if_it_wants_that(
    client: TrainingClient, pool_sandbox: SandboxProcess
) -> None:
    plan(pool_sandbox, hang_s=1.0)
    client.put("code/train.py", FOREVER)
    patient, impatient = (
        client.create(in_pool(name, *options, retries=1)).metadata.id
        for name, options in (("patient", ()), ("impatient", ("hang-retry",)))
    )

    suspected = "The job is suspected to be suspended. Go to the job details page to check and handle it."
    await_true(lambda: told(client, patient).count(suspected) == 1, "the suspicion")
    await_true(lambda: runs(client, impatient) == 2, "the second running")

    assert client.phase(patient) == "Running"
    record = client.show(impatient).status.running_records[0]
    assert record.recover_records[0].fault_scenario == "job_hanged"
    assert processes_of(patient) != []
    await_true(lambda: "suspected to hang" in client.log(patient), "the log that says so")


def test_a_job_that_computes_is_not_suspected(client: TrainingClient, pool_sandbox: SandboxProcess) -> None:
    plan(pool_sandbox, hang_s=2.0)
    client.put("code/train.py", "import time\nend = time.time() + 3.2\nwhile time.time() < end: pass\n")

    job = client.wait(client.create(in_pool()).metadata.id)

    assert not any("suspected" in message for message in told(client, job.metadata.id))


def test_a_job_that_writes_now_and_then_is_not_suspected(client: TrainingClient, pool_sandbox: SandboxProcess) -> None:
    plan(pool_sandbox, hang_s=2.0)
    client.put("code/train.py", "import time\nfor _ in range(8):\n    print('.', flush=True)\n    time.sleep(0.4)\n")

    job = client.wait(client.create(in_pool()).metadata.id)

    assert not any("suspected" in message for message in told(client, job.metadata.id))


def test_a_preempted_job_ends_all_its_processes_and_runs_again_later(
    client: TrainingClient, pool_sandbox: SandboxProcess
) -> None:
    plan(pool_sandbox, nodes=1)
    client.put("code/train.py", FOREVER)
    client.put("quick/train.py", "")
    low = client.create(in_pool("low", preemptible=True)).metadata.id
    await_true(lambda: "started" in client.log(low), "the job at work")

    high_id = client.create(quick(in_pool("high", priority=2))).metadata.id

    assert client.wait(high_id).status.phase == "Completed"
    await_true(lambda: client.log(low).count("started") == 2, "the first job at work again")
    messages = [message for message in told(client, low) if message.startswith("Training job")]
    assert messages == [
        "Training job is created.",
        "Training job is queued and waiting for resource allocation.",
        "Training job is running.",
        "Training job is preempted.",
        "Training job is queued and waiting for resource allocation.",
        "Training job is running.",
    ]
    status = client.show(low).status
    assert len(status.node_count_metrics) == 4


@pytest.mark.parametrize("end", [SandboxProcess.kill, SandboxProcess.stop])
def test_after_the_sandbox_ended_a_job_that_tolerates_faults_runs_again_and_the_queue_keeps_its_order(
    client: TrainingClient, pool_sandbox: SandboxProcess, end: Callable[[SandboxProcess], object]
) -> None:
    plan(pool_sandbox, nodes=1)
    client.put("code/train.py", FOREVER)
    tolerant = client.create(in_pool("tolerant", retries=1)).metadata.id
    second = client.create(in_pool("second")).metadata.id
    third = client.create(in_pool("third", priority=3)).metadata.id
    await_true(lambda: "started" in client.log(tolerant), "the job at work")

    end(pool_sandbox)
    pool_sandbox.resume()

    await_true(lambda: client.log(tolerant).count("started") == 2, "the job at work again")
    assert client.show(tolerant).status.running_records[0].end_reason == "the sandbox stopped while the job was running"
    client.stop(tolerant)
    await_true(lambda: client.phase(third) == "Running", "the job of the highest priority")
    assert client.phase(second) == "Pending"


def test_measurements_go_on_when_a_job_runs_again(client: TrainingClient, pool_sandbox: SandboxProcess) -> None:
    plan(pool_sandbox)
    client.put(
        "code/train.py", "import sys, time\nend = time.time() + 0.6\nwhile time.time() < end: pass\nsys.exit(1)\n"
    )

    job = client.wait(client.create(in_pool("again", "job-unconditional-retry", retries=1)).metadata.id)

    request = ShowTrainingJobMetricsRequest(training_job_id=job.metadata.id, task_id="worker-0")
    metrics = {metric.metric: metric.value for metric in client.sdk.show_training_job_metrics(request).metrics}
    assert 1 <= len(metrics["cpuUsage"]) <= 2
    assert metrics["cpuUsage"][0] > 0
