"""What only the older API (v1) has: jobs with versions, and what they tell of themselves."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from aisbench_core.base.errors import CloudRejected, CloudUnavailable
from aisbench_core.cloud.modelarts_v1.service import ModelArtsV1
from aisbench_core.model import Api, Channel, JobRequest, Phase
from tests.contract.answering import answering
from tests.contract.region import Region, sandbox_region
from tests.contract.v1_service import LONG_AGO, service_at
from tests.legacy_client import LegacyClient
from tests.sandbox_process import SandboxProcess

CREATE = {"service": "modelarts", "method": "POST", "path": "/v1/[^/]*/training-jobs$"}


@pytest.fixture
def place(sandbox: SandboxProcess) -> Region:
    return sandbox_region(sandbox, api=Api.V1)


@pytest.fixture
def client(sandbox: SandboxProcess) -> LegacyClient:
    return LegacyClient(sandbox)


def elsewhere(request: JobRequest, directory: str) -> JobRequest:
    return replace(request, outputs=(Channel(name="train_url", path=directory),))


def versions_of(client: LegacyClient, job_id: str) -> list[str]:
    listed = client.ask("GET", f"training-jobs/{job_id.partition('/')[0]}/versions")
    return [version["version_name"] for version in listed["versions"]]


# --- jobs and their versions --------------------------------------------------------------------------


def test_a_new_name_is_a_new_job_with_its_first_version(place: Region, client: LegacyClient) -> None:
    job = place.create("resnet")

    number, version = job.job_id.split("/")
    told = client.ask("GET", f"training-jobs/{number}/versions/{version}")
    assert (told["version_name"], told["job_name"]) == ("V0001", "resnet")
    assert told["spec_code"] == place.profile.flavor
    assert told["job_desc"] == "a test of the console"


def test_the_name_of_a_job_gets_its_next_version_and_never_that_of_one_with_a_longer_name(
    place: Region, client: LegacyClient
) -> None:
    longer = place.create("resnet-of-somebody-else")
    first = place.create("resnet")
    request = elsewhere(place.job("resnet", {}), place.path("out/resnet/V2/"))

    second = place.training.create(request)

    assert versions_of(client, first.job_id) == ["V0002", "V0001"]
    assert versions_of(client, longer.job_id) == ["V0001"]
    assert second.job_id.split("/")[0] == first.job_id.split("/")[0]
    assert place.training.find("resnet") == place.training.detail(second.job_id)


def test_the_same_request_again_is_the_same_job(place: Region, client: LegacyClient) -> None:
    job = place.create("resnet")

    again = place.training.create(place.job("resnet", {}))

    assert again.job_id == job.job_id
    assert versions_of(client, job.job_id) == ["V0001"]


def test_stop_by_name_ends_the_newest_version_and_no_other(place: Region, sandbox: SandboxProcess) -> None:
    sandbox.script(by="hold")
    first = place.create("resnet")
    second = place.training.create(elsewhere(place.job("resnet", {}), place.path("out/resnet/V2/")))
    newest = place.training.find("resnet")
    assert newest is not None

    place.training.stop(newest.job_id)

    assert place.training.detail(second.job_id).phase in {Phase.TERMINATING, Phase.TERMINATED}
    assert not place.training.detail(first.job_id).has_ended


def test_a_given_version_is_stopped_and_looked_at_by_its_id(place: Region, sandbox: SandboxProcess) -> None:
    sandbox.script(by="hold")
    first = place.create("resnet")
    second = place.training.create(elsewhere(place.job("resnet", {}), place.path("out/resnet/V2/")))

    place.training.stop(first.job_id)

    assert place.training.detail(first.job_id).phase in {Phase.TERMINATING, Phase.TERMINATED}
    assert not place.training.detail(second.job_id).has_ended
    assert place.training.status([first.job_id, second.job_id], LONG_AGO).keys() == {second.job_id}


def test_deleting_a_version_keeps_the_others_and_the_last_one_takes_the_job_with_it(
    place: Region, client: LegacyClient
) -> None:
    first = place.create("resnet")
    second = place.training.create(elsewhere(place.job("resnet", {}), place.path("out/resnet/V2/")))

    place.training.delete(second.job_id)
    kept = versions_of(client, first.job_id)
    place.training.delete(first.job_id)

    assert kept == ["V0001"]
    assert client.names() == []


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_create_whose_answer_is_lost_is_tried_once_and_can_be_found(
    place: Region, sandbox: SandboxProcess, client: LegacyClient, when: str
) -> None:
    request = place.job("lost", {})
    sandbox.faults({**CREATE, "drop": when})
    with pytest.raises(CloudUnavailable, match=r"the connection to .* failed"):
        place.training.create(request)
    assert (place.training.find("lost") is not None) is (when == "after")

    job = place.training.create(request)

    assert client.names() == ["lost"]
    assert versions_of(client, job.job_id) == ["V0001"]


def test_a_name_that_the_list_does_not_show_yet_is_taken_all_the_same(place: Region, sandbox: SandboxProcess) -> None:
    place.create("resnet")
    sandbox.faults(
        {"service": "modelarts", "method": "GET", "path": r"/training-jobs\?", "status": 200, "body": '{"jobs": []}'}
    )

    with pytest.raises(CloudRejected, match="choose a different one") as raised:
        place.create("resnet")

    assert (raised.value.status, raised.value.code) == (400, "ModelArts.0103")


def test_the_jobs_that_have_not_ended_are_known_with_their_nodes(place: Region, sandbox: SandboxProcess) -> None:
    sandbox.script(by="hold")
    ended, active = place.create("ended"), place.create("active")
    place.training.stop(ended.job_id)
    assert place.training.detail(ended.job_id).has_ended

    found = ModelArtsV1(place.profile, place.credentials, 20.0).active()

    assert [(job.job_id, job.tasks, job.outputs) for job in found] == [
        (active.job_id, ("worker-0",), (place.path("out/active/"),))
    ]


# --- what a job tells ---------------------------------------------------------------------------------


def test_a_job_runs_and_ends_and_its_logs_are_where_it_says(place: Region, sandbox: SandboxProcess) -> None:
    sandbox.script(by="look", log="line one\nline two\n", exit_code=3)
    request = place.job("resnet", {})
    request = replace(request, spec=request.spec.model_copy(update={"node_count": 2, "flavor": "sandbox.cpu.1card"}))
    job = place.training.create(request)

    seen = [place.training.detail(job.job_id) for _ in range(4)]

    last = seen[-1]
    assert (last.phase, last.secondary_phase) == (Phase.FAILED, "FAILED")
    assert last.started_at is not None
    assert last.duration_s is not None
    assert last.duration_s < 60
    paths = place.training.log_paths(last, place.path("log/"))
    assert list(paths) == [0, 1]
    assert all(place.objects.read(path).endswith(b"line one\nline two\n") for path in paths.values())


def test_the_logs_of_a_job_that_is_gone_are_nowhere_and_no_error(place: Region) -> None:
    job = place.create("resnet")
    place.training.delete(job.job_id)

    of_a_new_process = ModelArtsV1(place.profile, place.credentials, 20.0)

    assert of_a_new_process.log_paths(job, place.path("log/")) == {}


def test_a_job_of_the_list_is_looked_at_by_itself_when_it_appears_and_when_it_starts(place: Region) -> None:
    listed = {"job_id": 1, "job_name": "a", "version_id": 2, "create_time": 1764000000123}
    version = {**listed, "resource_id": "jobabc", "worker_server_num": 2}
    now = {"status": 7, "start_time": 0}

    def tell(asked: str, _sent: Any) -> tuple[int, bytes]:
        known = {**version, **now} if "/versions/" in asked else {"jobs": [{**listed, "status": now["status"]}]}
        return 200, json.dumps(known).encode()

    with answering(tell) as region:
        training = service_at(place, region.url)
        (waiting,) = [training.status(["1/2"], LONG_AGO)["1/2"] for _ in range(2)][1:]
        now.update(status=8, start_time=1764000060000)
        running = [training.status(["1/2"], LONG_AGO)["1/2"] for _ in range(3)][-1]

    assert (waiting.phase, waiting.started_at, waiting.node_count) == (Phase.PENDING, None, 2)
    assert (running.phase, running.tasks) == (Phase.RUNNING, ("worker-0", "worker-1"))
    assert running.started_at == datetime(2025, 11, 24, 16, 1, tzinfo=UTC)
    assert len([asked for asked in region.asked if "/versions/" in asked]) == 2


def test_metrics_are_told_for_the_job_as_a_whole(place: Region) -> None:
    version = {
        "job_id": 1,
        "job_name": "a",
        "version_id": 2,
        "resource_id": "jobabc",
        "status": 8,
        "system_metric_list": {"npuUtil": ["97.50"]},
    }

    with answering(lambda _asked, _sent: (200, json.dumps(version).encode())) as region:
        training = service_at(place, region.url)
        samples = training.metrics("1/2", "worker-0", LONG_AGO)
        others = training.metrics("1/2", "worker-1", LONG_AGO)

    assert [(sample.at, sample.node, sample.name, sample.value) for sample in samples] == [
        (LONG_AGO, 0, "npuUtil", 97.5)
    ]
    assert others == ()
    assert len(region.asked) == 1
