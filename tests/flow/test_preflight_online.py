"""Preflight that asks a region: bucket, inputs, outputs, flavors, engines and pools as they really are."""

from pathlib import Path

import pytest
from huaweicloudsdkmodelarts.v1 import CreateAlgorithmRequest

from aisbench_core.base.errors import CloudUnavailable
from aisbench_core.cloud.modelarts_v2.service import ModelArtsV2
from aisbench_core.cloud.obs.objects import ObsStore
from aisbench_core.cloud.ports import Cloud
from aisbench_core.cloud.swr.registry import SwrRegistry
from aisbench_core.config.credentials import find_credentials
from aisbench_core.config.settings import HOME, Profile, Settings
from aisbench_core.domain.authoring.workloads import Workloads
from aisbench_core.domain.preflight.fixes import apply_fixes
from aisbench_core.domain.preflight.online import check_online
from aisbench_core.model import Channel, Finding, Level, RunSpec
from tests.sandbox_process import SandboxProcess
from tests.training_client import TrainingClient, job_body
from tests.unit.good_specs import changed, code_folder, good_spec

SECONDS = 60.0
POOL = "pool-aisb-0123456789abcdef0123456789abcdef"
WORKLOADS = Workloads(HOME / "workloads")


class Region:
    """The sandbox as preflight asks it."""

    def __init__(self, sandbox: SandboxProcess) -> None:
        settings = Settings(data_dir=sandbox.data_dir.parent)
        self.profile = Profile.model_validate({**sandbox.profile, "name": "sandbox"})
        credentials = find_credentials(settings, self.profile)
        self.objects = ObsStore(self.profile, credentials, transfers=4, request_seconds=10)
        self.training = ModelArtsV2(self.profile, credentials, request_seconds=10)
        self.images = SwrRegistry(self.profile, credentials, request_seconds=10)

    def asked(self, spec: RunSpec, profile: Profile | None = None) -> list[Finding]:
        """What the region says against the spec."""
        cloud = Cloud(profile or self.profile, self.objects, self.training, self.images)
        return check_online(spec, cloud, WORKLOADS, SECONDS)

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

    assert sandbox.requests()["obs"] == {"LIST": 6}
    assert sandbox.requests()["modelarts"] == {"GET training-job-flavors": 1, "GET training-job-engines": 1}


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


def test_a_bucket_of_another_region_is_found(region: Region, spec: RunSpec) -> None:
    other = region.profile.model_copy(update={"region": "cn-north-4"})

    findings = [finding for finding in region.asked(spec, other) if finding.rule == "online.region"]

    assert [(finding.field, finding.level) for finding in findings] == [("inputs.data_url", Level.WARNING)]
    assert "is in sandbox, but jobs run in cn-north-4" in findings[0].message


def test_keys_that_may_not_ask_where_a_bucket_lies_are_no_hindrance(
    region: Region, spec: RunSpec, sandbox: SandboxProcess
) -> None:
    sandbox.faults({"service": "obs", "path": "location", "status": 403, "code": "AccessDenied", "times": 9})

    assert region.asked(spec) == []


def test_an_output_directory_that_holds_something_is_found_with_a_fix(region: Region, spec: RunSpec) -> None:
    region.objects.put(region.path("mine") + "old/throughput_rank_0.json", b"1")
    mine = changed(spec, outputs=[{"name": "train_url", "path": region.path("mine")}])

    (finding,) = region.asked(mine)

    assert (finding.rule, finding.field, finding.level) == ("online.output", "outputs.train_url", Level.WARNING)
    assert region.asked(apply_fixes(mine, [finding])) == []


@pytest.mark.parametrize("inside", ["", "deeper/"])
def test_an_output_directory_that_an_active_job_writes_to_is_found(
    region: Region, spec: RunSpec, sandbox: SandboxProcess, inside: str
) -> None:
    sandbox.script(by="hold")
    client = TrainingClient(sandbox)
    client.put("code/train.py", "print('hello')")
    body = job_body("somebody-elses-job")
    output = body["algorithm"]["outputs"][0]["remote"]["obs"]["obs_url"]
    mine = changed(spec, outputs=[{"name": "train_url", "path": f"{output}{inside}"}])
    client.create(body)

    busy = [finding for finding in region.asked(mine) if finding.rule == "online.output-busy"]
    sandbox.script(by="at_once")

    assert [finding.field for finding in busy] == ["outputs.train_url"]
    assert "job somebody-elses-job (" in busy[0].message


def test_an_output_directory_of_a_job_that_has_ended_is_free(
    region: Region, spec: RunSpec, sandbox: SandboxProcess
) -> None:
    sandbox.script(by="at_once")
    client = TrainingClient(sandbox)
    client.put("code/train.py", "print('hello')")
    body = job_body("ended")
    output = body["algorithm"]["outputs"][0]["remote"]["obs"]["obs_url"]
    client.show(client.create(body).metadata.id)

    findings = region.asked(changed(spec, outputs=[{"name": "train_url", "path": output}]))

    assert "online.output-busy" not in {finding.rule for finding in findings}


def test_a_pool_with_too_few_free_nodes_is_a_warning(region: Region, spec: RunSpec, sandbox: SandboxProcess) -> None:
    pools = [{"name": POOL, "flavor": "modelarts.kat1.8xlarge", "nodes": 2, "bad": [1]}]
    sandbox.admin("PUT", "capacity", {"pools": pools})
    pooled = changed(spec, flavor="modelarts.pool.visual.8xlarge", pool_id=POOL)

    one, two = region.asked(pooled), region.asked(changed(pooled, node_count=2))

    assert one == []
    assert [(finding.rule, finding.level) for finding in two] == [("online.pool-free", Level.WARNING)]
    assert "has 1 free nodes now, but 2 are requested" in two[0].message


def test_what_is_not_answered_in_time_is_a_warning_and_the_rest_is_said(
    region: Region, spec: RunSpec, sandbox: SandboxProcess
) -> None:
    sandbox.faults({"service": "modelarts", "path": "engines", "delay_s": 8, "times": 9})
    told: list[tuple[int, int]] = []
    missing = changed(spec, flavor="modelarts.kat9.xlarge")

    cloud = Cloud(region.profile, region.objects, region.training, region.images)
    findings = check_online(missing, cloud, WORKLOADS, 3, lambda answered, asked: told.append((answered, asked)))

    assert [finding.rule for finding in findings] == ["online.flavor", "online.engine"]
    assert "did not answer within 3 s" in findings[1].message
    assert told == [(answered, 11) for answered in range(1, 11)]


@pytest.mark.parametrize("name", WORKLOADS.names())
def test_every_version_of_every_workload_finds_its_engine_in_the_sandbox(region: Region, name: str) -> None:
    for version in WORKLOADS.get(name).versions:
        findings = region.asked(RunSpec(workload=name, framework_version=version, flavor="modelarts.kat1.8xlarge"))

        assert "online.engine" not in {finding.rule for finding in findings}, version


def created_algorithm(sandbox: SandboxProcess) -> str:
    """The id of an algorithm that jobs can run."""
    client, job = TrainingClient(sandbox), job_body()["algorithm"]
    client.put("code/train.py", "")
    config = {name: job[name] for name in ("code_dir", "boot_file", "engine")}
    body = {"metadata": {"name": "resnet"}, "job_config": config}
    return str(client.sdk.create_algorithm(CreateAlgorithmRequest(body=body)).metadata.id)


def test_an_algorithm_that_the_region_does_not_have_is_found(
    region: Region, spec: RunSpec, sandbox: SandboxProcess
) -> None:
    made = created_algorithm(sandbox)
    plain = changed(spec, code_dir="", boot_file="")

    (missing,) = region.asked(changed(plain, algorithm="a1"))

    assert (missing.rule, missing.field) == ("online.algorithm", "algorithm")
    assert "there is no algorithm 'a1' in sandbox" in missing.message
    assert region.asked(changed(plain, algorithm=made)) == []


def test_a_subscription_or_version_that_the_account_does_not_have_is_found(
    region: Region, spec: RunSpec, sandbox: SandboxProcess
) -> None:
    ids = sandbox.admin("POST", f"algorithms/{created_algorithm(sandbox)}/subscribe")
    plain = changed(spec, code_dir="", boot_file="")

    (unsubscribed,) = region.asked(changed(plain, subscription_id="s1", item_version_id="v1"))
    (other,) = region.asked(changed(plain, **{**ids, "item_version_id": "v1"}))

    assert (unsubscribed.rule, unsubscribed.field) == ("online.subscription", "subscription_id")
    assert "there is no subscription 's1' in sandbox" in unsubscribed.message
    assert (other.rule, other.field) == ("online.subscription", "item_version_id")
    assert f"has no version 'v1'; it has: {ids['item_version_id']}" in other.message
    assert region.asked(changed(plain, **ids)) == []


def test_the_engine_that_starts_a_custom_image_is_one_of_the_regions(region: Region, spec: RunSpec) -> None:
    def of(engine: str) -> list[str]:
        found = region.asked(changed(spec, image_url="of-others/x:1", engine_name=engine))
        return [finding.message for finding in found if finding.rule == "online.engine"]

    assert of("Ascend-Powered-Engine") == []
    (message,) = of("Ascend")
    assert "there is no engine 'Ascend'; offered: Ascend-Powered-Engine," in message


def test_an_image_of_the_accounts_own_organisations_has_the_version(
    region: Region, spec: RunSpec, sandbox: SandboxProcess
) -> None:
    def of(image: str) -> list[Finding]:
        found = region.asked(changed(spec, image_url=image, command="python t.py", code_dir="", boot_file=""))
        return [finding for finding in found if finding.rule == "online.image"]

    (missing,) = of("sandbox/mindspore:9.9")

    assert (missing.field, missing.level) == ("image_url", Level.ERROR)
    assert "tags: 2.3.0-cann8.0-aarch64, 2.2.12-cann7.0-aarch64" in missing.message
    assert "tags: none" in of("sandbox/no-such-image:1")[0].message
    for present in ("sandbox/mindspore:2.3.0-cann8.0-aarch64", "sandbox-team/bench/resnet:v2", "of-others/x:1"):
        assert of(present) == [], present
    sandbox.faults({"service": "modelarts", "path": "manage", "status": 403, "times": 9})
    assert of("sandbox/mindspore:9.9") == []
