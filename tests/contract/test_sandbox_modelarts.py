"""The training service over HTTP: the unmodified SDK drives every address, and gets the documented refusals."""

import json
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from huaweicloudsdkcore.exceptions.exceptions import ClientRequestException, ServerResponseException
from huaweicloudsdkmodelarts.v1 import (
    Filter,
    JobSearches,
    ListPoolsRequest,
    ListTrainingJobEventsRequest,
    ListTrainingJobsRequest,
    ListTrainingJobStagesRequest,
    ListTrainingJobTasksRequest,
    ShowFtMetricsRequest,
    ShowPoolRequest,
    ShowTrainingJobEnginesRequest,
    ShowTrainingJobFlavorsRequest,
    ShowTrainingJobLogsPreviewRequest,
    ShowTrainingJobMetricsRequest,
    ValidateTrainingJobNameRequest,
)

from tests.sandbox_process import SandboxProcess
from tests.training_client import ENGINE, TrainingClient, job_body


@pytest.fixture
def client(sandbox: SandboxProcess) -> TrainingClient:
    client = TrainingClient(sandbox)
    client.put("code/train.py", "print('hello')")
    return client


def search(client: TrainingClient, **asked: Any) -> Any:
    return client.sdk.list_training_jobs(ListTrainingJobsRequest(body=JobSearches(**asked)))


def names(reply: Any) -> list[str]:
    return [job.metadata.name for job in reply.items]


def test_a_created_job_comes_back_as_it_was_asked_for(client: TrainingClient) -> None:
    body = job_body(nodes=2, parameters=[("epochs", "3")], environments={"MODE": "training"})

    created = client.create(body)

    assert (created.status_code, created.status.phase, created.status.duration) == (201, "Creating", 0)
    assert created.status.tasks == ["worker-0", "worker-1"]
    assert created.metadata.name == "a-job"
    assert created.algorithm.engine.engine_version == ENGINE
    shown = client.show(created.metadata.id)
    assert shown.algorithm.parameters[0].value == "3"
    assert shown.algorithm.outputs[0].remote.obs.obs_url == "/sandbox-bench/out/"
    assert shown.algorithm.outputs[0].local_dir == "/home/ma-user/modelarts/outputs/train_url_0"
    assert shown.spec.resource.flavor_detail.flavor_type == "CPU"
    assert shown.spec.resource.node_count == 2


def test_each_look_moves_a_scripted_job_one_phase_on_until_its_results_are_in_obs(client: TrainingClient) -> None:
    job_id = client.create(job_body(nodes=2)).metadata.id

    phases = [client.phase(job_id) for _ in range(4)]

    assert phases == ["Pending", "Running", "Completed", "Completed"]
    ended = client.show(job_id).status
    assert [(end.task, end.exit_code) for end in ended.task_statuses] == [("worker-0", 0), ("worker-1", 0)]
    assert ended.start_time > 0
    assert client.get("out/throughput_1.json") == "100.0"
    assert client.get("out/ranksize.json") == "2"
    assert "pretends to train" in client.log(job_id, 1)


def test_a_search_filters_orders_and_pages(client: TrainingClient, sandbox: SandboxProcess) -> None:
    sandbox.script(by="hold")
    ids = [client.create(job_body(f"job-{number}")).metadata.id for number in range(5)]
    sandbox.advance(ids[0])
    sandbox.advance(ids[0])
    sandbox.advance(ids[0])

    assert names(search(client)) == ["job-4", "job-3", "job-2", "job-1", "job-0"]
    assert names(search(client, offset=1, limit=2)) == ["job-3", "job-2"]
    assert names(search(client, order="asc", limit=1)) == ["job-0"]
    assert names(search(client, filters=[Filter(key="name", operator="like", value=["b-3"])])) == ["job-3"]
    assert names(search(client, filters=[Filter(key="name", operator="in", value=["job-1", "job"])])) == ["job-1"]
    done = search(client, filters=[Filter(key="phase", operator="in", value=["Completed"])])
    assert (names(done), done.total, done.count) == (["job-0"], 5, 1)
    since = str(client.show(ids[3]).metadata.create_time)
    newest = [Filter(key="create_time", operator="between", value=[since, "9999999999999"])]
    assert names(search(client, filters=newest)) == ["job-4", "job-3"]


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({"limit": 51}, "ModelArts.2788"),
        ({"offset": -1}, "ModelArts.2788"),
        ({"sort_by": "colour"}, "ModelArts.2790"),
        ({"filters": [Filter(key="colour", operator="in", value=["red"])]}, "ModelArts.2807"),
        ({"filters": [Filter(key="name", operator="near", value=["a"])]}, "ModelArts.2808"),
        ({"filters": [Filter(key="create_time", operator="between", value=["now", "1"])]}, "ModelArts.2809"),
    ],
)
def test_a_search_that_makes_no_sense_is_refused(client: TrainingClient, asked: dict[str, Any], code: str) -> None:
    with pytest.raises(ClientRequestException) as refused:
        search(client, **asked)

    assert (refused.value.status_code, refused.value.error_code) == (400, code)
    assert refused.value.request_id


def test_stopping_leads_to_terminated_and_a_second_time_is_refused(
    client: TrainingClient, sandbox: SandboxProcess
) -> None:
    sandbox.script(by="hold")
    job_id = client.create(job_body()).metadata.id
    assert client.phase(job_id) == "Running"

    stopped = client.stop(job_id)

    assert (stopped.status_code, stopped.status.phase) == (202, "Terminating")
    assert client.phase(job_id) == "Terminated"
    with pytest.raises(ClientRequestException) as refused:
        client.stop(job_id)
    assert (refused.value.status_code, refused.value.error_code) == (409, "ModelArts.2796")


def test_a_deleted_job_is_gone_and_its_name_free_again(client: TrainingClient) -> None:
    job_id = client.create(job_body()).metadata.id

    client.delete(job_id)

    with pytest.raises(ClientRequestException) as refused:
        client.show(job_id)
    assert (refused.value.status_code, refused.value.error_code) == (400, "ModelArts.2775")
    client.create(job_body())


def test_many_who_delete_a_job_at_once_are_told_that_it_is_gone_or_going(client: TrainingClient) -> None:
    job_id = client.create(job_body()).metadata.id

    def delete(_: int) -> str:
        try:
            client.delete(job_id)
        except ClientRequestException as refused:
            return str(refused.error_code)
        return "deleted"

    with ThreadPoolExecutor(16) as people:
        answers = set(people.map(delete, range(16)))

    assert "deleted" in answers <= {"deleted", "ModelArts.2775"}


def test_a_name_is_taken_once(client: TrainingClient) -> None:
    def is_duplicate(name: str) -> bool:
        reply = client.sdk.validate_training_job_name(ValidateTrainingJobNameRequest(job_name=name))
        return bool(reply.is_duplicate)

    assert not is_duplicate("a-job")

    client.create(job_body())

    assert is_duplicate("a-job")
    with pytest.raises(ClientRequestException, match=r"ModelArts\.2751"):
        client.create(job_body())


def test_logs_are_previewed_and_linked(client: TrainingClient, sandbox: SandboxProcess) -> None:
    sandbox.script(by="hold", log="第一行\nsecond line\n")
    job_id = client.create(job_body()).metadata.id
    request = ShowTrainingJobLogsPreviewRequest(training_job_id=job_id, task_id="worker-0")
    assert client.sdk.show_training_job_logs_preview(request).status_code == 204
    client.show(job_id)

    preview = client.sdk.show_training_job_logs_preview(request)
    link = log_link(client, job_id)

    assert preview.content.endswith("第一行\nsecond line\n")
    assert preview.current_size == preview.full_size == len(preview.content.encode())
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(link, timeout=60) as reply:
        assert reply.read().decode() == preview.content


def log_link(client: TrainingClient, job_id: str) -> str:
    """The SDK has no method for this address, but a way to call any."""
    reply = client.sdk.call_api(
        "/v2/{project_id}/training-jobs/{id}/tasks/worker-0/logs/url",
        "GET",
        path_params={"id": job_id},
        query_params=[],
        header_params={"Content-Type": "text/plain"},
        response_type="ShowTrainingJobLogsPreviewResponse",
    )
    return str(json.loads(reply.raw_content)["obs_url"])


def test_only_the_newest_five_megabytes_of_a_log_are_previewed(client: TrainingClient, sandbox: SandboxProcess) -> None:
    sandbox.script(by="hold", log="old line\n" + "x" * 5 * 1024 * 1024 + "\nnew line\n")
    job_id = client.create(job_body()).metadata.id
    client.show(job_id)

    request = ShowTrainingJobLogsPreviewRequest(training_job_id=job_id, task_id="worker-0")
    preview = client.sdk.show_training_job_logs_preview(request)

    assert preview.current_size == 5 * 1024 * 1024 < preview.full_size
    assert preview.content.endswith("new line\n")
    assert "old line" not in preview.content


def test_events_come_in_two_languages_in_order_and_in_pages(client: TrainingClient) -> None:
    job_id = client.create(job_body()).metadata.id
    for _ in range(3):
        client.show(job_id)

    def messages(**asked: Any) -> list[str]:
        request = ListTrainingJobEventsRequest(training_job_id=job_id, **asked)
        return [event.message for event in client.sdk.list_training_job_events(request).events]

    assert messages(order="asc", x_language="zh-cn")[0] == "训练作业创建成功"
    assert messages(order="asc", x_language="en-us", limit=2, offset=2) == [
        "Training job is running.",
        "Training job is completed.",
    ]
    assert messages(x_language="en-us")[0] == "Training job is completed."


def test_tasks_stages_and_missing_measurements(client: TrainingClient) -> None:
    job_id = client.create(job_body(nodes=2)).metadata.id
    for _ in range(3):
        client.show(job_id)

    tasks = client.sdk.list_training_job_tasks(ListTrainingJobTasksRequest(training_job_id=job_id)).body
    stages = client.sdk.list_training_job_stages(ListTrainingJobStagesRequest(training_job_id=job_id))
    metrics = client.sdk.show_training_job_metrics(
        ShowTrainingJobMetricsRequest(training_job_id=job_id, task_id="worker-0")
    )

    assert [task.task for task in tasks] == ["worker-0", "worker-1"]
    assert [stage.name for stage in stages.running_records[0].stages] == ["scheduling", "preparing", "end"]
    assert metrics.status_code == 204


def test_flavors_engines_and_pools_are_listed(client: TrainingClient) -> None:
    flavors = client.sdk.show_training_job_flavors(ShowTrainingJobFlavorsRequest(flavor_type="CPU")).flavors
    ascend = client.sdk.show_training_job_flavors(ShowTrainingJobFlavorsRequest(flavor_type="Ascend")).flavors
    engines = client.sdk.show_training_job_engines(ShowTrainingJobEnginesRequest()).items
    pools = client.sdk.list_pools(ListPoolsRequest())

    assert [(flavor.flavor_id, flavor.attributes["cards"], flavor.max_num) for flavor in flavors] == [
        ("sandbox.cpu.1card", "1", 8),
        ("sandbox.cpu.2cards", "2", 8),
        ("sandbox.cpu.4cards", "4", 8),
        ("sandbox.cpu.8cards", "8", 8),
    ]
    assert [flavor.flavor_info.npu.unit_num for flavor in ascend] == ["1", "2", "4", "8"]
    assert ("Ascend-Powered-Engine", ENGINE) in {(engine.engine_name, engine.engine_version) for engine in engines}
    assert pools.items == []
    with pytest.raises(ClientRequestException, match=r"ModelArts\.2890"):
        client.sdk.show_pool(ShowPoolRequest(pool_name="pool-a"))


def test_another_project_does_not_exist(client: TrainingClient) -> None:
    with pytest.raises(ClientRequestException, match=r"ModelArts\.2786"):
        client.sdk.call_api(
            "/v2/somebody-elses/training-job-engines", "GET", {}, [], {}, response_type="ShowTrainingJobEnginesResponse"
        )


def test_an_address_that_is_not_imitated_says_so_and_lists_what_is(client: TrainingClient) -> None:
    with pytest.raises(ServerResponseException) as refused:
        client.sdk.show_ft_metrics(ShowFtMetricsRequest(training_job_id="any"))

    assert refused.value.status_code == 501
    assert "AISBench sandbox" in refused.value.error_msg
    assert "no fine-tuning jobs" in refused.value.error_msg
