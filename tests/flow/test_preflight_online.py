"""Preflight that asks a region: bucket, inputs, outputs, flavors, engines and pools as they really are."""

from pathlib import Path

import pytest

from aisbench_core.authoring.preflight_online import online
from aisbench_core.authoring.workloads import Workloads
from aisbench_core.cloud.modelarts_v2 import ModelArtsV2
from aisbench_core.cloud.obs import ObsStore
from aisbench_core.errors import CloudUnavailable
from aisbench_core.model import Channel, Finding, RunSpec
from aisbench_core.settings import HOME, Profile, Settings, find_credentials
from tests.sandbox_process import SandboxProcess
from tests.unit.good_specs import changed, code_folder, good_spec

WORKLOADS = Workloads(HOME / "workloads")


class Region:
    """The sandbox as preflight asks it."""

    def __init__(self, sandbox: SandboxProcess) -> None:
        settings = Settings(data_dir=sandbox.data_dir.parent)
        self.profile = Profile.model_validate({**sandbox.profile, "name": "sandbox"})
        credentials = find_credentials(settings, self.profile)
        self.objects = ObsStore(self.profile, credentials, transfers=4, request_seconds=10)
        self.training = ModelArtsV2(self.profile, credentials, request_seconds=10)

    def asked(self, spec: RunSpec, profile: Profile | None = None) -> list[Finding]:
        """What the region says against the spec."""
        return online(spec, profile or self.profile, WORKLOADS, self.objects, self.training)

    def path(self, name: str) -> str:
        """A directory in the region's bucket."""
        return f"/{self.profile.bucket}/{name}/"


@pytest.fixture
def region(sandbox: SandboxProcess) -> Region:
    """A region of its own."""
    return Region(sandbox)


@pytest.fixture
def spec(region: Region, tmp_path: Path) -> RunSpec:
    """A spec that the region has nothing against: ResNet-50 with its data set in place."""
    for entry in ("train/n01/1.JPEG", "val/n01/2.JPEG"):
        region.objects.put(region.path("imagenet") + entry, b"jpeg")
    inputs = (Channel(name="data_url", path=region.path("imagenet")),)
    return changed(good_spec(code_folder(tmp_path)), inputs=inputs)


def test_a_region_that_has_everything_says_nothing(region: Region, spec: RunSpec, sandbox: SandboxProcess) -> None:
    sandbox.forget_requests()

    assert region.asked(spec) == []

    assert sandbox.requests()["obs"] == {"LIST": 5}


def test_what_the_spec_names_and_the_region_lacks_is_found(region: Region, spec: RunSpec) -> None:
    missing = changed(
        spec,
        inputs=[{"name": "data_url", "path": region.path("nothing")}, {"name": "more", "path": "/no-such-bucket/x/"}],
        flavor="modelarts.kat9.xlarge",
        engine_version="mindspore_9",
        pool_id="poolc90f063b",
    )

    findings = {(finding.rule, finding.field): finding.message for finding in region.asked(missing)}

    assert list(findings) == [
        ("online.input", "inputs.data_url"),
        ("online.input", "inputs.more"),
        ("online.flavor", "flavor"),
        ("online.engine", "engine_version"),
        ("online.pool", "pool_id"),
    ]
    assert "offered: sandbox.cpu.1card" in findings["online.flavor", "flavor"]
    assert (
        "'mindspore_9' is not offered by sandbox; offered: mindspore_1" in findings["online.engine", "engine_version"]
    )


def test_a_data_set_without_its_parts_is_found(region: Region, spec: RunSpec) -> None:
    region.objects.delete(region.path("imagenet") + "val/n01/2.JPEG")
    region.objects.make_directory(region.path("imagenet") + "val/")

    (finding,) = region.asked(spec)

    assert (finding.rule, finding.field) == ("online.dataset", "inputs.data_url")
    assert "lacks val/" in finding.message


def test_a_bucket_that_is_not_there_is_found(region: Region, spec: RunSpec) -> None:
    other = region.profile.model_copy(update={"bucket": "somebody-elses"})

    (finding,) = region.asked(spec, other)

    assert (finding.rule, finding.field) == ("online.bucket", "profile.bucket")
    assert "there is no bucket 'somebody-elses' in sandbox" in finding.message


def test_more_nodes_than_the_flavor_has_are_found(region: Region, spec: RunSpec) -> None:
    findings = region.asked(changed(spec, node_count=17))

    assert [finding.rule for finding in findings] == ["nodes.most"]


def test_a_region_that_does_not_answer_is_no_finding(region: Region, spec: RunSpec, sandbox: SandboxProcess) -> None:
    sandbox.faults({"service": "modelarts", "status": 503, "times": 9})

    with pytest.raises(CloudUnavailable):
        region.asked(spec)


@pytest.mark.parametrize("name", WORKLOADS.names())
def test_every_version_of_every_workload_finds_its_engine_in_the_sandbox(region: Region, name: str) -> None:
    for version in WORKLOADS.get(name).versions:
        findings = region.asked(RunSpec(workload=name, framework_version=version, flavor="modelarts.kat1.8xlarge"))

        assert "online.engine" not in {finding.rule for finding in findings}, version
