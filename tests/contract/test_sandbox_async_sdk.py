"""The official SDK's asynchronous client drives the sandbox as its synchronous one does."""

from typing import Any

import pytest
from huaweicloudsdkcore.auth.credentials import BasicCredentials
from huaweicloudsdkcore.exceptions.exceptions import ClientRequestException
from huaweicloudsdkmodelarts.v1 import (
    CreateTrainingJobRequest,
    CreateTrainJobTagsRequest,
    DeleteTrainingJobRequest,
    JobActionType,
    JobSearches,
    ListTrainingJobEventsRequest,
    ListTrainingJobsRequest,
    ListTrainingJobTasksRequest,
    ModelArtsAsyncClient,
    ShowTrainingJobDetailsRequest,
    ShowTrainingJobFlavorsRequest,
    ShowTrainingJobLogsPreviewRequest,
    ShowTrainJobTagsRequest,
    StopTrainingJobRequest,
)

from tests.sandbox_process import SandboxProcess
from tests.training_client import TrainingClient, job_body


@pytest.fixture
def client(sandbox: SandboxProcess) -> Any:
    TrainingClient(sandbox).put("code/train.py", "print('hello')")
    credentials = BasicCredentials(*sandbox.keys, sandbox.project_id)
    builder = ModelArtsAsyncClient.new_builder().with_credentials(credentials)
    return builder.with_endpoint(sandbox.modelarts_url).build()


def test_a_job_is_made_followed_tagged_stopped_and_deleted(client: Any, sandbox: SandboxProcess) -> None:
    sandbox.script(by="hold", log="hello\n")

    job_id = client.create_training_job_async(CreateTrainingJobRequest(body=job_body())).result().metadata.id
    asked = {"training_job_id": job_id}
    details = client.show_training_job_details_async(ShowTrainingJobDetailsRequest(**asked)).result()
    tag = {"tags": [{"key": "team", "value": "vision"}]}
    client.create_train_job_tags_async(CreateTrainJobTagsRequest(**asked, body=tag)).result()
    waiting = [
        client.list_training_job_tasks_async(ListTrainingJobTasksRequest(**asked)),
        client.show_training_job_logs_preview_async(ShowTrainingJobLogsPreviewRequest(**asked, task_id="worker-0")),
        client.list_training_job_events_async(ListTrainingJobEventsRequest(**asked, x_language="en-us")),
        client.show_train_job_tags_async(ShowTrainJobTagsRequest(**asked)),
        client.show_training_job_flavors_async(ShowTrainingJobFlavorsRequest()),
    ]
    tasks, log, events, tags, flavors = (future.result() for future in waiting)
    action = StopTrainingJobRequest(**asked, body=JobActionType(action_type="terminate"))
    stopped = client.stop_training_job_async(action).result()

    assert details.status.phase == "Running"
    assert [task.task for task in tasks.body] == ["worker-0"]
    assert log.content.endswith("hello\n")
    assert events.events[-1].message == "Training job is created."
    assert [(tag.key, tag.value) for tag in tags.tags] == [("team", "vision")]
    assert flavors.total_count == len(flavors.flavors)
    assert stopped.status.phase == "Terminating"
    client.delete_training_job_async(DeleteTrainingJobRequest(**asked)).result()
    assert client.list_training_jobs_async(ListTrainingJobsRequest(body=JobSearches())).result().total == 0


def test_a_refusal_arrives_with_its_code(client: Any) -> None:
    future = client.show_training_job_details_async(ShowTrainingJobDetailsRequest(training_job_id="nobody"))

    with pytest.raises(ClientRequestException) as refused:
        future.result()

    assert (refused.value.status_code, refused.value.error_code) == (400, "ModelArts.2775")
