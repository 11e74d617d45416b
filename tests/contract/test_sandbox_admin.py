"""The admin side: what is counted, what goes wrong on request, and who may ask."""

import time
import urllib.error

import pytest
import requests
from huaweicloudsdkcore.exceptions.exceptions import (
    ClientRequestException,
    ConnectionException,
    ServerResponseException,
)
from huaweicloudsdkmodelarts.v1 import JobSearches, ListTrainingJobsRequest, ShowTrainingJobFlavorsRequest

from tests.sandbox_process import SandboxProcess
from tests.training_client import TrainingClient, job_body


@pytest.fixture
def client(sandbox: SandboxProcess) -> TrainingClient:
    client = TrainingClient(sandbox)
    client.put("code/train.py", "print('hello')")
    return client


def count_jobs(client: TrainingClient) -> int:
    return int(client.sdk.list_training_jobs(ListTrainingJobsRequest(body=JobSearches())).total)


def test_requests_are_counted_by_what_they_ask(client: TrainingClient, sandbox: SandboxProcess) -> None:
    sandbox.forget_requests()

    job_id = client.create(job_body()).metadata.id
    client.show(job_id)
    client.show(job_id)
    count_jobs(client)
    client.get("code/train.py")
    client.keys("code/")

    counts = sandbox.requests()
    assert counts["modelarts"] == {
        "POST training-jobs": 1,
        "GET training-jobs/{id}": 2,
        "POST training-job-searches": 1,
    }
    assert counts["obs"] == {"GET": 1, "LIST": 1}


def test_faults_are_given_in_order_and_only_as_often_as_asked(client: TrainingClient, sandbox: SandboxProcess) -> None:
    sandbox.faults(
        {"service": "modelarts", "status": 503, "code": "ModelArts.2950", "message": "busy", "times": 2},
        {"service": "modelarts", "method": "post", "path": "job-searches", "status": 429, "code": "ModelArts.2799"},
    )

    for _ in range(2):
        with pytest.raises(ServerResponseException, match=r"ModelArts\.2950.*busy"):
            count_jobs(client)
    client.sdk.show_training_job_flavors(ShowTrainingJobFlavorsRequest())
    with pytest.raises(ClientRequestException, match=r"ModelArts\.2799"):
        count_jobs(client)
    assert count_jobs(client) == 0
    assert [fault["times"] for fault in sandbox.admin("GET", "faults")] == [0, 0]


def test_an_obs_fault_is_written_as_obs_writes_it(client: TrainingClient, sandbox: SandboxProcess) -> None:
    sandbox.faults({"service": "obs", "method": "PUT", "path": "/out/", "status": 403, "code": "AccessDenied"})

    refused = client.obs.putContent(sandbox.bucket, "out/a.txt", "a" * 100_000)

    assert (refused.status, refused.errorCode) == (403, "AccessDenied")
    assert client.obs.putContent(sandbox.bucket, "out/a.txt", "a").status == 200


def test_a_fault_may_have_any_body(client: TrainingClient, sandbox: SandboxProcess) -> None:
    sandbox.faults(
        {"service": "modelarts", "path": "training-job-searches", "status": 502, "body": "<html>bad gateway</html>"}
    )

    with pytest.raises(ServerResponseException) as refused:
        count_jobs(client)

    assert refused.value.status_code == 502


def test_a_connection_dropped_before_the_request_is_carried_out_changes_nothing(
    client: TrainingClient, sandbox: SandboxProcess
) -> None:
    sandbox.faults({"service": "modelarts", "path": "training-jobs$", "drop": "before"})

    with pytest.raises(ConnectionException):
        client.create(job_body())

    assert count_jobs(client) == 0


def test_a_connection_dropped_after_the_request_was_carried_out_leaves_a_job_nobody_was_told_of(
    client: TrainingClient, sandbox: SandboxProcess
) -> None:
    sandbox.faults({"service": "modelarts", "path": "training-jobs$", "drop": "after"})

    with pytest.raises(ConnectionException):
        client.create(job_body())

    assert count_jobs(client) == 1


def test_a_dropped_connection_is_no_answer_for_obs_clients_either(sandbox: SandboxProcess) -> None:
    sandbox.faults({"service": "obs", "drop": "before"}, {"service": "obs", "drop": "after"})

    for _ in range(2):
        with pytest.raises(requests.ConnectionError):
            requests.put(f"{sandbox.obs_url}/bucket/key", data=b"x" * 100_000, timeout=60)


def test_latency_and_delays_make_requests_wait(client: TrainingClient, sandbox: SandboxProcess) -> None:
    def seconds() -> float:
        began = time.monotonic()
        client.get("code/train.py")
        return time.monotonic() - began

    sandbox.latency(obs_ms=300)
    assert seconds() >= 0.3
    sandbox.latency()
    sandbox.faults({"service": "obs", "delay_s": 0.4})
    assert seconds() >= 0.4
    assert client.get("code/train.py") == "print('hello')"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("faults", [{"service": "iam"}]),
        ("faults", [{"service": "obs", "chance": 0.5}]),
        ("faults", [{"service": "obs", "path": "("}]),
        ("faults", {"service": "obs"}),
        ("latency", {"obs_ms": -1}),
        ("script", {"by": "magic"}),
    ],
)
def test_what_makes_no_sense_is_refused(sandbox: SandboxProcess, path: str, body: object) -> None:
    with pytest.raises(urllib.error.HTTPError) as refused:
        sandbox.admin("PUT", path, body)

    assert refused.value.code == 422
    refused.value.close()


@pytest.mark.parametrize("header", [{"Origin": "http://evil.example"}, {"Host": "evil.example"}])
def test_a_web_page_cannot_use_the_admin_side(sandbox: SandboxProcess, header: dict[str, str]) -> None:
    with pytest.raises(urllib.error.HTTPError) as refused:
        sandbox.admin("POST", "reset", headers=header)

    assert refused.value.code == 403
    refused.value.close()


def test_scripts_decide_how_a_job_ends_and_what_it_leaves(client: TrainingClient, sandbox: SandboxProcess) -> None:
    sandbox.script(exit_code=3, message="out of memory", outputs={"accuracy.json": "nan"}, log="oh no\n")
    job_id = client.create(job_body()).metadata.id
    sandbox.script()

    job = client.wait(job_id)

    (end,) = job.status.task_statuses
    assert (job.status.phase, end.exit_code, end.message) == ("Failed", 3, "out of memory")
    assert client.keys("out/") == ["out/accuracy.json", "out/rehearsal.json"]
    assert client.get("out/accuracy.json") == "nan"
    assert client.log(job_id).endswith("oh no\n")


def test_a_job_that_follows_the_time_is_done_when_its_time_has_passed(
    client: TrainingClient, sandbox: SandboxProcess
) -> None:
    sandbox.script(by="time", seconds_per_phase=0)
    at_once = client.create(job_body("at-once")).metadata.id
    sandbox.script(by="time", seconds_per_phase=3600)
    later = client.create(job_body("later")).metadata.id

    assert [client.phase(at_once), client.phase(later)] == ["Completed", "Creating"]


def test_a_held_job_runs_until_it_is_told_to_go_on(client: TrainingClient, sandbox: SandboxProcess) -> None:
    sandbox.script(by="hold")
    job_id = client.create(job_body()).metadata.id
    assert [client.phase(job_id) for _ in range(3)] == ["Running"] * 3

    sandbox.advance(job_id)

    assert client.phase(job_id) == "Completed"


def test_scripted_jobs_outlive_the_sandbox(client: TrainingClient, sandbox: SandboxProcess) -> None:
    sandbox.script(by="hold")
    job_id = client.create(job_body()).metadata.id
    client.show(job_id)
    address = sandbox.modelarts_url

    sandbox.restart()

    assert sandbox.modelarts_url == address
    assert client.phase(job_id) == "Running"
    assert client.get("code/train.py") == "print('hello')"
