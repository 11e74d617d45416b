"""The older API through the package `modelarts` (`api: sdk-v1`): what it asks is what our own requests ask."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from aisbench_core.base.errors import AuthFailed, CloudRejected
from aisbench_core.cloud.modelarts_package.sdk_v1_calls import SdkV1Calls
from aisbench_core.cloud.modelarts_v1.service import ModelArtsV1
from aisbench_core.config.credentials import Credentials
from aisbench_core.model import Api, Channel, JobRequest, Phase, Volume
from tests.contract.region import Region, sdk_region
from tests.contract.test_training_service_sdk_troubles import venv_with
from tests.legacy_client import LegacyClient
from tests.sandbox_process import SandboxProcess

open_package = partial(ModelArtsV1, open_calls=SdkV1Calls)


@pytest.fixture
def place(sandbox: SandboxProcess, sdk_venv: Path) -> Region:
    sandbox.script(by="hold")
    return sdk_region(sandbox, sdk_venv, api=Api.SDK_V1)


def elsewhere(request: JobRequest, directory: str) -> JobRequest:
    return replace(request, outputs=(Channel(name="train_url", path=directory),))


def told(sandbox: SandboxProcess, job_id: str) -> dict[str, Any]:
    """What the region was asked to run, but for what tells two jobs apart."""
    job, version = job_id.split("/")
    answer = LegacyClient(sandbox).ask("GET", f"training-jobs/{job}/versions/{version}")
    own = {"job_id", "job_name", "version_id", "resource_id", "create_time", "start_time", "duration", "status"}
    return {name: value for name, value in answer.items() if name not in own}


def test_a_job_is_the_same_whether_the_package_asks_for_it_or_the_api_is_asked(
    place: Region, sandbox: SandboxProcess
) -> None:
    request = place.job("by-package", {"epochs": "3"})
    share = Volume(server_path="192.168.0.8:/", local_path="/mnt/share")
    request = replace(request, spec=request.spec.model_copy(update={"node_count": 2, "volumes": (share,)}))
    by_api = ModelArtsV1(place.profile, place.credentials, 20.0).create(replace(request, name="by-api"))

    by_package = place.training.create(elsewhere(request, place.path("other/")))

    asked = {**told(sandbox, by_api.job_id), "train_url": place.path("other/")}
    assert told(sandbox, by_package.job_id) == asked
    assert by_package.node_count == 2


def test_the_name_of_a_job_gets_its_next_version_and_the_same_request_none(
    place: Region, sandbox: SandboxProcess
) -> None:
    first = place.create("resnet")

    second = place.training.create(elsewhere(place.job("resnet", {}), place.path("out/resnet/V2/")))
    again = place.training.create(place.job("resnet", {}))

    assert [job.version for job in place.training.list_by_name("resnet")] == [2, 1]
    assert second.job_id.split("/")[0] == first.job_id.split("/")[0]
    assert again.job_id == first.job_id
    assert LegacyClient(sandbox).names() == ["resnet"]


def test_one_version_is_deleted_and_the_last_one_takes_the_job_with_it(place: Region, sandbox: SandboxProcess) -> None:
    first = place.create("resnet")
    second = place.training.create(elsewhere(place.job("resnet", {}), place.path("out/resnet/V2/")))
    for job in (second, first):
        place.training.stop(job.job_id)

    place.training.delete(second.job_id)
    kept = [job.job_id for job in place.training.list_by_name("resnet")]
    place.training.delete(first.job_id)

    assert kept == [first.job_id]
    assert LegacyClient(sandbox).names() == []


def test_a_job_runs_and_ends_and_its_logs_are_where_it_says(place: Region, sandbox: SandboxProcess) -> None:
    sandbox.script(by="look", log="line one\nline two\n", exit_code=3)
    job = place.create("resnet")

    last = [place.training.detail(job.job_id) for _ in range(4)][-1]

    (path,) = place.training.log_paths(last, place.path("log/")).values()
    assert (last.phase, last.secondary_phase) == (Phase.FAILED, "FAILED")
    assert place.objects.read(path).endswith(b"line one\nline two\n")


def test_an_engine_that_the_region_does_not_offer_is_refused_before_anything_is_made(
    place: Region, sandbox: SandboxProcess
) -> None:
    request = place.job("resnet", {})
    spec = request.spec.model_copy(update={"engine_version": "mindspore_99"})
    sandbox.forget_requests()

    with pytest.raises(CloudRejected, match="there is no Ascend-Powered-Engine mindspore_99; offered: Ascend-Powered"):
        place.training.create(replace(request, spec=spec))

    assert not [asked for asked in sandbox.requests()["modelarts"] if asked.startswith("POST")]


def test_a_wrong_secret_is_one_sentence_without_a_key(place: Region) -> None:
    access_key = place.credentials.access_key.get_secret_value()
    keys = Credentials.model_validate({"access_key": access_key, "secret_key": "wrong-secret-key"})

    with pytest.raises(AuthFailed, match="check AISBENCH_AK and AISBENCH_SK") as raised:
        open_package(place.profile, keys, 20.0).flavors()

    assert access_key not in str(raised.value)


def test_a_wheel_from_before_the_newer_api_will_do(place: Region, tmp_path: Path) -> None:
    job = place.create("resnet")
    venv = venv_with(tmp_path, estimatorV2="", train_params="")
    training = open_package(place.profile.model_copy(update={"sdk_venv": str(venv)}), place.credentials, 20.0)

    found = training.find("resnet")
    assert found is not None
    assert found.job_id == job.job_id
