"""Tags, experiments, changes and mass deletion of the sandbox's training jobs, by the unmodified SDK."""

from collections.abc import Mapping
from typing import Any

import pytest
from huaweicloudsdkcore.exceptions.exceptions import ClientRequestException
from huaweicloudsdkmodelarts.v1 import (
    BatchDeleteJobItem,
    BatchDeleteJobMetadata,
    BatchDeleteJobsReq,
    BatchDeleteTrainingJobRequest,
    ChangeTrainingExperimentRequest,
    ChangeTrainingExperimentRequestBody,
    ChangeTrainingJobDescriptionRequest,
    CheckTrainingExperimentRequest,
    CountTrainingJobsByTagsRequest,
    CreateTrainingExperimentRequest,
    CreateTrainingExperimentRequestBody,
    CreateTrainJobTagsRequest,
    DeleteTrainingExperimentRequest,
    DeleteTrainJobTagsRequest,
    JobSearches,
    ListTagFilter,
    ListTrainingExperimentsRequest,
    ListTrainingJobsByTagsRequest,
    ListTrainingJobsRequest,
    ListTrainingJobTagsRequest,
    ShowTrainingExperimentDetailsRequest,
    ShowTrainJobTagsRequest,
    TrainingExperimentRequestMetadata,
)

from tests.sandbox_process import SandboxProcess
from tests.training_client import TrainingClient, job_body


@pytest.fixture
def client(sandbox: SandboxProcess) -> TrainingClient:
    client = TrainingClient(sandbox)
    client.put("code/train.py", "print('hello')")
    return client


def made(client: TrainingClient, name: str = "a-job", **changes: Any) -> str:
    body = job_body(name)
    body["metadata"].update(changes)
    return str(client.create(body).metadata.id)


def change(client: TrainingClient, job_id: str, body: Mapping[str, Any]) -> Any:
    request = ChangeTrainingJobDescriptionRequest(training_job_id=job_id, body=body)
    return client.sdk.change_training_job_description(request)


def refusal(refused: pytest.ExceptionInfo[ClientRequestException]) -> tuple[int, str]:
    return refused.value.status_code, refused.value.error_code


def tag(client: TrainingClient, job_id: str, **tags: str) -> None:
    body = {"tags": [{"key": key, "value": value} for key, value in tags.items()]}
    client.sdk.create_train_job_tags(CreateTrainJobTagsRequest(training_job_id=job_id, body=body))


def tags(client: TrainingClient, job_id: str) -> dict[str, str]:
    reply = client.sdk.show_train_job_tags(ShowTrainJobTagsRequest(training_job_id=job_id))
    return {tag.key: tag.value for tag in reply.tags}


def found(client: TrainingClient, **asked: Any) -> list[str]:
    reply = client.sdk.list_training_jobs(ListTrainingJobsRequest(body=JobSearches(**asked)))
    return [job.metadata.name for job in reply.items]


def by_tags(client: TrainingClient, **asked: Any) -> list[str]:
    listed = client.sdk.list_training_jobs_by_tags(ListTrainingJobsByTagsRequest(body=asked))
    counted = client.sdk.count_training_jobs_by_tags(CountTrainingJobsByTagsRequest(body=asked))
    assert listed.total_count == counted.total_count == len(listed.resources)
    return [resource.resource_name for resource in listed.resources]


def test_description_and_annotations_of_a_job_are_changed(client: TrainingClient) -> None:
    job_id = made(client)

    reply = change(client, job_id, {"description": "新", "metadata": {"annotation": {"jupyter-lab/enable": "true"}}})

    assert reply.status_code == 200
    shown = client.show(job_id).metadata
    assert (shown.description, shown.annotations) == ("新", {"jupyter-lab/enable": "true"})


@pytest.mark.parametrize(
    "body",
    [
        {"description": "d" * 257},
        {"spec": {"notification": {"topic_urn": "urn:smn:a", "events": ["JobDanced"]}}},
        {"spec": {"schedule_policy": {"priority": 2}}},
        {"metadata": {"annotation": {"a": 1}}},
    ],
)
def test_a_change_that_makes_no_sense_is_refused_and_changes_nothing(
    client: TrainingClient, body: dict[str, Any]
) -> None:
    job_id = made(client)
    before = client.show(job_id)

    with pytest.raises(ClientRequestException) as refused:
        change(client, job_id, body)

    assert refusal(refused) == (400, "ModelArts.2788")
    after = client.show(job_id)
    assert (after.metadata, after.spec) == (before.metadata, before.spec)


def test_jobs_are_deleted_together_or_not_at_all(client: TrainingClient) -> None:
    ids = [made(client, f"job-{number}") for number in range(3)]

    def delete(*jobs: str) -> int:
        items = [BatchDeleteJobItem(kind="job", metadata=BatchDeleteJobMetadata(id=job)) for job in jobs]
        request = BatchDeleteTrainingJobRequest(body=BatchDeleteJobsReq(jobs=items))
        return int(client.sdk.batch_delete_training_job(request).status_code)

    with pytest.raises(ClientRequestException) as refused:
        delete(ids[0], "nobody")
    assert refusal(refused) == (400, "ModelArts.2775")
    with pytest.raises(ClientRequestException) as refused:
        delete(*[ids[0]] * 101)
    assert refusal(refused) == (400, "ModelArts.2788")
    assert len(found(client)) == 3

    assert delete(*ids[:2]) == 202

    assert found(client) == ["job-2"]


def test_tags_are_added_replaced_and_removed(client: TrainingClient) -> None:
    job_id = made(client)

    tag(client, job_id, team="vision", 阶段="调 优")
    tag(client, job_id, team="speech", empty="")

    assert tags(client, job_id) == {"team": "speech", "阶段": "调 优", "empty": ""}
    gone = {"tags": [{"key": "team", "value": "vision"}, {"key": "阶段"}]}
    client.sdk.delete_train_job_tags(DeleteTrainJobTagsRequest(training_job_id=job_id, body=gone))
    assert tags(client, job_id) == {"team": "speech", "empty": ""}


@pytest.mark.parametrize(
    "bad",
    [
        [],
        [{"key": "", "value": "a"}],
        [{"key": " a"}],
        [{"key": "_sys_a"}],
        [{"key": "a*"}],
        [{"key": "k" * 129}],
        [{"key": "a", "value": "v" * 256}],
        [{"key": "a", "value": "a\nb"}],
        [{"key": "a"}, {"key": "a"}],
    ],
)
def test_a_tag_that_breaks_the_rules_is_refused(client: TrainingClient, bad: list[dict[str, str]]) -> None:
    job_id = made(client)

    with pytest.raises(ClientRequestException) as refused:
        client.sdk.create_train_job_tags(CreateTrainJobTagsRequest(training_job_id=job_id, body={"tags": bad}))

    assert refusal(refused) == (400, "ModelArts.2788")
    assert tags(client, job_id) == {}


def test_jobs_are_found_by_their_tags(client: TrainingClient) -> None:
    for name, values in {"red-1": {"colour": "red"}, "blue-1": {"colour": "blue", "size": "L"}}.items():
        tag(client, made(client, name), **values)
    made(client, "bare")

    assert by_tags(client, tags=[{"key": "colour", "values": ["red", "green"]}]) == ["red-1"]
    assert by_tags(client, tags=[{"key": "colour"}, {"key": "size", "values": ["L"]}]) == ["blue-1"]
    assert by_tags(client, without_any_tag=True) == ["bare"]
    assert by_tags(client, matches=[{"key": "resource_name", "value": "-1"}]) == ["red-1", "blue-1"]
    assert by_tags(client, workspace_id="w" * 32) == []
    assert found(client, tags=[ListTagFilter(key="colour", values=["blue"])]) == ["blue-1"]
    assert found(client, tags=[ListTagFilter(key="colour")]) == ["blue-1", "red-1"]
    every = client.sdk.list_training_job_tags(ListTrainingJobTagsRequest(limit=10)).tags
    assert {tag.key: tag.values for tag in every} == {"colour": ["blue", "red"], "size": ["L"]}


def test_a_search_by_tags_or_nodes_spans_a_month_at_most(client: TrainingClient) -> None:
    filters = [{"key": "create_time", "operator": "between", "value": ["0", str(32 * 86_400_000)]}]

    for asked in ({"tags": [{"key": "a"}]}, {"host_ips": ["127.0.0.1"]}):
        with pytest.raises(ClientRequestException) as refused:
            found(client, filters=filters, **asked)
        assert refusal(refused) == (400, "ModelArts.2809")


def test_jobs_are_found_by_the_node_that_they_were_on(client: TrainingClient, sandbox: SandboxProcess) -> None:
    sandbox.script(by="hold")
    started = made(client, "started")
    client.show(started)
    made(client, "waiting")
    sandbox.script(by="time", seconds_per_phase=3600)

    reply = client.sdk.list_training_jobs(ListTrainingJobsRequest(body=JobSearches(host_ips=["127.0.0.1", "10.0.0.1"])))
    (job,) = [job for job in reply.items if job.metadata.name == "started"]
    assert [(task.task, task.host_ip) for task in job.status.task_ips] == [("worker-0", "127.0.0.1")]
    assert found(client, host_ips=["10.0.0.1"]) == []
    with pytest.raises(ClientRequestException) as refused:
        found(client, host_ips=["somewhere"])
    assert refusal(refused) == (400, "ModelArts.2788")


def test_a_job_joins_an_experiment_by_id_or_by_name(client: TrainingClient) -> None:
    metadata = TrainingExperimentRequestMetadata(name="sweep", description="learning rates")
    request = CreateTrainingExperimentRequest(body=CreateTrainingExperimentRequestBody(metadata=metadata))
    experiment = client.sdk.create_training_experiment(request).metadata.id

    by_id = made(client, "by-id", training_experiment_reference={"id": experiment})
    made(client, "by-name", training_experiment_reference={"name": "sweep"})
    made(client, "by-new-name", training_experiment_reference={"name": "another"})

    reference = client.show(by_id).metadata.training_experiment_reference
    assert (reference.id, reference.name, reference.serial_number) == (experiment, "sweep", "1")
    details = ShowTrainingExperimentDetailsRequest(experiment_id=experiment)
    assert client.sdk.show_training_experiment_details(details).statistic.job_count == 2
    listed = client.sdk.list_training_experiments(ListTrainingExperimentsRequest(sort_by="name", order="asc"))
    assert [(entry.metadata.name, entry.statistic.job_count) for entry in listed.items] == [
        ("another", 1),
        ("sweep", 2),
    ]


def test_an_experiment_is_renamed_and_deleted_and_its_name_is_taken_once(client: TrainingClient) -> None:
    def make(name: str) -> str:
        body = {"metadata": {"name": name}}
        request = CreateTrainingExperimentRequest(body=body)
        return str(client.sdk.create_training_experiment(request).metadata.id)

    def is_taken(name: str) -> bool:
        reply = client.sdk.check_training_experiment(CheckTrainingExperimentRequest(experiment_name=name))
        return bool(reply.is_duplicate)

    first = make("first")
    make("second")
    with pytest.raises(ClientRequestException) as refused:
        make("first")
    assert refusal(refused) == (400, "ModelArts.2841")
    rename = ChangeTrainingExperimentRequestBody(name="second")
    with pytest.raises(ClientRequestException) as refused:
        client.sdk.change_training_experiment(ChangeTrainingExperimentRequest(experiment_id=first, body=rename))
    assert refusal(refused) == (400, "ModelArts.2841")
    rename = ChangeTrainingExperimentRequestBody(name="third", description="better")

    client.sdk.change_training_experiment(ChangeTrainingExperimentRequest(experiment_id=first, body=rename))

    assert (is_taken("first"), is_taken("third")) == (False, True)
    client.sdk.delete_training_experiment(DeleteTrainingExperimentRequest(experiment_id=first))
    with pytest.raises(ClientRequestException) as refused:
        made(client, training_experiment_reference={"id": first})
    assert refusal(refused) == (400, "ModelArts.2842")
    assert found(client) == []


def test_tags_and_experiments_outlive_the_sandbox(client: TrainingClient, sandbox: SandboxProcess) -> None:
    sandbox.script(by="hold")
    job_id = made(client, training_experiment_reference={"name": "lasting"})
    tag(client, job_id, kept="yes")

    sandbox.restart()

    assert tags(client, job_id) == {"kept": "yes"}
    assert client.sdk.list_training_experiments(ListTrainingExperimentsRequest()).items[0].metadata.name == "lasting"
