"""The field limits of a create request: what the region refuses, and what it lets pass."""

from collections.abc import Callable
from typing import Any

import pytest
from huaweicloudsdkcore.exceptions.exceptions import ClientRequestException

from tests.sandbox_process import SandboxProcess
from tests.training_client import TrainingClient, job_body

Change = Callable[[dict[str, Any]], object]


@pytest.fixture
def client(sandbox: SandboxProcess) -> TrainingClient:
    client = TrainingClient(sandbox)
    client.put("code/train.py", "print('hello')")
    return client


def nfs(local_path: str, remote: str = "192.168.0.82:/data") -> dict[str, Any]:
    return {"nfs": {"nfs_server_path": remote, "local_path": local_path, "read_only": False}}


def spec(**changes: Any) -> Change:
    return lambda body: body["spec"].update(changes)


def metadata(**changes: Any) -> Change:
    return lambda body: body["metadata"].update(changes)


def environments(**changes: Any) -> Change:
    return lambda body: body["algorithm"].update(environments=changes)


RETRIES = "fault-tolerance/job-retry-num"
NOTIFIED = {"topic_urn": "urn:smn:region:0:bench"}

ALLOWED: list[tuple[str, Change]] = [
    ("eight volumes", spec(volumes=[nfs(f"/mnt/{number}") for number in range(8)])),
    ("a parallel file system", spec(volumes=[{"pfs": {"pfs_path": "/bench-pfs/data", "local_path": "/mnt/pfs"}}])),
    ("a share with a long path", spec(volumes=[nfs("/mnt/a", "192.168.0.82:" + f"/{'n' * 255}" * 3)])),
    ("a volume beside the code", spec(volumes=[nfs("/home/ma-user/work")])),
    ("all notifications", spec(notification={**NOTIFIED, "events": ["JobStarted", "JobHanged", "JobPreempted"]})),
    ("128 retries", metadata(annotations={RETRIES: "128", "fault-tolerance/hang-retry": "true"})),
    ("an annotation that is not known", metadata(annotations={"somebody.else/key": "value"})),
    ("a description of 256", metadata(description="d" * 256)),
    ("no description", metadata(description=None)),
    ("a workspace", metadata(workspace_id="0123456789abcdef" * 2)),
    ("a long name of a variable", environments(**{"N" * 8192: "v"})),
    ("a long value of a variable", environments(NAME="v" * 4096)),
    ("many hours", spec(auto_stop={"time_unit": "HOURS", "duration": 720})),
    ("nulls where nothing is meant", spec(volumes=None, notification=None, schedule_policy=None, auto_stop=None)),
]

REFUSED: list[tuple[str, str, Change]] = [
    ("nine volumes", "2788", spec(volumes=[nfs(f"/mnt/{number}") for number in range(9)])),
    ("the same place twice", "2788", spec(volumes=[nfs("/mnt/a"), nfs("/mnt/a/")])),
    ("a volume over everything", "2788", spec(volumes=[nfs("/")])),
    ("a volume over the cache", "2788", spec(volumes=[nfs("/cache")])),
    ("a volume over the platform's own", "2788", spec(volumes=[nfs("/home/ma-user/modelarts")])),
    ("a relative place", "2788", spec(volumes=[nfs("mnt")])),
    ("a volume of two kinds", "2788", spec(volumes=[{**nfs("/mnt/a"), "pfs": {"pfs_path": "/b", "local_path": "/c"}}])),
    ("a volume of no kind", "2788", spec(volumes=[{}])),
    ("a server without an address", "2788", spec(volumes=[nfs("/mnt/a", "/data")])),
    ("a share that no server can have", "2788", spec(volumes=[nfs("/mnt/a", f"192.168.0.82:/{'n' * 256}")])),
    ("a place that no node can have", "2788", spec(volumes=[nfs(f"/mnt/{'数' * 86}")])),
    ("volumes that are no list", "2788", spec(volumes={"nfs": {}})),
    ("an unknown notification", "2788", spec(notification={**NOTIFIED, "events": ["JobDanced"]})),
    ("a notification to nobody", "2788", spec(notification={"events": ["JobStarted"]})),
    ("a priority without a pool", "2788", spec(schedule_policy={"priority": 2})),
    ("a priority of 4", "2816", spec(schedule_policy={"priority": 4})),
    ("129 retries", "2788", metadata(annotations={RETRIES: "129"})),
    ("no retries", "2788", metadata(annotations={RETRIES: "0"})),
    ("retries that are a number", "2788", metadata(annotations={RETRIES: 3})),
    ("hang-retry perhaps", "2788", metadata(annotations={"fault-tolerance/hang-retry": "perhaps"})),
    ("a description of 257", "2788", metadata(description="d" * 257)),
    ("a description that is a number", "2788", metadata(description=1)),
    ("a workspace that cannot be", "2891", metadata(workspace_id="mine")),
    ("a too long name of a variable", "2788", environments(**{"N" * 8193: "v"})),
    ("a too long value of a variable", "2788", environments(NAME="v" * 4097)),
    ("a variable that is a number", "2788", environments(NAME=1)),
    ("no hours", "2788", spec(auto_stop={"time_unit": "HOURS", "duration": 0})),
    ("hours without a unit", "2788", spec(auto_stop={"duration": 1})),
]


def changed(change: Change) -> dict[str, Any]:
    body = job_body()
    change(body)
    return body


@pytest.mark.parametrize("change", [change for _, change in ALLOWED], ids=[name for name, _ in ALLOWED])
def test_what_the_documents_allow_makes_a_job(client: TrainingClient, change: Change) -> None:
    body = changed(change)

    created = client.create(body)

    assert created.status_code == 201


@pytest.mark.parametrize(("code", "change"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_what_the_documents_forbid_is_refused_with_their_code(
    client: TrainingClient, code: str, change: Change
) -> None:
    with pytest.raises(ClientRequestException) as refused:
        client.create(changed(change))

    assert (refused.value.status_code, refused.value.error_code) == (400, f"ModelArts.{code}"), refused.value.error_msg
    assert refused.value.error_msg
