"""ModelArts training jobs as a TrainingService, through the official SDK's v2 calls."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from huaweicloudsdkmodelarts.v1 import (
    CreateTrainingJobRequest,
    DeleteTrainingJobRequest,
    Filter,
    JobActionType,
    JobSearches,
    ListTrainingJobEventsRequest,
    ListTrainingJobsRequest,
    ShowTrainingJobDetailsRequest,
    ShowTrainingJobEnginesRequest,
    ShowTrainingJobFlavorsRequest,
    ShowTrainingJobLogsPreviewRequest,
    ShowTrainingJobMetricsRequest,
    StopTrainingJobRequest,
)

from aisbench_core.cloud import pools
from aisbench_core.cloud.job_pages import PAGE, JobFilter, JobPages
from aisbench_core.cloud.modelarts_client import Caller
from aisbench_core.cloud.modelarts_v2 import replies
from aisbench_core.cloud.modelarts_v2.job_body import job_body
from aisbench_core.cloud.modelarts_v2.job_logs import NOTHING_YET, log_paths
from aisbench_core.errors import CloudNotFound, CloudRejected
from aisbench_core.messages import Message
from aisbench_core.model import Engine, Flavor, JobEvent, JobRequest, JobStatus, LogPreview, MetricSample, Pool
from aisbench_core.settings import Credentials, Profile

EVENTS = 100
MOST_EVENT_PAGES = 100

ENDED_ALREADY = "ModelArts.2796"


class ModelArtsV2:
    """A TrainingService in ModelArts. Threads may share it. It never calls IAM: the profile names the project."""

    def __init__(self, profile: Profile, credentials: Credentials, request_seconds: float) -> None:
        """`request_seconds`: time-out of one request. Nothing is sent yet."""
        self._caller = Caller(profile, credentials, request_seconds)
        self._sdk = self._caller.sdk
        self._workspace_id = profile.workspace_id
        self._pages = JobPages(self._search)

    def create(self, job: JobRequest) -> JobStatus:
        """Create the job. Not repeatable by itself: look with `find` first."""
        request = CreateTrainingJobRequest(body=job_body(job, self._workspace_id))
        call = self._sdk.create_training_job_invoker(request)
        return self._caller.write(Message("create job {name}", name=job.name), call, replies.job_status)

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
        """Jobs of this workspace that have not ended, newest first; at most some pages of them."""
        return self._pages.active()

    def detail(self, job_id: str) -> JobStatus:
        """One job with its message and exit codes. CloudNotFound if it is gone."""
        call = self._sdk.show_training_job_details_invoker(ShowTrainingJobDetailsRequest(training_job_id=job_id))
        return self._caller.read(Message("look at job {job_id}", job_id=job_id), call, replies.job_status)

    def stop(self, job_id: str) -> None:
        """Ask the job to end; one that has ended or is gone is fine."""
        body = JobActionType(action_type="terminate")
        call = self._sdk.stop_training_job_invoker(StopTrainingJobRequest(training_job_id=job_id, body=body))
        try:
            self._caller.write(Message("stop job {job_id}", job_id=job_id), call, _nothing)
        except CloudNotFound:
            return
        except CloudRejected as error:
            if error.code != ENDED_ALREADY:
                raise

    def delete(self, job_id: str) -> None:
        """Remove the job's record; one that is gone is fine."""
        call = self._sdk.delete_training_job_invoker(DeleteTrainingJobRequest(training_job_id=job_id))
        try:
            self._caller.write(Message("delete job {job_id}", job_id=job_id), call, _nothing)
        except CloudNotFound:
            return

    def log_preview(self, job_id: str, task: str) -> LogPreview:
        """The newest part of a task's log, also while no log object exists yet; empty when there is none."""
        request = ShowTrainingJobLogsPreviewRequest(training_job_id=job_id, task_id=task)
        call = self._sdk.show_training_job_logs_preview_invoker(request)
        try:
            return self._caller.read(
                Message("read the log of {task} of job {job_id}", task=task, job_id=job_id), call, replies.log_preview
            )
        except CloudRejected as error:
            if error.code not in NOTHING_YET:
                raise
            return LogPreview("", 0, 0)

    def log_paths(self, job: JobStatus, log_path: str) -> Mapping[int, str]:
        """Where each node's log object is found, by node index, under the run's log directory."""
        return log_paths(job, log_path)

    def metrics(self, job_id: str, task: str, start: datetime) -> Sequence[MetricSample]:
        """The task's per-minute samples, the first of them at `start`; values that were not measured are left out."""
        node = int(task.rpartition("-")[2])
        request = ShowTrainingJobMetricsRequest(training_job_id=job_id, task_id=task)
        call = self._sdk.show_training_job_metrics_invoker(request)
        try:
            return self._caller.read(
                Message("read the metrics of {task} of job {job_id}", task=task, job_id=job_id),
                call,
                lambda reply: tuple(replies.samples(reply, node, start)),
            )
        except CloudRejected as error:
            if error.code not in NOTHING_YET:
                raise
            return ()

    def events(self, job_id: str) -> Sequence[JobEvent]:
        """All events of the job, oldest first."""
        events: list[JobEvent] = []
        for page in self._event_pages(job_id):
            events += page
        return sorted(events, key=lambda event: event.at)

    def flavors(self) -> Sequence[Flavor]:
        """The instance types that training jobs can use."""
        call = self._sdk.show_training_job_flavors_invoker(ShowTrainingJobFlavorsRequest())
        return self._caller.read(
            Message("list flavors"), call, lambda reply: [replies.flavor(item) for item in reply.get("flavors") or ()]
        )

    def engines(self) -> Sequence[Engine]:
        """The preset images."""
        call = self._sdk.show_training_job_engines_invoker(ShowTrainingJobEnginesRequest())
        return self._caller.read(
            Message("list engines"), call, lambda reply: [replies.engine(item) for item in reply.get("items") or ()]
        )

    def pools(self) -> Sequence[Pool]:
        """The dedicated pools that training jobs can use."""
        return pools.pools(self._caller, self._workspace_id)

    def _search(self, operation: Message, offset: int, filters: Sequence[JobFilter]) -> list[JobStatus]:
        body = JobSearches(
            offset=offset,
            limit=PAGE,
            sort_by="create_time",
            order="desc",
            workspace_id=self._workspace_id,
            filters=[Filter(key=each.key, operator=each.operator, value=list(each.values)) for each in filters] or None,
        )
        call = self._sdk.list_training_jobs_invoker(ListTrainingJobsRequest(body=body))
        return self._caller.read(operation, call, replies.job_page)

    def _event_pages(self, job_id: str) -> Iterator[list[JobEvent]]:
        for number in range(MOST_EVENT_PAGES):
            request = ListTrainingJobEventsRequest(
                training_job_id=job_id, offset=number * EVENTS, limit=EVENTS, order="asc", x_language="en-us"
            )
            call = self._sdk.list_training_job_events_invoker(request)
            page = self._caller.read(Message("read the events of job {job_id}", job_id=job_id), call, _events)
            yield page
            if len(page) < EVENTS:
                return


def _events(reply: Any) -> list[JobEvent]:
    return [replies.job_event(item) for item in reply.get("events") or ()]


def _nothing(_reply: Any) -> None:
    """An answer that says no more than that it was done."""
