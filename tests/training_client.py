"""The official SDKs pointed at a sandbox, and requests for small jobs."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from huaweicloudsdkcore.auth.credentials import BasicCredentials
from huaweicloudsdkmodelarts.v1 import (
    CreateTrainingJobRequest,
    DeleteTrainingJobRequest,
    JobActionType,
    ModelArtsClient,
    ShowTrainingJobDetailsRequest,
    StopTrainingJobRequest,
)
from obs import ObsClient

from tests.sandbox_process import SandboxProcess

ENGINE = "mindspore_2.2.12-cann_7.0.1.1-py_3.9-euler_2.10.7-aarch64-snt9b"
ENDED = frozenset({"Completed", "Failed", "Terminated", "Abnormal"})


class TrainingClient:
    """One person's SDK clients. Bodies are written as the API documents them, not as the SDK's classes."""

    def __init__(self, sandbox: SandboxProcess) -> None:
        self._sandbox = sandbox
        access_key, secret_key = sandbox.keys
        credentials = BasicCredentials(access_key, secret_key, sandbox.project_id)
        self.sdk = (
            ModelArtsClient.new_builder().with_credentials(credentials).with_endpoint(sandbox.modelarts_url).build()
        )
        self.obs = ObsClient(access_key_id=access_key, secret_access_key=secret_key, server=sandbox.obs_url)

    def put(self, key: str, content: str) -> None:
        """Store one object in the sandbox's bucket."""
        reply = self.obs.putContent(self._sandbox.bucket, key, content)
        assert reply.status == 200, reply

    def get(self, key: str) -> str | None:
        """One object's text, or None."""
        reply = self.obs.getObject(self._sandbox.bucket, key, loadStreamInMemory=True)
        return bytes(reply.body.buffer or b"").decode() if reply.status == 200 else None

    def keys(self, prefix: str) -> list[str]:
        """The keys under a prefix (at most 1,000)."""
        reply = self.obs.listObjects(self._sandbox.bucket, prefix)
        assert reply.status == 200, reply
        return [content.key for content in reply.body.contents]

    def create(self, body: Mapping[str, Any]) -> Any:
        """Create a job; the SDK sends the dictionary as it is."""
        return self.sdk.create_training_job(CreateTrainingJobRequest(body=body))

    def show(self, job_id: str) -> Any:
        """One job."""
        return self.sdk.show_training_job_details(ShowTrainingJobDetailsRequest(training_job_id=job_id))

    def phase(self, job_id: str) -> str:
        """Where the job stands."""
        return str(self.show(job_id).status.phase)

    def stop(self, job_id: str) -> Any:
        """Ask a job to end."""
        action = JobActionType(action_type="terminate")
        return self.sdk.stop_training_job(StopTrainingJobRequest(training_job_id=job_id, body=action))

    def delete(self, job_id: str) -> None:
        """Remove a job."""
        self.sdk.delete_training_job(DeleteTrainingJobRequest(training_job_id=job_id))

    def log(self, job_id: str, node: int = 0) -> str:
        """A node's log in OBS, empty when there is none yet."""
        return self.get(f"log/modelarts-job-{job_id}-worker-{node}.log") or ""

    def wait(self, job_id: str, phases: frozenset[str] = ENDED, seconds: float = 60.0) -> Any:
        """The job, once it is in one of these phases."""
        await_true(lambda: self.phase(job_id) in phases, f"job in {sorted(phases)}", seconds)
        return self.show(job_id)


def await_true(condition: Callable[[], bool], what: str, seconds: float = 60.0) -> None:
    """Wait for another process, at most so long."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds} s in vain for: {what}"
        time.sleep(0.05)


def job_body(
    name: str = "a-job",
    *,
    nodes: int = 1,
    flavor: str = "sandbox.cpu.1card",
    bucket: str = "sandbox-bench",
    code: str = "code/",
    boot: str = "train.py",
    parameters: Sequence[tuple[str, str]] = (),
    inputs: Sequence[Mapping[str, Any]] = (),
    outputs: Sequence[Mapping[str, Any]] | None = None,
    environments: Mapping[str, str] | None = None,
    log: str = "log/",
) -> dict[str, Any]:
    """A create request for the code at /bucket/code/."""
    return {
        "kind": "job",
        "metadata": {"name": name, "description": "a test"},
        "algorithm": {
            "code_dir": f"/{bucket}/{code}",
            "boot_file": f"/{bucket}/{code}{boot}",
            "parameters": [{"name": key, "value": value} for key, value in parameters],
            "inputs": list(inputs),
            "outputs": [channel("train_url", f"/{bucket}/out/")] if outputs is None else list(outputs),
            "engine": {"engine_name": "Ascend-Powered-Engine", "engine_version": ENGINE},
            "environments": dict(environments or {}),
        },
        "spec": {
            "resource": {"flavor_id": flavor, "node_count": nodes},
            "log_export_path": {"obs_url": f"/{bucket}/{log}"},
        },
    }


def channel(name: str, url: str, access_method: str = "parameter") -> dict[str, Any]:
    """An input or output as the API writes it."""
    return {"name": name, "access_method": access_method, "remote": {"obs": {"obs_url": url}}}
