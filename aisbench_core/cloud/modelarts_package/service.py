"""ModelArts training jobs as a TrainingService, through the package `modelarts`, for sites that allow only that."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from aisbench_core.cloud.job_pages import PAGE, JobFilter, JobPages
from aisbench_core.cloud.modelarts_package import sdk_replies
from aisbench_core.cloud.modelarts_package.sdk_body import job_arguments
from aisbench_core.cloud.modelarts_package.sdk_calls import MissingFeature, SdkCalls
from aisbench_core.cloud.modelarts_v2 import replies
from aisbench_core.cloud.modelarts_v2.job_logs import NOTHING_YET, log_paths
from aisbench_core.errors import CloudNotFound, CloudRejected
from aisbench_core.messages import Message
from aisbench_core.model import Engine, Flavor, JobEvent, JobRequest, JobStatus, LogPreview, MetricSample, Pool
from aisbench_core.settings import Credentials, Profile

ENDED_ALREADY = "ModelArts.2796"


class ModelArtsSdk:
    """A TrainingService in ModelArts. Threads may share it.

    The package is looked for at the first call, which raises ConfigError when it is missing."""

    def __init__(self, profile: Profile, credentials: Credentials, request_seconds: float) -> None:
        """`request_seconds`: time-out of one call. Nothing is sent yet."""
        self._calls = SdkCalls(profile, credentials, request_seconds)
        self._pages = JobPages(self._search)

    def create(self, job: JobRequest) -> JobStatus:
        """Create the job. Not repeatable by itself: look with `find` first."""
        return self._calls.ask(
            Message("create job {name}", name=job.name), "create", replies.job_status, **job_arguments(job)
        )

    def find(self, name: str) -> JobStatus | None:
        """The job with exactly this name (the newest of several), or None."""
        return self._pages.find(name)

    def named(self, name: str) -> Sequence[JobStatus]:
        """Every job with exactly this name, newest first."""
        return self._pages.named(name)

    def status(self, job_ids: Iterable[str], since: datetime) -> Mapping[str, JobStatus]:
        """Many jobs at once, by as few list calls as possible. A job that the first pages do not hold is left out."""
        return self._pages.status(job_ids, since)

    def active(self) -> Sequence[JobStatus]:
        """Jobs of the default workspace that have not ended, newest first; at most some pages of them."""
        return self._pages.active()

    def detail(self, job_id: str) -> JobStatus:
        """One job with its message and exit codes. CloudNotFound if it is gone."""
        return self._calls.ask(Message("look at job {job_id}", job_id=job_id), "job", replies.job_status, job_id=job_id)

    def stop(self, job_id: str) -> None:
        """Ask the job to end; one that has ended or is gone is fine."""
        try:
            self._calls.ask(Message("stop job {job_id}", job_id=job_id), "stop", _nothing, job_id=job_id)
        except CloudNotFound:
            return
        except CloudRejected as error:
            if error.code != ENDED_ALREADY:
                raise

    def delete(self, job_id: str) -> None:
        """Remove the job's record; one that is gone is fine."""
        try:
            self._calls.ask(Message("delete job {job_id}", job_id=job_id), "delete", _nothing, job_id=job_id)
        except CloudNotFound:
            return

    def log_preview(self, job_id: str, task: str) -> LogPreview:
        """The newest part of a task's log; empty when there is none, or when the package cannot tell it."""
        operation = Message("read the log of {task} of job {job_id}", task=task, job_id=job_id)
        try:
            return self._calls.ask(operation, "log", sdk_replies.log_preview, job_id=job_id, task_id=task)
        except CloudRejected as error:
            if not _is_nothing(error):
                raise
            return LogPreview("", 0, 0)

    def log_paths(self, job: JobStatus, log_path: str) -> Mapping[int, str]:
        """Where each node's log object is found, by node index, under the run's log directory."""
        return log_paths(job, log_path)

    def metrics(self, job_id: str, task: str, start: datetime) -> Sequence[MetricSample]:
        """The task's per-minute samples, the first of them at `start`; none when the package cannot tell them."""
        node = int(task.rpartition("-")[2])
        try:
            return self._calls.ask(
                Message("read the metrics of {task} of job {job_id}", task=task, job_id=job_id),
                "metrics",
                lambda reply: tuple(replies.samples(reply or {}, node, start)),
                job_id=job_id,
                task_id=task,
            )
        except CloudRejected as error:
            if not _is_nothing(error):
                raise
            return ()

    def events(self, job_id: str) -> Sequence[JobEvent]:  # noqa: ARG002  # the protocol's
        """None: the package has no call for them."""
        return ()

    def flavors(self) -> Sequence[Flavor]:
        """The instance types that training jobs can use, as far as their names tell."""
        return self._calls.ask(Message("list flavors"), "flavors", sdk_replies.flavors)

    def engines(self) -> Sequence[Engine]:
        """The preset images."""
        return self._calls.ask(Message("list engines"), "engines", sdk_replies.engines)

    def pools(self) -> Sequence[Pool] | None:
        """Unknown: the package has no call for them."""
        return None

    def _search(self, operation: Message, offset: int, filters: Sequence[JobFilter]) -> list[JobStatus]:
        listed = [{"key": each.key, "operator": each.operator, "value": list(each.values)} for each in filters]
        asked: dict[str, Any] = {"offset": offset, "limit": PAGE, "sort_by": "create_time", "order": "desc"}
        if listed:
            asked["filters"] = listed
        return self._calls.ask(operation, "jobs", replies.job_page, **asked)


def _is_nothing(error: CloudRejected) -> bool:
    return isinstance(error, MissingFeature) or error.code in NOTHING_YET


def _nothing(_reply: Any) -> None:
    """An answer that says no more than that it was done."""
