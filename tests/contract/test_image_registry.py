"""SWR as the sandbox answers for it: what a tag names, and that it can be moved."""

import pytest

from aisbench_core.base.errors import CloudNotFound, CloudRejected, ConfigError
from aisbench_core.cloud.swr.registry import SwrRegistry
from aisbench_core.config.credentials import find_credentials
from aisbench_core.config.settings import Profile, Settings
from tests.sandbox_process import SandboxProcess


@pytest.fixture
def profile(sandbox: SandboxProcess) -> Profile:
    return Profile.model_validate({"name": "lab", **sandbox.profile})


@pytest.fixture
def registry(profile: Profile, sandbox: SandboxProcess) -> SwrRegistry:
    return SwrRegistry(profile, find_credentials(Settings(data_dir=sandbox.data_dir), profile), request_seconds=10)


def test_a_version_is_the_one_of_the_list(registry: SwrRegistry) -> None:
    listed = registry.versions("sandbox-team", "bench/resnet")

    versions = [registry.version("sandbox-team", "bench/resnet", one.tag) for one in listed]

    assert versions == listed
    assert all(version.digest.startswith("sha256:") for version in versions)


def test_a_tag_that_was_moved_names_another_image(registry: SwrRegistry, sandbox: SandboxProcess) -> None:
    before = registry.version("sandbox-team", "bench/resnet", "v2").digest

    pushed = sandbox.push_image("sandbox-team", "bench/resnet", "v2")

    assert registry.version("sandbox-team", "bench/resnet", "v2").digest == pushed != before
    assert registry.version("sandbox-team", "bench/resnet", "v1").digest not in (before, pushed)


@pytest.mark.parametrize(
    "names", [("sandbox-team", "bench/resnet", "v9"), ("sandbox", "nothing", "v1"), ("nobody", "a", "v1")]
)
def test_a_version_that_is_not_there_is_not_found(names: tuple[str, str, str], registry: SwrRegistry) -> None:
    with pytest.raises(CloudNotFound):
        registry.version(*names)


def test_a_refusal_names_what_was_asked_for(registry: SwrRegistry, sandbox: SandboxProcess) -> None:
    sandbox.faults({"service": "modelarts", "path": "/tags/v2", "status": 403, "message": "no permission"})

    with pytest.raises(CloudRejected, match=r"get image sandbox/mindspore:v2.*no permission"):
        registry.version("sandbox", "mindspore", "v2")


def test_without_an_address_nothing_is_asked(profile: Profile, sandbox: SandboxProcess) -> None:
    nowhere = profile.model_copy(update={"swr_endpoint": ""})
    credentials = find_credentials(Settings(data_dir=sandbox.data_dir), profile)
    registry = SwrRegistry(nowhere, credentials, request_seconds=10)

    with pytest.raises(ConfigError, match="does not say where images are kept"):
        registry.version("sandbox", "mindspore", "v2")
