"""The package `modelarts`: missing, old, hanging, or saying no in one of its ways; each becomes one error of ours."""

import json
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from aisbench_core.base.errors import AuthFailed, CloudNotFound, CloudRejected, CloudUnavailable, ConfigError
from aisbench_core.cloud.modelarts_package.service import ModelArtsSdk
from aisbench_core.config.credentials import Credentials
from aisbench_core.config.settings import Profile
from aisbench_core.model import JobStatus
from tests.contract.answering import answering
from tests.contract.region import Region, sdk_region
from tests.contract.sdk_venv import STANDIN, made_venv
from tests.contract.test_object_store_troubles import WEB_PAGE, WRONG, text_of
from tests.contract.v1_service import LONG_AGO
from tests.sandbox_process import SandboxProcess


@pytest.fixture
def place(sandbox: SandboxProcess, sdk_venv: Path) -> Region:
    return sdk_region(sandbox, sdk_venv)


def at(place: Region, endpoint: str, seconds: float = 20.0) -> ModelArtsSdk:
    profile = place.profile.model_copy(update={"modelarts_endpoint": endpoint})
    return ModelArtsSdk(profile, place.credentials, seconds)


def venv_with(folder: Path, **changes: str) -> Path:
    """A package with these files changed, in an environment of its own; an empty text removes one."""
    package = Path(shutil.copytree(STANDIN, folder / "modelarts"))
    for name, text in changes.items():
        file = package / f"{name}.py"
        file.write_text(text, "utf-8") if text else file.unlink()
    return made_venv(folder / "venv", package)


def with_package(place: Region, folder: Path, **changes: str) -> ModelArtsSdk:
    """The adapter on such a package."""
    venv = venv_with(folder, **changes)
    return ModelArtsSdk(place.profile.model_copy(update={"sdk_venv": str(venv)}), place.credentials, 20.0)


# --- the package --------------------------------------------------------------------------------------


def test_a_missing_package_is_said_with_how_to_get_it_and_obs_goes_on_working(place: Region, tmp_path: Path) -> None:
    for venv, where in ((str(tmp_path), str(tmp_path)), ("", "the console's own environment")):
        profile = place.profile.model_copy(update={"sdk_venv": venv})
        training = ModelArtsSdk(profile, place.credentials, 5.0)

        with pytest.raises(ConfigError, match="needs the package modelarts") as raised:
            training.find("a")

        assert where in raised.value.message
        assert "modelarts-latest-py2.py3-none-any.whl" in raised.value.hint
        assert training.log_paths(JobStatus("j", "j", "Running"), "/b/log/") == {
            0: "/b/log/modelarts-job-j-worker-0.log"
        }


def test_a_package_that_cannot_be_loaded_says_why(place: Region, tmp_path: Path) -> None:
    training = with_package(place, tmp_path, session="import mxnet_model_server\n")

    with pytest.raises(ConfigError, match="cannot be loaded: No module named 'mxnet_model_server'"):
        training.engines()


def test_an_old_package_without_metrics_tells_none(place: Region, tmp_path: Path) -> None:
    old = (STANDIN / "estimatorV2.py").read_text("utf-8")
    old = old.replace("def get_job_metrics", "def _metrics")
    training = with_package(place, tmp_path, estimatorV2=old)

    assert training.metrics("a", "worker-0", LONG_AGO) == ()


def test_a_package_with_other_arguments_is_refused_before_anything_is_made(
    place: Region, sandbox: SandboxProcess, tmp_path: Path
) -> None:
    old = (STANDIN / "estimatorV2.py").read_text("utf-8").replace("env_variables", "environment")
    training = with_package(place, tmp_path, estimatorV2=old)
    request = place.job("a", {})
    sandbox.forget_requests()

    with pytest.raises(CloudRejected, match=r"differs from its documentation: .*'env_variables'") as raised:
        training.create(request)

    assert "set api: v2" in raised.value.hint
    assert sandbox.requests()["modelarts"] == {}


def test_temporary_keys_are_refused_because_the_package_takes_none(place: Region) -> None:
    keys = Credentials.model_validate({"access_key": "a" * 8, "secret_key": "b" * 8, "security_token": "c"})

    with pytest.raises(ConfigError, match="does not support temporary keys"):
        ModelArtsSdk(place.profile, keys, 5.0).engines()


def test_a_python_that_does_not_start_is_named(place: Region, tmp_path: Path) -> None:
    venv = made_venv(tmp_path / "venv")
    (venv / "bin" / "python").unlink()
    profile = place.profile.model_copy(update={"sdk_venv": str(venv)})

    with pytest.raises(ConfigError, match="bin/python cannot be started: No such file"):
        ModelArtsSdk(profile, place.credentials, 5.0).engines()


# --- what is refused ----------------------------------------------------------------------------------


def test_a_wrong_secret_is_one_sentence_without_a_key(place: Region) -> None:
    access_key = place.credentials.access_key.get_secret_value()
    keys = Credentials.model_validate({"access_key": access_key, "secret_key": WRONG})

    with pytest.raises(AuthFailed, match="check AISBENCH_AK and AISBENCH_SK") as raised:
        ModelArtsSdk(place.profile, keys, 20.0).flavors()

    assert raised.value.status == 401
    assert raised.value.code.endswith(".0301")
    assert "\n" not in str(raised.value)
    assert WRONG not in text_of(raised.value)
    assert access_key not in text_of(raised.value)


def test_a_project_of_somebody_else_is_said(place: Region) -> None:
    profile = place.profile.model_copy(update={"project_id": "another-project"})

    with pytest.raises(AuthFailed, match="check project_id in the profile"):
        ModelArtsSdk(profile, place.credentials, 20.0).engines()


def test_what_the_cloud_refuses_is_said_with_its_code(place: Region) -> None:
    place.create("contract-taken")

    with pytest.raises(CloudRejected, match="choose a different one") as raised:
        place.create("contract-taken")

    assert raised.value.code == "ModelArts.2751"


@pytest.mark.parametrize("said", [{"error_code": "ModelArts.2775", "error_msg": "no job", "error_solution": "-"}])
@pytest.mark.parametrize("status", [200, 400])
def test_a_no_is_a_no_whatever_its_status_says(place: Region, said: dict[str, str], status: int) -> None:
    with (
        answering(lambda _asked, _sent: (status, json.dumps(said).encode())) as region,
        pytest.raises(CloudNotFound, match="refused it: no job"),
    ):
        at(place, region.url).detail("a")


# --- what passes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [500, 502, 503, 429])
def test_a_service_in_trouble_is_unavailable(place: Region, sandbox: SandboxProcess, status: int) -> None:
    sandbox.faults({"service": "modelarts", "times": 9, "status": status, "message": "come back later"})

    for attempt in (place.training.engines, lambda: place.training.status(["x"], LONG_AGO)):
        with pytest.raises(CloudUnavailable):
            attempt()


def test_a_create_whose_answer_is_lost_is_tried_once_and_can_be_found(place: Region, sandbox: SandboxProcess) -> None:
    request = place.job("contract-lost", {})
    sandbox.faults({"service": "modelarts", "method": "POST", "path": "training-jobs$", "drop": "after"})

    with pytest.raises(CloudUnavailable, match=r"the connection to .* failed"):
        place.training.create(request)

    assert sandbox.requests()["modelarts"]["POST training-jobs"] == 1
    assert place.training.find("contract-lost") is not None


def test_a_call_that_hangs_is_given_up_in_time_and_the_next_one_works(sandbox: SandboxProcess, sdk_venv: Path) -> None:
    place = sdk_region(sandbox, sdk_venv, request_seconds=4.0)
    place.training.engines()
    sandbox.faults({"service": "modelarts", "delay_s": 60, "times": 1})
    begun = time.monotonic()

    with pytest.raises(CloudUnavailable, match="no answer in time"):
        place.training.engines()

    assert time.monotonic() - begun < 30
    assert place.training.engines()


def test_a_web_page_is_shortened_to_a_sentence(place: Region, sandbox: SandboxProcess) -> None:
    for status in (200, 502):
        sandbox.faults({"service": "modelarts", "times": 9, "status": status, "body": WEB_PAGE})

        with pytest.raises(CloudUnavailable, match='a web page titled "502 Bad Gateway"') as raised:
            place.training.find("a")

        assert len(str(raised.value)) < 400


@pytest.mark.parametrize(
    "reply", [{"items": [{"metadata": 5}]}, {"items": [{"status": {}}]}, {"items": 5}, [], "text", None]
)
def test_a_reply_of_another_form_is_never_taken_for_an_empty_list(
    place: Region, sandbox: SandboxProcess, reply: Any
) -> None:
    sandbox.faults({"service": "modelarts", "status": 200, "body": json.dumps(reply)})

    with pytest.raises(CloudUnavailable, match="sent an unexpected answer"):
        place.training.status(["a"], LONG_AGO)


def test_nobody_at_the_address_is_said_with_the_address(place: Region) -> None:
    with answering(lambda _asked, _sent: (200, b"")) as gone:
        pass

    with pytest.raises(
        CloudUnavailable, match=f"ModelArts at {gone.url} cannot be reached: nothing is listening there"
    ):
        at(place, gone.url).engines()


def test_what_the_package_raises_of_its_own_is_told_and_gives_no_run_up(place: Region, tmp_path: Path) -> None:
    body = (STANDIN / "estimatorV2.py").read_text("utf-8")
    broken = body.replace('"""The names of the flavors."""', "import sys; sys.exit('no flavors here')")
    training = with_package(place, tmp_path, estimatorV2=broken)

    with pytest.raises(CloudUnavailable, match="SystemExit: no flavors here"):
        training.flavors()

    assert training.engines()


def test_the_public_clouds_addresses_are_the_packages_own(place: Region) -> None:
    elsewhere = {"modelarts_endpoint": "", "region": "nowhere.invalid/"}  # an address that no name server is asked for
    public = Profile.model_validate({**place.profile.model_dump(), **elsewhere})

    with pytest.raises(CloudUnavailable, match="the name is unknown"):
        ModelArtsSdk(public, place.credentials, 20.0).engines()
