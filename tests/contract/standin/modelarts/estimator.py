"""Training jobs of the older API, which have versions."""

from __future__ import annotations

from typing import Any

from modelarts.session import Session

JOB_STATE = [
    f"JOBSTAT_{name}"
    for name in (
        *("UNKNOWN", "INIT", "IMAGE_CREATING", "IMAGE_FAILED", "SUBMIT_TRYING", "SUBMIT_FAILED", "DELETE_FAILED"),
        *("WAITING", "RUNNING", "KILLING", "COMPLETED", "FAILED", "KILLED", "CANCELED", "LOST", "SCALING"),
        *("SUBMIT_MODEL_FAILED", "DEPLOY_SERVICE_FAILED", "CHECK_INIT", "CHECK_RUNNING"),
        *("CHECK_RUNNING_COMPLETED", "CHECK_FAILED", "MOUNT_FAILED"),
    )
]
"""The names of the states of older jobs, by number."""


class Estimator:
    """A job to be made, or by its numbers one that was."""

    def __init__(
        self,
        modelarts_session: Session,
        framework_type: str | None = None,
        framework_version: str | None = None,
        code_dir: str | None = None,
        boot_file: str | None = None,
        log_url: str | None = None,
        hyperparameters: list[dict[str, str]] | None = None,
        output_path: str | None = None,
        pool_id: str | None = None,
        train_instance_type: str | None = None,
        train_instance_count: int | None = None,
        nas_type: str | None = None,
        nas_share_addr: str | None = None,
        nas_mount_path: str | None = None,
        job_description: str | None = None,
        user_image_url: str | None = None,
        user_command: str | None = None,
        job_id: str | None = None,
        version_id: str | None = None,
    ) -> None:
        self.session = modelarts_session
        self.job_id, self.version_id = job_id, version_id
        self._description = job_description
        self._engine = (framework_type, framework_version)
        self._flavor = train_instance_type
        share = {"src_path": nas_share_addr, "dest_path": nas_mount_path, "read_only": False}
        self._config = {
            "worker_server_num": train_instance_count,
            "app_url": code_dir,
            "boot_file_url": boot_file,
            "parameter": hyperparameters,
            "train_url": output_path,
            "log_url": log_url,
            "pool_id": pool_id,
            "user_image_url": user_image_url,
            "user_command": user_command,
            "volumes": [{"nfs": share}] if nas_type == "nfs" else None,
        }

    # --- making ---------------------------------------------------------------------------------------

    def fit(
        self,
        inputs: str | None = None,
        dataset_id: str | None = None,
        dataset_version_id: str | None = None,
        wait: bool = False,
        job_name: str | None = None,
    ) -> Estimator:
        """Make the job. What the cloud says against it is told by `get_job_info` of the answer."""
        config = self._asked(inputs, dataset_id, dataset_version_id, wait)
        body = {"job_name": job_name, "job_desc": self._description or "", "config": config}
        return self._made(self._ask("POST", "training-jobs", body))

    def create_job_version(
        self,
        job_id: str,
        pre_version_id: int,
        inputs: str | None = None,
        dataset_id: str | None = None,
        dataset_version_id: str | None = None,
        wait: bool = False,
        job_desc: str | None = None,
    ) -> Estimator:
        config = self._asked(inputs, dataset_id, dataset_version_id, wait)
        body = {"job_desc": job_desc or "", "config": {**config, "pre_version_id": pre_version_id}}
        return self._made(self._ask("POST", f"training-jobs/{job_id}/versions", body))

    def _asked(self, inputs: str | None, dataset_id: str | None, version: str | None, wait: bool) -> dict[str, Any]:
        if wait or dataset_id or version:
            raise ValueError("only inputs are imitated, and no waiting")
        if inputs is None:
            raise ValueError("one of inputs, dataset_id and data_source is needed")
        told = {**self._config, "data_url": inputs}
        if self._flavor:
            specs = self._ask("GET", "job/resource-specs?job_type=train")["specs"]
            told["spec_id"] = next(each["spec_id"] for each in specs if each["spec_code"] == self._flavor)
        if self._engine[0]:
            engines = self._ask("GET", "job/ai-engines?job_type=train")["engines"]
            told["engine_id"] = next(
                each["engine_id"] for each in engines if (each["engine_name"], each["engine_version"]) == self._engine
            )
        return {name: value for name, value in told.items() if value is not None}

    def _made(self, answer: dict[str, Any]) -> Estimator:
        print(f"made: {answer}")
        if not answer["is_success"]:
            return _Refused(answer)
        return Estimator(self.session, job_id=str(answer["job_id"]), version_id=str(answer["version_id"]))

    # --- looking --------------------------------------------------------------------------------------

    def get_job_info(self) -> Any:
        return self._ask("GET", f"training-jobs/{self.job_id}/versions/{self.version_id}")

    def get_job_version_info(self) -> Any:
        return self._ask("GET", f"training-jobs/{self.job_id}/versions")

    def get_job_version_object_list(self, is_show: bool = True) -> list[Estimator]:
        told = self.get_job_version_info()
        if is_show:
            print(told)
        versions = told["versions"]
        return [Estimator(self.session, job_id=self.job_id, version_id=each["version_id"]) for each in versions]

    def get_job_log_file_list(self) -> Any:
        return self._ask("GET", f"training-jobs/{self.job_id}/versions/{self.version_id}/log/file-names")

    def get_job_log(self, log_file: str, start_byte: int = 0, offset: int = 2048) -> Any:
        """The newest part, for `start_byte` -1, else the first one."""
        order = "desc" if start_byte == -1 else "asc"
        asked = f"log_file={log_file}&lines={min(500, max(1, abs(offset)))}&order={order}"
        return self._ask("GET", f"training-jobs/{self.job_id}/versions/{self.version_id}/aom-log?{asked}")

    # --- ending ---------------------------------------------------------------------------------------

    def stop_job_version(self) -> Any:
        return self._ask("POST", f"training-jobs/{self.job_id}/versions/{self.version_id}/stop")

    def delete_job_version(self) -> Any:
        return self._ask("DELETE", f"training-jobs/{self.job_id}/versions/{self.version_id}")

    def delete_job(self) -> Any:
        return self.delete_job_by_id(self.session, str(self.job_id))

    @staticmethod
    def delete_job_by_id(modelarts_session: Session, job_id: str) -> Any:
        return Estimator(modelarts_session)._ask("DELETE", f"training-jobs/{job_id}")

    # --- listing --------------------------------------------------------------------------------------

    @staticmethod
    def get_job_list(
        modelarts_session: Session,
        status: int | None = None,
        per_page: int = 10,
        page: int = 1,
        sortBy: str = "job_name",  # noqa: N803  # the package's own name
        order: str = "desc",
        search_content: str = "",
    ) -> Any:
        asked = {"per_page": per_page, "page": page, "sortBy": sortBy, "order": order}
        if status is not None:
            asked["status"] = int(status)
        if search_content:
            asked["search_content"] = search_content
        query = "&".join(f"{name}={value}" for name, value in asked.items())
        return Estimator(modelarts_session)._ask("GET", f"training-jobs?{query}")

    @staticmethod
    def get_train_instance_types(modelarts_session: Session) -> Any:
        answer = Estimator(modelarts_session)._ask("GET", "job/resource-specs?job_type=train")
        return [each["spec_code"] for each in answer["specs"]] if answer["is_success"] else answer

    @staticmethod
    def get_framework_list(modelarts_session: Session) -> Any:
        answer = Estimator(modelarts_session)._ask("GET", "job/ai-engines?job_type=train")
        if not answer["is_success"]:
            return answer
        return [
            {"framework_type": each["engine_name"], "framework_version": each["engine_version"]}
            for each in answer["engines"]
        ]

    def _ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """The API's answer, with the package's name for what was wrong."""
        answer = self.session.ask(method, path, body, "v1")
        if isinstance(answer, dict) and "error_message" in answer:
            return {**answer, "error_msg": answer["error_message"]}
        return answer


class _Refused(Estimator):
    """What was not made."""

    def __init__(self, answer: dict[str, Any]) -> None:
        self._answer = answer

    def get_job_info(self) -> Any:
        return self._answer
