"""The sandbox's training service on a machine that has no room left."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from huaweicloudsdkcore.exceptions.exceptions import ServerResponseException

from tests.sandbox_process import SandboxProcess
from tests.training_client import TrainingClient, job_body


@pytest.fixture
def own(tmp_path: Path) -> Iterator[SandboxProcess]:
    sandbox = SandboxProcess.start(tmp_path / "region")
    yield sandbox
    sandbox.stop()


@contextmanager
def no_room(sandbox: SandboxProcess) -> Iterator[None]:
    """Every write of the sandbox ends as on a full disk."""
    before = resource.prlimit(sandbox.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(sandbox.pid, resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.prlimit(sandbox.pid, resource.RLIMIT_FSIZE, before)


def test_a_job_that_cannot_be_stored_is_refused_in_the_service_s_words(own: SandboxProcess) -> None:
    client = TrainingClient(own)
    client.put("code/train.py", "pass")

    with no_room(own), pytest.raises(ServerResponseException) as refused:
        client.create(job_body())

    assert (refused.value.status_code, refused.value.error_code) == (500, "ModelArts.2950")
    assert "the sandbox's machine fails: File too large" in refused.value.error_msg
    assert client.create(job_body()).status.phase == "Creating"
