"""Dedicated pools over HTTP: what the plan of the admin side looks like to the unmodified SDK."""

from typing import Any

import pytest
from huaweicloudsdkcore.exceptions.exceptions import ClientRequestException
from huaweicloudsdkmodelarts.v1 import (
    ChangeTrainingJobDescriptionRequest,
    ListPoolNodesRequest,
    ListPoolsRequest,
    ListResourceFlavorsRequest,
    ListTrainingJobTasksRequest,
    ListWorkloadsRequest,
    ShowPoolMonitorRequest,
    ShowPoolRequest,
    ShowPoolRuntimeMetricsRequest,
    ShowPoolStatisticsRequest,
    ShowTrainingFlavorMaxAvailableResourceRequest,
)

from tests.sandbox_process import SandboxProcess
from tests.training_client import TrainingClient, job_body

POOL = "pool-aisb-0123456789abcdef0123456789abcdef"
SPARE = "pool-spare-0123456789abcdef0123456789abcde"
ASCEND = "modelarts.kat1.8xlarge"


@pytest.fixture
def client(sandbox: SandboxProcess) -> TrainingClient:
    pools = [
        {"name": POOL, "flavor": ASCEND, "nodes": 4, "bad": [3]},
        {"name": SPARE, "flavor": "sandbox.cpu.2cards", "nodes": 1},
    ]
    sandbox.admin("PUT", "capacity", {"pools": pools})
    sandbox.script(by="hold")
    client = TrainingClient(sandbox)
    client.put("code/train.py", "print('hello')")
    return client


def in_pool(client: TrainingClient, name: str, priority: int = 1, nodes: int = 1) -> str:
    body = job_body(name, nodes=nodes, flavor="modelarts.pool.visual.8xlarge")
    body["spec"]["resource"]["pool_id"] = POOL
    body["spec"]["schedule_policy"] = {"priority": priority}
    return str(client.create(body).metadata.id)


def workloads(client: TrainingClient, **asked: Any) -> Any:
    return client.sdk.list_workloads(ListWorkloadsRequest(pool_name=POOL, **asked)).items


def test_the_pools_of_the_plan_are_listed_and_chosen_by_label_and_status(client: TrainingClient) -> None:
    def names(**asked: str) -> list[str]:
        return [pool.metadata.name for pool in client.sdk.list_pools(ListPoolsRequest(**asked)).items]

    assert names() == [POOL, SPARE]
    assert names(label_selector=f"os.modelarts/name={SPARE}") == [SPARE]
    assert names(workspace_id="0", status="created") == [POOL, SPARE]
    assert names(status="failed") == names(workspace_id="w" * 32) == []


def test_a_pool_tells_what_it_is_made_of_and_what_is_left(client: TrainingClient) -> None:
    client.show(in_pool(client, "busy", nodes=2))

    pool = client.sdk.show_pool(ShowPoolRequest(pool_name=POOL))

    (resource,) = pool.spec.resources
    assert (resource.flavor, resource.count, pool.status.phase) == (ASCEND, 4, "Running")
    assert (pool.status.resources.available.count, pool.status.resources.abnormal.count) == (1, 1)
    assert pool.spec.job_flavors[-1] == "modelarts.pool.visual.8xlarge"
    with pytest.raises(ClientRequestException) as refused:
        client.sdk.show_pool(ShowPoolRequest(pool_name="pool-nobody"))
    assert (refused.value.status_code, refused.value.error_code) == (404, "ModelArts.2890")


def test_nodes_are_listed_in_pages_and_bad_ones_are_abnormal(client: TrainingClient) -> None:
    first = client.sdk.list_pool_nodes(ListPoolNodesRequest(pool_name=POOL, limit=3))
    rest = client.sdk.list_pool_nodes(ListPoolNodesRequest(pool_name=POOL, _continue=first.metadata._continue))

    nodes = [*first.items, *rest.items]
    assert [node.metadata.name for node in nodes] == [f"{POOL}-node-{number}" for number in range(4)]
    assert [node.status.phase for node in nodes] == ["Available"] * 3 + ["Abnormal"]
    assert nodes[0].status.resources.huawei_com_ascend_snt9 == "8"
    assert first.metadata.remaining_item_count == 1
    assert not rest.metadata._continue


def test_workloads_tell_who_runs_where_and_who_waits_in_which_place(client: TrainingClient) -> None:
    running = in_pool(client, "running", nodes=2)
    client.show(running)
    by_name = {workload.job_name: workload for workload in workloads(client)}

    assert by_name["running"].status == "Running"
    assert (by_name["running"].job_uuid, by_name["running"].flavor) == (running, "modelarts.pool.visual.8xlarge")
    tasks = client.sdk.list_training_job_tasks(ListTrainingJobTasksRequest(training_job_id=running)).body
    assert by_name["running"].host_ips == ",".join(dict.fromkeys(task.host_ip for task in tasks))
    assert [workload.job_name for workload in workloads(client, hostip=[tasks[0].host_ip])] == ["running"]
    assert workloads(client, hostip=["10.0.0.1"]) == []


def test_workloads_are_filtered_sorted_and_paged(client: TrainingClient) -> None:
    for name in ("first", "second", "third"):
        in_pool(client, name)

    def names(**asked: Any) -> list[str]:
        return [workload.job_name for workload in workloads(client, **asked)]

    assert names(sort="create_time", ascend=True) == ["first", "second", "third"]
    assert names(offset="1", limit=1) == ["second"]
    assert names(type="infer") == names(status="Failed") == []


def test_usage_statistics_and_monitoring_of_pools(client: TrainingClient) -> None:
    client.show(in_pool(client, "busy", nodes=2))

    usage = client.sdk.show_pool_runtime_metrics(ShowPoolRuntimeMetricsRequest()).items[0]
    statistics = client.sdk.show_pool_statistics(ShowPoolStatisticsRequest()).statistics
    monitor = client.sdk.show_pool_monitor(ShowPoolMonitorRequest(pool_name=POOL, time_range="-1.-1.10"))

    assert usage.metadata.name == POOL
    assert statistics.status.created == 2
    assert {series.metric.metric_name for series in monitor.metrics} >= {"cpuUsage", "npuUtil"}
    assert [point.statistics[0].value for point in monitor.metrics[0].data_points] == [-1] * 10


@pytest.mark.parametrize("asked", [{"time_range": "now"}, {"period": "61"}, {"statistics": "median"}])
def test_monitoring_that_cannot_be_is_refused(client: TrainingClient, asked: dict[str, str]) -> None:
    with pytest.raises(ClientRequestException) as refused:
        client.sdk.show_pool_monitor(ShowPoolMonitorRequest(pool_name=POOL, **asked))

    assert (refused.value.status_code, refused.value.error_code) == (400, "ModelArts.2764")


def test_machines_and_their_sizes_are_offered(client: TrainingClient) -> None:
    flavors = client.sdk.list_resource_flavors(ListResourceFlavorsRequest()).items
    request = ShowTrainingFlavorMaxAvailableResourceRequest(flavor_id=ASCEND, pool_id=POOL)
    largest = client.sdk.show_training_flavor_max_available_resource(request)

    (ascend,) = [flavor for flavor in flavors if flavor.metadata.name == ASCEND]
    assert (ascend.spec.type, ascend.spec.cpu_arch, ascend.spec.npu.size) == ("Dedicate", "arm64", "8")
    assert (str(largest.cpu_core_num), f"{largest.mem_size}Gi") == (ascend.spec.cpu, ascend.spec.memory)
    with pytest.raises(ClientRequestException, match=r"ModelArts\.2763"):
        client.sdk.show_training_flavor_max_available_resource(
            ShowTrainingFlavorMaxAvailableResourceRequest(flavor_id="unknown")
        )


def test_the_priority_of_a_job_is_changed_while_it_waits_and_not_later(
    client: TrainingClient, sandbox: SandboxProcess
) -> None:
    sandbox.script(by="time", seconds_per_phase=3600)
    job_id = in_pool(client, "waiting")
    sandbox.script(by="hold")
    running = in_pool(client, "running")
    client.show(running)

    def change(job: str, priority: int) -> int:
        body = {"spec": {"schedule_policy": {"priority": priority}}}
        request = ChangeTrainingJobDescriptionRequest(training_job_id=job, body=body)
        return int(client.sdk.change_training_job_description(request).status_code)

    assert change(job_id, 3) == 200

    assert client.show(job_id).spec.schedule_policy.priority == 3
    with pytest.raises(ClientRequestException) as refused:
        change(running, 3)
    assert (refused.value.status_code, refused.value.error_code) == (409, "ModelArts.2878")
    with pytest.raises(ClientRequestException, match=r"ModelArts\.2816"):
        change(job_id, 4)
