"""ModelArts training jobs through the package `modelarts`, for sites that allow only that."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

from aisbench_core.base.errors import CloudNotFound
from aisbench_core.base.messages import Message
from aisbench_core.cloud.job_fields import sdk_arguments
from aisbench_core.cloud.job_pages import PAGE, JobFilter, JobPages
from aisbench_core.cloud.modelarts_client import ignore_reply
from aisbench_core.cloud.modelarts_package import sdk_replies
from aisbench_core.cloud.modelarts_package.sdk_calls import MissingFeature, SdkCalls
from aisbench_core.cloud.modelarts_v2 import replies
from aisbench_core.cloud.refusals import ENDED_ALREADY, NOTHING_YET, Ignoring
from aisbench_core.cloud.without_algorithms import WithoutAlgorithms
from aisbench_core.cloud.without_job_details import WithoutJobDetails
from aisbench_core.config.credentials import Credentials
from aisbench_core.config.settings import Profile
from aisbench_core.model import (
    Engine,
    Flavor,
    JobRequest,
    JobStatus,
    MetricSample,
    Pool,
    Quota,
    WaitingJob,
)


class ModelArtsSdk(WithoutJobDetails, WithoutAlgorithms):
    """A TrainingService in the default workspace. Threads may share it.

    The package is loaded by the first call, which raises ConfigError if it is missing. A version of the package that
    lacks a call has no log previews or no metrics; events and pools are in no version."""

    def __init__(self, profile: Profile, credentials: Credentials, request_seconds: float) -> None:
        """`request_seconds`: timeout of one call. Sends nothing yet."""
        self._calls = SdkCalls(profile, credentials, request_seconds)
        self._pages = JobPages(self._search_jobs)

    def create(self, job: JobRequest) -> JobStatus:
        operation = Message("create job {name}", name=job.name)
        return self._calls.ask(operation, "create", replies.job_status, **sdk_arguments(job))

    def find(self, name: str) -> JobStatus | None:
        return self._pages.find(name)

    def list_by_name(self, name: str) -> Sequence[JobStatus]:
        return self._pages.list_by_name(name)

    def status(self, job_ids: Iterable[str], since: datetime) -> Mapping[str, JobStatus]:
        return self._pages.status(job_ids, since)

    def active(self) -> Sequence[JobStatus]:
        return self._pages.active()

    def detail(self, job_id: str) -> JobStatus:
        return self._calls.ask(Message("get job {job_id}", job_id=job_id), "job", replies.job_status, job_id=job_id)

    def describe(self, job_id: str) -> Mapping[str, Any]:
        return self._calls.ask(Message("get job {job_id}", job_id=job_id), "job", dict, job_id=job_id)

    def stop(self, job_id: str) -> None:
        with suppress(CloudNotFound), Ignoring(ENDED_ALREADY):
            self._calls.ask(Message("stop job {job_id}", job_id=job_id), "stop", ignore_reply, job_id=job_id)

    def delete(self, job_id: str) -> None:
        with suppress(CloudNotFound):
            self._calls.ask(Message("delete job {job_id}", job_id=job_id), "delete", ignore_reply, job_id=job_id)

    def set_priority(self, job_id: str, priority: int) -> int | None:  # noqa: ARG002  # the protocol's
        return None

    def log_paths(self, job: JobStatus, log_path: str) -> Mapping[int, str]:
        return replies.log_paths(job, log_path)

    def metrics(self, job_id: str, task: str, start: datetime) -> Sequence[MetricSample]:
        operation = Message("read the metrics of {task} of job {job_id}", task=task, job_id=job_id)
        with suppress(MissingFeature), Ignoring(NOTHING_YET):
            return self._calls.ask(
                operation,
                "metrics",
                lambda reply: replies.parse_samples(reply or {}, task, start),
                job_id=job_id,
                task_id=task,
            )
        return ()

    def flavors(self) -> Sequence[Flavor]:
        return self._calls.ask(Message("list flavors"), "flavors", sdk_replies.parse_flavors)

    def engines(self) -> Sequence[Engine]:
        return self._calls.ask(Message("list engines"), "engines", sdk_replies.parse_engines)

    def pools(self) -> Sequence[Pool] | None:
        return None

    def list_waiting(self, pool_id: str) -> Sequence[WaitingJob] | None:  # noqa: ARG002  # the protocol's
        return None

    def quotas(self) -> Sequence[Quota] | None:
        return None

    def _search_jobs(self, operation: Message, offset: int, filters: Sequence[JobFilter]) -> list[JobStatus]:
        query: dict[str, Any] = {"offset": offset, "limit": PAGE, "sort_by": "create_time", "order": "desc"}
        if filters:
            query["filters"] = [{"key": f.key, "operator": f.operator, "value": list(f.values)} for f in filters]
        return self._calls.ask(operation, "jobs", replies.job_page, **query)
