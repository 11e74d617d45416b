"""The older API (v1): how few requests its lists take, and its two ways to say no."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl

import pytest

from aisbench_core.base.errors import AuthFailed, CloudRejected, CloudUnavailable, JobGone
from aisbench_core.cloud.modelarts_v1.service import ModelArtsV1
from aisbench_core.config.credentials import Credentials
from aisbench_core.model import Api
from tests.contract.answering import answering
from tests.contract.region import Region, sandbox_region
from tests.contract.v1_service import LONG_AGO, service_at
from tests.legacy_client import LegacyClient
from tests.sandbox_process import SandboxProcess


@pytest.fixture
def place(sandbox: SandboxProcess) -> Region:
    return sandbox_region(sandbox, api=Api.V1)


# --- the list -----------------------------------------------------------------------------------------


def test_two_hundred_jobs_are_looked_at_by_two_lists_once_they_are_known(place: Region) -> None:
    facts = {"version_id": 1, "status": 7, "create_time": 1764000000123}
    jobs = [{"job_id": number, "job_name": f"j{number}", **facts} for number in range(250)]
    ids = {f"{number}/1" for number in range(200)}

    def tell(asked: str, _sent: Any) -> tuple[int, bytes]:
        path, _, query = asked.split()[1].partition("?")
        if "/versions/" in path:
            return 200, json.dumps({**jobs[int(path.split("/")[-3])], "resource_id": "jobabc"}).encode()
        asked_for = dict(parse_qsl(query))
        page, size = int(asked_for["page"]), int(asked_for["per_page"])
        return 200, json.dumps({"jobs": jobs[(page - 1) * size : page * size]}).encode()

    with answering(tell) as region:
        training = service_at(place, region.url)
        assert training.status(ids, LONG_AGO).keys() == ids
        region.asked.clear()
        found = training.status(ids, LONG_AGO)
        last = training.find("j249")

    assert found.keys() == ids
    assert last is not None
    assert last.job_id == "249/1"
    assert len(region.asked) == 2 + 4


def test_the_list_is_read_no_further_than_the_oldest_job_can_be(place: Region) -> None:
    made = 1_600_000_000_000
    jobs = [
        {"job_id": number, "version_id": 1, "job_name": f"j{number}", "status": 10, "create_time": made}
        for number in range(100)
    ]

    with answering(lambda _asked, _sent: (200, json.dumps({"jobs": jobs}).encode())) as region:
        found = service_at(place, region.url).status(["7000/1"], datetime.now(UTC))

    assert found == {}
    assert len(region.asked) == 1


# --- what is refused ----------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["error_message", "error_msg"])
@pytest.mark.parametrize("status", [200, 400])
def test_a_no_is_a_no_whatever_its_status_says(place: Region, status: int, key: str) -> None:
    said = {"is_success": False, "error_code": "ModelArts.0105", key: "The job is not found."}

    with answering(lambda _asked, _sent: (status, json.dumps(said).encode())) as region:
        training = service_at(place, region.url)
        with pytest.raises(JobGone, match="refused it: The job is not found") as raised:
            training.detail("1/2")

    assert raised.value.code == "ModelArts.0105"


def test_a_wrong_secret_is_one_sentence_without_a_key(place: Region) -> None:
    keys = Credentials.model_validate({"access_key": place.credentials.access_key, "secret_key": "wrong-secret-key"})

    with pytest.raises(AuthFailed, match="check AISBENCH_AK and AISBENCH_SK"):
        ModelArtsV1(place.profile, keys, 5.0).flavors()


def test_an_engine_that_the_region_does_not_offer_is_refused_before_anything_is_made(
    place: Region, sandbox: SandboxProcess
) -> None:
    request = place.job("resnet", {})
    spec = request.spec.model_copy(update={"engine_version": "mindspore_99"})
    sandbox.forget_requests()

    with pytest.raises(CloudRejected, match="there is no Ascend-Powered-Engine mindspore_99; offered: Ascend-Powered"):
        place.training.create(replace(request, spec=spec))

    assert not [asked for asked in sandbox.requests()["modelarts"] if asked.startswith("POST")]


@pytest.mark.parametrize(
    "reply", [{"jobs": [{}]}, {"jobs": [{"job_id": 1, "version_id": 2}]}, {"jobs": 5}, [], "text", None]
)
def test_a_reply_of_another_form_is_never_taken_for_an_empty_list(place: Region, reply: Any) -> None:
    with answering(lambda _asked, _sent: (200, json.dumps(reply).encode())) as region:
        training = service_at(place, region.url)
        with pytest.raises(CloudUnavailable, match="sent an unexpected answer"):
            training.status(["1/2"], LONG_AGO)


def test_a_job_without_a_version_is_waited_for(place: Region, sandbox: SandboxProcess) -> None:
    request = place.job("resnet", {})
    body = {"job_name": "resnet", "config": {"create_version": False}}
    LegacyClient(sandbox).ask("POST", "training-jobs", body)

    with pytest.raises(CloudUnavailable, match="has no version yet"):
        place.training.create(request)

    assert place.training.find("resnet") is None


def test_a_job_that_the_list_shows_is_found_though_its_version_is_not_told_yet(
    place: Region, sandbox: SandboxProcess
) -> None:
    job = place.create("resnet")
    sandbox.faults({"service": "modelarts", "method": "GET", "path": "/versions/", "status": 404, "times": 9})

    found = place.training.find("resnet")

    assert found is not None
    assert found.job_id == job.job_id
