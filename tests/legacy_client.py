"""A person's requests to the older training API (v1), which the SDK has no methods for."""

from collections.abc import Mapping
from typing import Any

from tests.sandbox_process import SandboxProcess
from tests.signed_requests import SignedRequests


class LegacyClient:
    """Requests below /v1/{project_id}/, signed by the SDK's signer."""

    def __init__(self, sandbox: SandboxProcess) -> None:
        self._signed = SignedRequests(sandbox)

    def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """The answer to a request that is carried out."""
        answer = self._signed.json(method, path, body, version="v1")
        assert answer["is_success"] is True
        return answer

    def refused(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> tuple[int, str]:
        """Status and code of a request that is not."""
        answer = self._signed.send(method, path, body, version="v1")
        assert answer.json()["is_success"] is False, answer.text
        assert answer.json()["error_message"] == answer.json()["error_msg"] != ""
        return answer.status_code, answer.json()["error_code"]

    def create(self, name: str = "old-job", **config: Any) -> Any:
        """A new job with these changes to its configuration."""
        return self.ask("POST", "training-jobs", {"job_name": name, "config": configuration(**config)})

    def version(self, made: Mapping[str, Any]) -> Any:
        """The details of the version that was made."""
        return self.ask("GET", f"training-jobs/{made['job_id']}/versions/{made['version_id']}")

    def names(self, **query: object) -> list[str]:
        """The names that the list shows, in its order."""
        text = "&".join(f"{key}={value}" for key, value in query.items())
        return [job["job_name"] for job in self.ask("GET", f"training-jobs?{text}")["jobs"]]


def configuration(**changes: Any) -> dict[str, Any]:
    """What a job runs: the code at /sandbox-bench/code/."""
    return {
        "worker_server_num": 1,
        "app_url": "/sandbox-bench/code/",
        "boot_file_url": "/sandbox-bench/code/train.py",
        "parameter": [{"label": "epochs", "value": "3"}],
        "data_url": "/sandbox-bench/data/",
        "train_url": "/sandbox-bench/out/V1/",
        "log_url": "/sandbox-bench/out/V1/",
        "spec_id": 1,
        "engine_id": 1,
        **changes,
    }
