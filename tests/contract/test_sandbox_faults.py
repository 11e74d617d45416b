"""A bad day on request, at both services: half answers, slow answers, wrong clocks, locked keys."""

import time
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

import pytest
import requests
from huaweicloudsdkcore.exceptions.exceptions import ClientRequestException, SdkException
from huaweicloudsdkmodelarts.v1 import JobSearches, ListTrainingJobsRequest, ShowTrainingJobFlavorsRequest

from tests.sandbox_process import SandboxProcess
from tests.signed_requests import SignedRequests
from tests.training_client import TrainingClient, job_body


@pytest.fixture
def client(sandbox: SandboxProcess) -> TrainingClient:
    client = TrainingClient(sandbox)
    client.put("code/train.py", "print('hello')")
    return client


def count_jobs(client: TrainingClient) -> int:
    return int(client.sdk.list_training_jobs(ListTrainingJobsRequest(body=JobSearches())).total)


def list_flavors(client: TrainingClient) -> Any:
    return client.sdk.show_training_job_flavors(ShowTrainingJobFlavorsRequest())


def fetch(url: str) -> requests.Response:
    with requests.Session() as session:
        session.trust_env = False
        return session.get(url, timeout=60)


def signed_url(client: TrainingClient, sandbox: SandboxProcess, key: str) -> str:
    return str(client.obs.createSignedUrl("GET", sandbox.bucket, key, expires=600).signedUrl)


def test_too_many_requests_on_demand(client: TrainingClient, sandbox: SandboxProcess) -> None:
    # Of this call only: a request that an earlier test has given up may still be on its way, and would get the fault.
    sandbox.faults({"service": "modelarts", "path": "training-job-searches", "status": 429})

    with pytest.raises(ClientRequestException) as refused:
        count_jobs(client)

    assert (refused.value.status_code, refused.value.error_code) == (429, "ModelArts.2799")
    assert refused.value.request_id
    assert count_jobs(client) == 0


def test_a_truncated_answer_breaks_off_after_some_bytes(client: TrainingClient, sandbox: SandboxProcess) -> None:
    client.put("data.txt", "x" * 100_000)
    sandbox.faults(
        {"service": "modelarts", "path": "flavors", "truncate": 10},
        {"service": "obs", "path": "data.txt", "truncate": 5_000},
    )

    with pytest.raises((SdkException, requests.RequestException)):
        list_flavors(client)
    with pytest.raises(requests.exceptions.ChunkedEncodingError) as broken:
        fetch(signed_url(client, sandbox, "data.txt"))

    assert "5000 bytes read, 95000 more expected" in str(broken.value)
    assert list_flavors(client).total_count == len(list_flavors(client).flavors) > 0


def test_a_truncated_answer_was_carried_out_all_the_same(client: TrainingClient, sandbox: SandboxProcess) -> None:
    sandbox.faults({"service": "modelarts", "method": "POST", "path": "training-jobs$", "truncate": 100})

    with pytest.raises((SdkException, requests.RequestException)):
        client.create(job_body())

    assert count_jobs(client) == 1


def test_a_slow_body_comes_whole_but_late(client: TrainingClient, sandbox: SandboxProcess) -> None:
    client.put("data.txt", "x" * 1000)
    sandbox.faults({"service": "obs", "body_s": 0.5}, {"service": "modelarts", "body_s": 0.5})

    began = time.monotonic()
    assert client.get("data.txt") == "x" * 1000
    assert time.monotonic() - began >= 0.5
    began = time.monotonic()
    assert list_flavors(client).total_count == len(list_flavors(client).flavors) > 0
    assert time.monotonic() - began >= 0.5


@pytest.mark.parametrize(("off", "side"), [(3600, "older"), (-3600, "newer")])
def test_a_region_whose_clock_is_wrong_refuses_signatures_and_tells_its_time(
    client: TrainingClient, sandbox: SandboxProcess, off: int, side: str
) -> None:
    sandbox.faults({"service": "modelarts", "clock_s": off}, {"service": "obs", "clock_s": off, "times": 3})

    refused = SignedRequests(sandbox).send("GET", "training-job-engines")
    put = client.obs.putContent(sandbox.bucket, "a.txt", "a")

    assert (refused.status_code, refused.json()["error_code"]) == (401, "APIGW.0301")
    assert f"15 minutes {side}" in refused.json()["error_msg"]
    told = parsedate_to_datetime(refused.headers["Date"]) - datetime.now(UTC)
    assert abs(told - timedelta(seconds=off)) < timedelta(seconds=60)
    assert (put.status, put.errorCode) == (403, "RequestTimeTooSkewed")


def test_an_answer_says_the_time_once(client: TrainingClient, sandbox: SandboxProcess) -> None:
    client.put("data.txt", "x")

    for answer in (fetch(f"{sandbox.modelarts_url}/v2/p/pools"), fetch(signed_url(client, sandbox, "data.txt"))):
        assert len(answer.raw.headers.getlist("date")) == 1
        assert abs(parsedate_to_datetime(answer.headers["Date"]) - datetime.now(UTC)) < timedelta(seconds=60)


def test_a_clock_that_is_a_little_wrong_is_borne(client: TrainingClient, sandbox: SandboxProcess) -> None:
    sandbox.faults({"service": "modelarts", "clock_s": 800})

    assert count_jobs(client) == 0


def test_latency_by_route_comes_before_latency_by_service(sandbox: SandboxProcess) -> None:
    routes = [
        {"service": "modelarts", "path": "flavors", "ms": 0},
        {"service": "modelarts", "method": "GET", "path": "engines", "ms": 600},
    ]
    sandbox.admin("PUT", "latency", {"modelarts_ms": 300, "routes": routes})
    asked = SignedRequests(sandbox)

    def seconds(path: str) -> float:
        began = time.monotonic()
        asked.json("GET", path)
        return time.monotonic() - began

    assert seconds("training-job-engines") >= 0.6
    assert seconds("pools") >= 0.3
    assert seconds("training-job-flavors") < seconds("training-job-engines")


def sign_wrongly(sandbox: SandboxProcess) -> requests.Response:
    return SignedRequests(sandbox, (sandbox.keys[0], "wrong")).send("GET", "pools")


def test_an_access_key_is_never_locked_unless_it_was_switched_on(sandbox: SandboxProcess) -> None:
    for _ in range(6):
        assert sign_wrongly(sandbox).status_code == 401

    assert SignedRequests(sandbox).send("GET", "pools").status_code == 200


def test_an_access_key_is_locked_after_five_wrong_signatures_in_a_row(sandbox: SandboxProcess) -> None:
    sandbox.admin("PUT", "lockout", {"enabled": True})
    rightly = SignedRequests(sandbox)
    for _ in range(4):
        assert sign_wrongly(sandbox).status_code == 401
    assert rightly.send("GET", "pools").status_code == 200
    for _ in range(5):
        assert "verify aksk signature" in sign_wrongly(sandbox).json()["error_msg"]

    locked = rightly.send("GET", "pools")

    assert (locked.status_code, locked.json()["error_code"]) == (401, "APIGW.0301")
    assert "locked for 5 minutes" in locked.json()["error_msg"]
    assert "verify" not in sign_wrongly(sandbox).json()["error_msg"]
    sandbox.admin("PUT", "lockout", {"enabled": False})
    assert rightly.send("GET", "pools").status_code == 200


def test_a_job_can_be_over_at_once(client: TrainingClient, sandbox: SandboxProcess) -> None:
    sandbox.script(by="at_once")

    assert client.phase(client.create(job_body()).metadata.id) == "Completed"
