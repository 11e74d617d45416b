"""How the TrainingService tells a person what went wrong, and how few requests it makes."""

import json
import logging
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from aisbench_core.base.errors import AuthFailed, CloudError, CloudUnavailable
from aisbench_core.cloud.modelarts_v2.service import ModelArtsV2
from aisbench_core.config.credentials import Credentials
from aisbench_core.model import Phase
from tests.contract.answering import answering
from tests.contract.region import Region, sandbox_region
from tests.contract.test_object_store_troubles import WEB_PAGE, WRONG, text_of
from tests.sandbox_process import SandboxProcess

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


def modelarts(**fault: object) -> dict[str, object]:
    return {"service": "modelarts", "times": 99, **fault}


def service_with(place: Region, access_key: str = "", secret_key: str = "") -> ModelArtsV2:
    keys = place.credentials
    credentials = Credentials.model_validate(
        {"access_key": access_key or keys.access_key, "secret_key": secret_key or keys.secret_key}
    )
    return ModelArtsV2(place.profile, credentials, 5.0)


def service_at(place: Region, endpoint: str) -> ModelArtsV2:
    profile = place.profile.model_copy(update={"modelarts_endpoint": endpoint})
    return ModelArtsV2(profile, place.credentials, 5.0)


# --- what is refused ----------------------------------------------------------------------------------


def test_a_wrong_secret_is_one_sentence_without_a_key(place: Region) -> None:
    with pytest.raises(AuthFailed) as raised:
        service_with(place, secret_key=WRONG).flavors()

    assert raised.value.status == 401
    assert raised.value.code.endswith(".0301")
    assert "check AISBENCH_AK and AISBENCH_SK" in str(raised.value)
    assert "\n" not in str(raised.value)
    assert WRONG not in text_of(raised.value)
    assert place.credentials.access_key.get_secret_value() not in text_of(raised.value)


def test_an_access_key_that_the_cloud_repeats_is_not_repeated(place: Region) -> None:
    said = json.dumps({"error_code": "APIGW.0301", "error_msg": f"get secretKey failed,ak:{WRONG},err:ak not exist"})

    with answering(lambda _asked, _sent: (401, said.encode())) as gateway:
        profile = place.profile.model_copy(update={"modelarts_endpoint": gateway.url})
        credentials = Credentials.model_validate({"access_key": WRONG, "secret_key": WRONG[::-1]})
        with pytest.raises(AuthFailed, match="get secretKey failed,ak:…,err:ak not exist") as raised:
            ModelArtsV2(profile, credentials, 5.0).create(place.job("a", {}))

    assert WRONG not in text_of(raised.value)


def test_a_project_of_somebody_else_is_said(place: Region) -> None:
    profile = place.profile.model_copy(update={"project_id": "another-project"})

    with pytest.raises(AuthFailed, match="check project_id in the profile"):
        ModelArtsV2(profile, place.credentials, 5.0).engines()


# --- what passes --------------------------------------------------------------------------------------


def test_one_hiccup_of_a_read_goes_unnoticed(place: Region, sandbox: SandboxProcess) -> None:
    job = place.create()

    for hiccup in ({"status": 503}, {"drop": "before"}, {"drop": "after"}):
        sandbox.faults(modelarts(**hiccup, times=1))
        assert place.training.detail(job.job_id).job_id == job.job_id
        sandbox.faults(modelarts(**hiccup, times=1))
        assert place.training.find(job.name) is not None


@pytest.mark.parametrize("status", [500, 502, 503, 429])
def test_a_service_in_trouble_is_unavailable(place: Region, sandbox: SandboxProcess, status: int) -> None:
    sandbox.faults(modelarts(status=status, message="come back later"))

    for attempt in (place.training.engines, lambda: place.training.status(["x"], LONG_AGO)):
        with pytest.raises(CloudUnavailable) as raised:
            attempt()
        assert raised.value.status == status


def test_too_many_requests_are_not_answered_with_more(place: Region, sandbox: SandboxProcess) -> None:
    sandbox.faults(modelarts(status=429, code="ModelArts.2799"))

    with pytest.raises(CloudUnavailable, match="too many requests"):
        place.training.find("a")

    assert sum(sandbox.requests()["modelarts"].values()) == 1


def test_a_create_whose_answer_is_lost_is_tried_once_and_can_be_found(place: Region, sandbox: SandboxProcess) -> None:
    request = place.job("contract-lost", {})
    sandbox.faults(modelarts(method="POST", path="training-jobs$", drop="after"))

    with pytest.raises(CloudUnavailable, match=r"the connection to .* failed"):
        place.training.create(request)

    assert sandbox.requests()["modelarts"]["POST training-jobs"] == 1
    found = place.training.find("contract-lost")
    assert found is not None


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_an_answer_that_takes_too_long_is_unavailable(sandbox: SandboxProcess, method: str) -> None:
    place = sandbox_region(sandbox, request_seconds=0.3)
    sandbox.faults(modelarts(method=method, delay_s=60))
    attempt = place.training.flavors if method == "GET" else lambda: place.training.find("a")
    begun = time.monotonic()

    with pytest.raises(CloudUnavailable, match="no answer in time"):
        attempt()

    assert time.monotonic() - begun < 30
    assert sum(sandbox.requests()["modelarts"].values()) == 1


def test_a_web_page_is_shortened_to_a_sentence(place: Region, sandbox: SandboxProcess) -> None:
    for status in (200, 502):
        sandbox.faults(modelarts(status=status, body=WEB_PAGE))

        with pytest.raises(CloudUnavailable, match='a web page titled "502 Bad Gateway"') as raised:
            place.training.find("a")

        assert len(str(raised.value)) < 400


@pytest.mark.parametrize(
    "reply",
    [
        {"items": [{"metadata": 5}]},
        {"items": [{"status": {}}]},
        {"items": [{"metadata": {"id": "a", "name": "b", "create_time": "yesterday"}}]},
        {"items": [{"metadata": {"id": "a", "name": "b"}, "spec": {"resource": {"node_count": "many"}}}]},
        {"items": [{"metadata": {"id": "a", "name": "b", "create_time": 10**40}}]},
        {"items": 5},
        [],
        "text",
    ],
)
def test_a_reply_of_another_form_is_never_taken_for_an_empty_list(
    place: Region, sandbox: SandboxProcess, reply: Any
) -> None:
    sandbox.faults(modelarts(status=200, body=json.dumps(reply)))

    with pytest.raises(CloudUnavailable, match="sent an unexpected answer"):
        place.training.status(["a"], LONG_AGO)


def test_nobody_at_the_address_is_said_with_the_address(place: Region) -> None:
    with answering(lambda _asked, _sent: (200, b"")) as gone:
        pass

    with pytest.raises(
        CloudUnavailable, match=f"ModelArts at {gone.url} cannot be reached: nothing is listening there"
    ):
        service_at(place, gone.url).engines()


def test_an_address_that_does_not_exist_is_said(place: Region) -> None:
    with pytest.raises(CloudUnavailable, match="the name is unknown"):
        service_at(place, "https://modelarts.nowhere.invalid").engines()


def test_a_proxy_does_not_come_between_this_machine_and_itself(place: Region, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")

    assert place.training.engines()
    assert service_at(place, place.profile.training_endpoint.replace("127.0.0.1", "localhost")).engines()


def test_a_real_region_is_reached_through_the_proxy(place: Region, monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(lambda _asked, _sent: (403, b"")) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        with pytest.raises(CloudUnavailable, match="the proxy refused the connection"):
            service_at(place, "https://modelarts.nowhere.invalid").engines()

    assert set(proxy.asked) == {"CONNECT modelarts.nowhere.invalid:443"}


def test_the_sdk_keeps_quiet(
    place: Region, sandbox: SandboxProcess, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    sandbox.faults(modelarts(drop="before"))

    with pytest.raises(CloudError):
        place.training.engines()

    assert capfd.readouterr() == ("", "")
    assert place.credentials.access_key.get_secret_value() not in caplog.text


# --- the list -----------------------------------------------------------------------------------------


def test_two_hundred_jobs_are_looked_at_by_five_requests_at_most(place: Region, sandbox: SandboxProcess) -> None:
    sandbox.script(by="hold")
    begun = datetime.now(UTC)
    request = place.job("contract", {})
    ids = [place.training.create(replace(request, name=f"contract-{number}")).job_id for number in range(200)]

    for most in (5, 4):  # the first list finds out how the region counts its pages
        sandbox.forget_requests()
        found = place.training.status(ids, begun)
        assert found.keys() == set(ids)
        assert sandbox.requests()["modelarts"] == {"POST training-job-searches": most}


def test_a_job_behind_very_many_younger_ones_is_left_out(place: Region, sandbox: SandboxProcess) -> None:
    begun = datetime.now(UTC)
    request = place.job("contract", {})
    old = place.training.create(request).job_id
    for number in range(250):
        place.training.create(replace(request, name=f"contract-{number}"))
    sandbox.forget_requests()

    found = place.training.status([old], begun)

    assert found == {}
    assert sandbox.requests()["modelarts"]["POST training-job-searches"] <= 5
    assert place.training.detail(old).job_id == old


def test_the_list_is_read_no_further_than_the_oldest_job_can_be(place: Region, sandbox: SandboxProcess) -> None:
    request = place.job("contract", {})
    for number in range(60):
        place.training.create(replace(request, name=f"contract-{number}"))
    sandbox.forget_requests()

    found = place.training.status(["not-there"], datetime.now(UTC) + timedelta(hours=1))

    assert found == {}
    assert sandbox.requests()["modelarts"] == {"POST training-job-searches": 1}


@pytest.mark.parametrize("counts", ["pages", "jobs"])
def test_a_list_is_read_whichever_way_the_region_counts_its_pages(place: Region, counts: str) -> None:
    made = int(datetime.now(UTC).timestamp() * 1000)
    jobs = [
        {"metadata": {"id": f"id-{number}", "name": f"name-{number}", "create_time": made}} for number in range(230)
    ]
    ids = {f"id-{number}" for number in range(230)}

    def list_jobs(_asked: str, sent: Any) -> tuple[int, bytes]:
        start = sent["offset"] * (sent["limit"] if counts == "pages" else 1)
        return 200, json.dumps({"items": jobs[start : start + sent["limit"]]}).encode()

    with answering(list_jobs) as region:
        training = service_at(place, region.url)
        found = training.status(ids, LONG_AGO)
        region.asked.clear()
        again = training.status(ids, LONG_AGO)
        last = training.find("name-229")

    assert found.keys() == again.keys() == ids
    assert last is not None
    assert last.job_id == "id-229"
    assert len(region.asked) == 5 + 5


# --- what a job goes through --------------------------------------------------------------------------


def test_a_job_runs_and_ends_and_tells_of_it(place: Region, sandbox: SandboxProcess) -> None:
    sandbox.script(by="look", log="line one\nline two\n", exit_code=3, message="out of memory")
    job = place.create()

    seen = [place.training.detail(job.job_id) for _ in range(4)]

    last = seen[-1]
    assert last.phase == Phase.FAILED
    assert (last.has_ended, last.succeeded) == (True, False)
    assert last.message == "worker-0: out of memory"
    assert [(task.task, task.exit_code) for task in last.task_statuses] == [("worker-0", 3)]
    assert last.started_at is not None
    assert last.started_at.tzinfo is UTC
    assert last.duration_s is not None
    assert last.duration_s < 60
    log = place.objects.read(place.training.log_paths(last, place.path("log/"))[0]).decode()
    assert log.endswith("line one\nline two\n")
