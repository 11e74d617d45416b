"""Training jobs of the newer API."""  # noqa: N999  # the package's own name

from __future__ import annotations

from typing import Any

from modelarts.estimator import JOB_STATE as JOB_STATE
from modelarts.session import Session
from modelarts.train_params import InputData, OutputData, TrainingFiles, api_path


class Estimator:
    """A job to be made, or by its id one that was."""

    def __init__(
        self,
        session: Session,
        training_files: TrainingFiles | None = None,
        outputs: list[OutputData] | None = None,
        parameters: list[dict[str, str]] | None = None,
        framework_type: str | None = None,
        framework_version: str | None = None,
        train_instance_type: str | None = None,
        train_instance_count: int | None = None,
        log_url: str | None = None,
        env_variables: dict[str, str] | None = None,
        working_dir: str | None = None,
        local_code_dir: str | None = None,
        volumes: list[dict[str, Any]] | None = None,
        user_image_url: str | None = None,
        user_command: str | None = None,
        pool_id: str | None = None,
        job_description: str | None = None,
        job_id: str | None = None,
    ) -> None:
        self.session = session
        self.job_id = job_id
        engine = {"engine_name": framework_type, "engine_version": framework_version, "image_url": user_image_url}
        files = training_files or TrainingFiles()
        self._about = {"description": job_description}
        self._algorithm = {
            "code_dir": api_path(files.code_dir or "") or None,
            "boot_file": api_path(files.boot_file or "") or None,
            "command": user_command,
            "working_dir": working_dir,
            "local_code_dir": local_code_dir,
            "parameters": parameters or [],
            "outputs": [each.body for each in outputs or ()],
            "engine": _told(engine),
            "environments": env_variables or {},
        }
        resource = {"flavor_id": train_instance_type, "node_count": train_instance_count, "pool_id": pool_id}
        self._spec = {
            "resource": _told(resource),
            "log_export_path": {"obs_url": api_path(log_url)} if log_url else None,
            "volumes": volumes,
        }

    def fit(self, inputs: list[InputData] | None = None, wait: bool = False, job_name: str | None = None) -> Estimator:
        """Make the job. What the cloud says against it is told by `get_job_info` of the answer."""
        if wait:
            raise ValueError("waiting is not imitated")
        algorithm = {**_told(self._algorithm), "inputs": [each.body for each in inputs or ()]}
        about = _told({"name": job_name, **self._about})
        body = {"kind": "job", "metadata": about, "algorithm": algorithm, "spec": _told(self._spec)}
        made = self.session.ask("POST", "training-jobs", body)
        print(f"job {job_name}: {made}")
        return _Refused(made) if "error_msg" in made else Estimator(self.session, job_id=made["metadata"]["id"])

    def get_job_info(self) -> Any:
        return self.session.ask("GET", f"training-jobs/{self.job_id}")

    def control_job(self) -> Any:
        return self.control_job_by_id(self.session, str(self.job_id))

    def get_job_log(self, task_id: str = "worker-0") -> Any:
        return self.session.ask("GET", f"training-jobs/{self.job_id}/tasks/{task_id}/logs/preview")

    def get_job_metrics(self, task_id: str = "worker-0") -> Any:
        return self.session.ask("GET", f"training-jobs/{self.job_id}/metrics/{task_id}")

    @staticmethod
    def control_job_by_id(session: Session, job_id: str) -> Any:
        return session.ask("POST", f"training-jobs/{job_id}/actions", {"action_type": "terminate"})

    @staticmethod
    def delete_job_by_id(session: Session, job_id: str) -> Any:
        return session.ask("DELETE", f"training-jobs/{job_id}")

    @staticmethod
    def get_job_list(
        session: Session,
        offset: int | None = None,
        limit: int | None = None,
        sort_by: str | None = None,
        order: str | None = None,
        group_by: str | None = None,
        filters: list[dict[str, Any]] | None = None,
    ) -> Any:
        asked = {"offset": offset, "limit": limit, "sort_by": sort_by, "order": order, "group_by": group_by}
        return session.ask("POST", "training-job-searches", _told({**asked, "filters": filters}))

    @staticmethod
    def get_train_instance_types(session: Session) -> Any:
        """The names of the flavors."""
        answer = session.ask("GET", "training-job-flavors")
        return answer if "error_msg" in answer else [each["flavor_id"] for each in answer["flavors"]]

    @staticmethod
    def get_framework_list(session: Session) -> Any:
        answer = session.ask("GET", "training-job-engines")
        if "error_msg" in answer:
            return answer
        return [
            {"framework_type": each["engine_name"], "framework_version": each["engine_version"]}
            for each in answer["items"]
        ]


class _Refused(Estimator):
    """What was not made."""

    def __init__(self, answer: dict[str, Any]) -> None:
        self._answer = answer

    def get_job_info(self) -> Any:
        return self._answer


def _told(facts: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in facts.items() if value is not None}
