"""Every documented reason to refuse a create request, with its code."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from huaweicloudsdkcore.exceptions.exceptions import ClientRequestException
from huaweicloudsdkmodelarts.v1 import JobSearches, ListTrainingJobsRequest

from aisbench_sandbox.obs.storage.objects import Objects
from aisbench_sandbox.refusals import Refused
from aisbench_sandbox.service.state.creation import accept_request
from tests.sandbox_process import SandboxProcess
from tests.training_client import TrainingClient, channel, job_body


@pytest.fixture
def client(sandbox: SandboxProcess) -> TrainingClient:
    client = TrainingClient(sandbox)
    client.put("code/train.py", "print('hello')")
    return client


def _changed(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    body = copy.deepcopy(job_body())
    change(body)
    return body


def remote(**kinds: Any) -> dict[str, Any]:
    return {"name": "a", "remote": kinds}


BAD_REQUESTS: list[tuple[str, int, Callable[[dict[str, Any]], object]]] = [
    ("ModelArts.2825", 400, lambda body: body.update(kind="dance")),
    ("ModelArts.2788", 400, lambda body: body["metadata"].update(name="no blanks")),
    ("ModelArts.2788", 400, lambda body: body["metadata"].update(name="n" * 65)),
    ("ModelArts.2788", 400, lambda body: body["metadata"].update(description="d" * 257)),
    ("ModelArts.2788", 400, lambda body: body.pop("spec")),
    ("ModelArts.2788", 400, lambda body: body.update(algorithm="text")),
    ("ModelArts.2788", 400, lambda body: body["algorithm"].update(environments={"1A": "b"})),
    ("ModelArts.2788", 400, lambda body: body["algorithm"].update(environments=dict.fromkeys(_names(101), "1"))),
    ("ModelArts.2767", 400, lambda body: body["algorithm"].update(parameters=[{"name": "a", "value": "1"}] * 2)),
    ("ModelArts.2787", 400, lambda body: body["algorithm"].update(parameters=[{"name": "a", "value": 1}])),
    ("ModelArts.2753", 400, lambda body: body["algorithm"].update(inputs=[{"name": "a"}])),
    ("ModelArts.2753", 400, lambda body: body["algorithm"].update(outputs=[channel("a", "/sandbox-bench/o/")] * 2)),
    ("ModelArts.2753", 400, lambda body: body["algorithm"].update(outputs=[channel("/a/../b", "/sandbox-bench/o/")])),
    ("ModelArts.2753", 400, lambda body: body["algorithm"].update(inputs=[channel("../../a", "/sandbox-bench/i/")])),
    ("ModelArts.2783", 400, lambda body: body["algorithm"].update(inputs=[remote(dataset={"id": "d"})])),
    ("ModelArts.2854", 400, lambda body: body["algorithm"].update(inputs=[remote(sfs={"path": "/"})])),
    ("ModelArts.2791", 400, lambda body: body["algorithm"].update(outputs=[channel("a", "/sandbox-bench/o")])),
    ("ModelArts.2791", 400, lambda body: body["algorithm"].update(outputs=[channel("a", "/nobody-has-this/o/")])),
    ("ModelArts.2791", 400, lambda body: body["algorithm"].update(code_dir="/sandbox-bench/code")),
    ("ModelArts.2757", 400, lambda body: body["algorithm"].update(code_dir="")),
    ("ModelArts.2757", 400, lambda body: body["algorithm"].update(code_dir="/sandbox-bench/nowhere/")),
    ("ModelArts.2757", 400, lambda body: body["algorithm"].update(code_dir="/no-such-bucket/code/")),
    ("ModelArts.2792", 400, lambda body: body["algorithm"].update(boot_file="/sandbox-bench/other/train.py")),
    ("ModelArts.2758", 400, lambda body: body["algorithm"].update(boot_file="/sandbox-bench/code/missing.py")),
    ("ModelArts.2758", 400, lambda body: body["algorithm"].update(boot_file="/sandbox-bench/code/train.sh")),
    ("ModelArts.2780", 400, lambda body: body["algorithm"].update(engine={"engine_name": "a", "engine_version": "b"})),
    ("ModelArts.2806", 400, lambda body: body["algorithm"].update(command="bash run.sh")),
    ("ModelArts.2806", 400, lambda body: body["algorithm"].update(engine={"image_url": "org/image:1"})),
    ("ModelArts.2788", 400, lambda body: body["algorithm"].update(_image("echo a\necho b"))),
    ("ModelArts.2857", 400, lambda body: body["algorithm"].update(local_code_dir="/opt/code")),
    ("ModelArts.2857", 400, lambda body: body["algorithm"].update(local_code_dir="code")),
    ("ModelArts.2857", 400, lambda body: body["algorithm"].update(local_code_dir="/home/ma-user/")),
    ("ModelArts.2857", 400, lambda body: body["algorithm"].update(local_code_dir="/home/ma-user/modelarts/inputs")),
    ("ModelArts.2857", 400, lambda body: body["algorithm"].update(local_code_dir="/home/ma-user/infer")),
    ("ModelArts.2857", 400, lambda body: body["algorithm"].update(local_code_dir="/home/a/../../etc")),
    ("ModelArts.2859", 400, lambda body: body["algorithm"].update(working_dir="code")),
    ("ModelArts.2859", 400, lambda body: body["algorithm"].update(working_dir="/home/ma-user/../..")),
    ("ModelArts.2840", 400, lambda body: body["spec"]["resource"].update(flavor_id="modelarts.p3.large.public")),
    ("ModelArts.2763", 400, lambda body: body["spec"]["resource"].update(flavor_id="modelarts.unknown")),
    ("ModelArts.2793", 400, lambda body: body["spec"]["resource"].update(node_count=9)),
    ("ModelArts.2788", 400, lambda body: body["spec"]["resource"].update(node_count=0)),
    ("ModelArts.2890", 404, lambda body: body["spec"]["resource"].update(pool_id="pool-a")),
    ("ModelArts.2791", 400, lambda body: body["spec"].update(log_export_path={"obs_url": "/sandbox-bench/log"})),
    ("ModelArts.2788", 400, lambda body: body["spec"].update(log_export_path="text")),
    ("ModelArts.2788", 400, lambda body: body["spec"].update(auto_stop={"time_unit": "DAYS", "duration": 1})),
    ("ModelArts.2816", 400, lambda body: body["spec"].update(schedule_policy={"priority": 4})),
]


def _image(command: str) -> dict[str, Any]:
    return {"command": command, "engine": {"image_url": "org/image:1"}}


def _names(count: int) -> list[str]:
    return [f"NAME_{number}" for number in range(count)]


@pytest.mark.parametrize(("code", "status", "change"), BAD_REQUESTS)
def test_a_bad_create_request_gets_the_documented_code_and_makes_no_job(
    client: TrainingClient, code: str, status: int, change: Callable[[dict[str, Any]], object]
) -> None:
    with pytest.raises(ClientRequestException) as refused:
        client.create(_changed(change))

    assert (refused.value.error_code, refused.value.status_code) == (code, status), refused.value.error_msg
    assert client.sdk.list_training_jobs(ListTrainingJobsRequest(body=JobSearches())).total == 0


def test_code_that_is_nested_too_deep_is_refused(client: TrainingClient) -> None:
    client.put("deep/train.py", "")
    client.put("deep/" + "d/" * 33 + "file.py", "")

    with pytest.raises(ClientRequestException, match=r"ModelArts\.2760"):
        client.create(job_body(code="deep/"))


def test_more_than_1000_code_files_are_refused(tmp_path: Path) -> None:
    objects = Objects(tmp_path)
    objects.create_bucket("sandbox-bench")
    objects.put("sandbox-bench", "code/train.py", b"")
    for number in range(1000):
        objects.put("sandbox-bench", f"code/{number}.txt", b"")

    with pytest.raises(Refused) as refused:
        accept_request(job_body(), objects)

    assert refused.value.code == "ModelArts.2759"


def custom_image() -> dict[str, Any]:
    body = job_body()
    body["algorithm"] = {"command": "bash run.sh", "engine": {"image_url": "bench-org/pytorch-npu:2.1.0"}}
    return body


def test_a_job_with_a_custom_image_can_be_pretended(client: TrainingClient) -> None:
    job = client.wait(client.create(custom_image()).metadata.id)

    assert (job.status.phase, job.algorithm.command) == ("Completed", "bash run.sh")


PLACES = [
    ("/home/ma-user/code", "/home/ma-user/code/llm"),
    ("/home/me", "/cache"),
    2 * ("/home/ma-user/modelarts/user-job-dir",),
]


@pytest.mark.parametrize(("local_code_dir", "working_dir"), PLACES)
def test_code_may_be_put_and_started_where_the_console_would(
    client: TrainingClient, local_code_dir: str, working_dir: str
) -> None:
    body = _changed(lambda body: body["algorithm"].update(local_code_dir=local_code_dir, working_dir=working_dir))

    job = client.create(body)

    assert (job.algorithm.local_code_dir, job.algorithm.working_dir) == (local_code_dir, working_dir)


def test_an_image_of_the_users_own_may_be_started_the_way_of_a_preset_engine(client: TrainingClient) -> None:
    engine = {"engine_name": "PyTorch", "image_url": "org/pytorch:2.1"}

    job = client.create(_changed(lambda body: body["algorithm"].update(engine=engine)))

    assert (job.algorithm.engine.engine_name, job.algorithm.engine.image_url) == ("PyTorch", "org/pytorch:2.1")
