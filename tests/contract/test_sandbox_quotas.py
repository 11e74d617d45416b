"""How many training jobs there may be, by the unmodified SDK."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from huaweicloudsdkcore.exceptions.exceptions import ClientRequestException
from huaweicloudsdkmodelarts.v1 import (
    ListTrainingExperimentsRequest,
    ModifyTrainingQuotasRequest,
    ShowTrainingQuotasRequest,
)

from tests.sandbox_process import SandboxProcess
from tests.training_client import TrainingClient, job_body


@pytest.fixture
def client(sandbox: SandboxProcess) -> TrainingClient:
    client = TrainingClient(sandbox)
    client.put("code/train.py", "print('hello')")
    return client


def refusal(refused: pytest.ExceptionInfo[ClientRequestException]) -> tuple[int, str]:
    return refused.value.status_code, refused.value.error_code


def made(client: TrainingClient, name: str, **changes: Any) -> str:
    body = job_body(name)
    body["metadata"].update(changes)
    return str(client.create(body).metadata.id)


def set_quota(client: TrainingClient, jobs: int) -> Any:
    body = {"user_id": "somebody", "quotas": [{"resource": "job-num", "quota": jobs}]}
    return client.sdk.modify_training_quotas(ModifyTrainingQuotasRequest(body=body))


def test_a_quota_holds_for_many_who_create_at_once(client: TrainingClient) -> None:
    set_quota(client, 3)

    def create(number: int) -> str:
        try:
            return made(client, f"job-{number}", training_experiment_reference={"name": "together"})
        except ClientRequestException as refused:
            return str(refused.error_code)

    with ThreadPoolExecutor(12) as people:
        answers = list(people.map(create, range(12)))

    assert answers.count("ModelArts.2815") == 9
    (experiment,) = client.sdk.list_training_experiments(ListTrainingExperimentsRequest()).items
    assert experiment.statistic.job_count == 3


def test_a_job_beyond_the_quota_is_refused(client: TrainingClient) -> None:
    made(client, "first")
    (before,) = client.sdk.show_training_quotas(ShowTrainingQuotasRequest(resource="job-num")).quotas
    assert (before.resource, before.quota, before.used) == ("job-num", 10_000, 1)

    set_quota(client, 1)

    with pytest.raises(ClientRequestException) as refused:
        made(client, "second")
    assert refusal(refused) == (400, "ModelArts.2815")
    with pytest.raises(ClientRequestException) as refused:
        set_quota(client, 0)
    assert refusal(refused) == (400, "ModelArts.2788")


def test_a_quota_outlives_the_sandbox(client: TrainingClient, sandbox: SandboxProcess) -> None:
    set_quota(client, 7)

    sandbox.restart()

    assert client.sdk.show_training_quotas(ShowTrainingQuotasRequest()).quotas[0].quota == 7
