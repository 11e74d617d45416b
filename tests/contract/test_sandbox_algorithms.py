"""Algorithms in the sandbox, by the official SDK: kept under an id, and run by jobs that name it."""

from typing import Any

import pytest
from huaweicloudsdkcore.exceptions.exceptions import ClientRequestException
from huaweicloudsdkmodelarts.v1 import (
    ChangeAlgorithmRequest,
    CreateAlgorithmRequest,
    DeleteAlgorithmRequest,
    ListAlgorithmsRequest,
    ShowAlgorithmByUuidRequest,
)

from tests.sandbox_process import SandboxProcess
from tests.training_client import TrainingClient, job_body

NOBODY = "00000000-0000-4000-8000-000000000000"


@pytest.fixture
def client(sandbox: SandboxProcess) -> TrainingClient:
    client = TrainingClient(sandbox)
    client.put("code/train.py", "print('hello')")
    return client


def algorithm(name: str = "digits", **config: Any) -> dict[str, Any]:
    """The body of a small algorithm: the code of `job_body`, and a parameter."""
    job = job_body()["algorithm"]
    own = {key: job[key] for key in ("code_dir", "boot_file", "engine")}
    parameters = [{"name": "epochs", "value": "3"}, {"name": "seed", "value": "7"}]
    return {"metadata": {"name": name}, "job_config": {**own, "parameters": parameters, **config}}


def created(client: TrainingClient, body: dict[str, Any]) -> str:
    return str(client.sdk.create_algorithm(CreateAlgorithmRequest(body=body)).metadata.id)


def job_of(algorithm_id: str, **more: Any) -> dict[str, Any]:
    return {**job_body(), "algorithm": {"id": algorithm_id, **more}}


def test_a_job_runs_what_the_algorithm_says_with_its_own_parameters(client: TrainingClient) -> None:
    algorithm_id = created(client, algorithm())

    job = client.create(job_of(algorithm_id, parameters=[{"name": "epochs", "value": "9"}]))

    shown = client.show(job.metadata.id).algorithm
    assert (shown.id, shown.name) == (algorithm_id, "digits")
    assert shown.boot_file == "/sandbox-bench/code/train.py"
    assert {entry.name: entry.value for entry in shown.parameters} == {"epochs": "9", "seed": "7"}


def test_a_job_keeps_its_algorithm_as_it_was(client: TrainingClient) -> None:
    algorithm_id = created(client, algorithm())
    job = client.create(job_of(algorithm_id))
    client.put("code/other.py", "print('other')")

    other = algorithm("other", boot_file="/sandbox-bench/code/other.py")
    client.sdk.change_algorithm(ChangeAlgorithmRequest(algorithm_id=algorithm_id, body=other))
    client.sdk.delete_algorithm(DeleteAlgorithmRequest(algorithm_id=algorithm_id))

    shown = client.show(job.metadata.id).algorithm
    assert (shown.name, shown.boot_file) == ("digits", "/sandbox-bench/code/train.py")
    with pytest.raises(ClientRequestException) as refused:
        client.sdk.show_algorithm_by_uuid(ShowAlgorithmByUuidRequest(algorithm_id=algorithm_id))
    assert refused.value.status_code == 404


def test_algorithms_are_listed_in_pages_of_entries(client: TrainingClient) -> None:
    for number in range(5):
        created(client, algorithm(f"a{number}"))

    request = ListAlgorithmsRequest(offset=3, limit=2, sort_by="name", order="asc")
    page = client.sdk.list_algorithms(request)

    assert (page.total, page.count) == (5, 2)
    assert [item.metadata.name for item in page.items] == ["a3", "a4"]


def test_an_algorithm_may_refuse_further_parameters(client: TrainingClient) -> None:
    algorithm_id = created(client, algorithm(parameters_customization=False))

    client.create(job_of(algorithm_id, parameters=[{"name": "seed", "value": "1"}]))
    with pytest.raises(ClientRequestException) as refused:
        client.create(job_of(algorithm_id, parameters=[{"name": "lr", "value": "1"}]))

    assert refused.value.error_code == "ModelArts.2788"


@pytest.mark.parametrize(
    ("code", "body"),
    [
        ("ModelArts.2788", {**algorithm(), "metadata": {"name": "no blanks"}}),
        ("ModelArts.2757", algorithm(code_dir="/sandbox-bench/nowhere/")),
        ("ModelArts.2758", algorithm(boot_file="/sandbox-bench/code/missing.py")),
        ("ModelArts.2780", algorithm(engine={"engine_name": "a", "engine_version": "b"})),
        ("ModelArts.2753", algorithm(inputs=[{"name": "a/b"}])),
        ("ModelArts.2767", algorithm(parameters=[{"name": "a", "value": "1"}] * 2)),
    ],
)
def test_an_algorithm_that_no_job_could_run_is_refused(client: TrainingClient, code: str, body: dict[str, Any]) -> None:
    with pytest.raises(ClientRequestException) as refused:
        client.sdk.create_algorithm(CreateAlgorithmRequest(body=body))

    assert (refused.value.status_code, refused.value.error_code) == (400, code)


def test_a_subscribed_algorithm_runs_as_it_was_when_it_was_subscribed_to(
    client: TrainingClient, sandbox: SandboxProcess
) -> None:
    algorithm_id = created(client, algorithm())
    ids = sandbox.admin("POST", f"algorithms/{algorithm_id}/subscribe")
    other = algorithm("other", boot_file="/sandbox-bench/code/other.py")
    client.put("code/other.py", "print()")
    client.sdk.change_algorithm(ChangeAlgorithmRequest(algorithm_id=algorithm_id, body=other))

    job = client.create({**job_body(), "algorithm": ids})

    shown = client.show(job.metadata.id).algorithm
    assert (shown.name, shown.boot_file) == ("digits", algorithm()["job_config"]["boot_file"])
    assert shown.item_version_id == ids["item_version_id"]
    with pytest.raises(ClientRequestException, match="is not found"):
        client.create({**job_body(), "algorithm": {**ids, "item_version_id": NOBODY}})


@pytest.mark.parametrize("named", [{"id": NOBODY}, {"id": ["x"]}, {"subscription_id": "s", "item_version_id": "1"}])
def test_an_unknown_algorithm_of_a_job_is_refused(client: TrainingClient, named: dict[str, Any]) -> None:
    body = job_body()
    body["algorithm"] |= named

    with pytest.raises(ClientRequestException) as refused:
        client.create(body)

    assert (refused.value.status_code, refused.value.error_code) == (400, "ModelArts.2755")
