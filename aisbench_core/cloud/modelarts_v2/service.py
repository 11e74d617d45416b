"""ModelArts training jobs through the official SDK's v2 calls."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from huaweicloudsdkmodelarts import v1 as sdk

from aisbench_core.base.errors import CloudNotFound
from aisbench_core.base.messages import Message
from aisbench_core.cloud.job_fields import v2_body
from aisbench_core.cloud.job_pages import PAGE, JobFilter, JobPages, iter_pages
from aisbench_core.cloud.modelarts_client import Caller, ignore_reply
from aisbench_core.cloud.modelarts_v2 import algorithms, detail_replies, replies, subscriptions
from aisbench_core.cloud.modelarts_v2.capacity import list_quotas, list_waiting
from aisbench_core.cloud.refusals import ENDED_ALREADY, NOTHING_YET, Ignoring
from aisbench_core.config.credentials import Credentials
from aisbench_core.config.settings import Profile
from aisbench_core.model import (
    Algorithm,
    DiagnosisTask,
    Engine,
    EventLanguage,
    Flavor,
    JobDiagnosis,
    JobEvent,
    JobRequest,
    JobStage,
    JobStatus,
    JobTask,
    MetricSample,
    Pool,
    Quota,
    SubscribedAlgorithm,
    WaitingJob,
)

EVENTS = 100
MOST_EVENT_PAGES = 100
_DIAGNOSIS_TASKS = "/v2/{project_id}/training-jobs/{job}/diagnosis-tasks"
FAR = timedelta(days=366)  # no event of a job is so much later than another
DEFAULT_PRIORITY = 1  # of a job whose policy states none


class ModelArtsV2:
    """A TrainingService. Threads may share it. It never calls IAM: the profile has the project's id."""

    def __init__(self, profile: Profile, credentials: Credentials, request_seconds: float) -> None:
        """`request_seconds`: timeout of one request. Sends nothing yet."""
        self._caller = Caller(profile, credentials, request_seconds)
        self._sdk = self._caller.sdk
        self._workspace_id = profile.workspace_id
        self._pages = JobPages(self._search_jobs)

    def create(self, job: JobRequest) -> JobStatus:
        request = sdk.CreateTrainingJobRequest(body=v2_body(job, self._workspace_id))
        call = self._sdk.create_training_job_invoker(request)
        return self._caller.write(Message("create job {name}", name=job.name), call, replies.job_status)

    def find(self, name: str) -> JobStatus | None:
        return self._pages.find(name)

    def list_by_name(self, name: str) -> Sequence[JobStatus]:
        return self._pages.list_by_name(name)

    def status(self, job_ids: Iterable[str], since: datetime) -> Mapping[str, JobStatus]:
        return self._pages.status(job_ids, since)

    def active(self) -> Sequence[JobStatus]:
        return self._pages.active()

    def detail(self, job_id: str) -> JobStatus:
        call = self._sdk.show_training_job_details_invoker(sdk.ShowTrainingJobDetailsRequest(training_job_id=job_id))
        return self._caller.read(Message("get job {job_id}", job_id=job_id), call, replies.job_status)

    def describe(self, job_id: str) -> Mapping[str, Any]:
        call = self._sdk.show_training_job_details_invoker(sdk.ShowTrainingJobDetailsRequest(training_job_id=job_id))
        return self._caller.read(Message("get job {job_id}", job_id=job_id), call, dict)

    def stop(self, job_id: str) -> None:
        body = sdk.JobActionType(action_type="terminate")
        call = self._sdk.stop_training_job_invoker(sdk.StopTrainingJobRequest(training_job_id=job_id, body=body))
        with suppress(CloudNotFound), Ignoring(ENDED_ALREADY):
            self._caller.write(Message("stop job {job_id}", job_id=job_id), call, ignore_reply)

    def delete(self, job_id: str) -> None:
        call = self._sdk.delete_training_job_invoker(sdk.DeleteTrainingJobRequest(training_job_id=job_id))
        with suppress(CloudNotFound):
            self._caller.write(Message("delete job {job_id}", job_id=job_id), call, ignore_reply)

    def set_priority(self, job_id: str, priority: int) -> int | None:
        before = self.detail(job_id).priority or DEFAULT_PRIORITY
        # A dict: the SDK's classes would send every field of the policy that is not given as null.
        body = {"spec": {"schedule_policy": {"priority": priority}}}
        request = sdk.ChangeTrainingJobDescriptionRequest(training_job_id=job_id, body=body)
        call = self._sdk.change_training_job_description_invoker(request)
        self._caller.write(Message("change the priority of job {job_id}", job_id=job_id), call, ignore_reply)
        return before

    def log_paths(self, job: JobStatus, log_path: str) -> Mapping[int, str]:
        return replies.log_paths(job, log_path)

    def metrics(self, job_id: str, task: str, start: datetime) -> Sequence[MetricSample]:
        operation = Message("read the metrics of {task} of job {job_id}", task=task, job_id=job_id)
        request = sdk.ShowTrainingJobMetricsRequest(training_job_id=job_id, task_id=task)
        with Ignoring(NOTHING_YET):
            call = self._sdk.show_training_job_metrics_invoker(request)
            return self._caller.read(operation, call, lambda reply: replies.parse_samples(reply, task, start))
        return ()

    def events(
        self, job_id: str, since: datetime | None = None, language: EventLanguage = EventLanguage.ENGLISH
    ) -> Sequence[JobEvent]:
        operation = Message("read the events of job {job_id}", job_id=job_id)
        # The API takes both times or none.
        times = {"start_time": _to_milliseconds(since), "end_time": _to_milliseconds(since + FAR)} if since else {}

        def page(number: int) -> list[JobEvent]:
            request = sdk.ListTrainingJobEventsRequest(
                training_job_id=job_id, offset=number * EVENTS, limit=EVENTS, order="asc", x_language=language, **times
            )
            call = self._sdk.list_training_job_events_invoker(request)
            return self._caller.read(operation, call, detail_replies.job_events)

        events = [event for events in iter_pages(page, EVENTS, MOST_EVENT_PAGES) for event in events]
        return sorted(events, key=lambda event: event.at)

    def stages(self, job_id: str) -> Sequence[JobStage]:
        call = self._sdk.list_training_job_stages_invoker(sdk.ListTrainingJobStagesRequest(training_job_id=job_id))
        operation = Message("read the stages of job {job_id}", job_id=job_id)
        return self._caller.read(operation, call, detail_replies.job_stages)

    def tasks(self, job_id: str, attempt: int = 0) -> Sequence[JobTask]:
        request = sdk.ListTrainingJobTasksRequest(training_job_id=job_id, schedule_count=attempt or None)
        operation = Message("read the tasks of job {job_id}", job_id=job_id)
        return self._caller.read(
            operation, self._sdk.list_training_job_tasks_invoker(request), detail_replies.job_tasks
        )

    def diagnosis(self, job_id: str) -> JobDiagnosis | None:
        # API reference, ShowTrainingJobUserDiagnosis (2026-03): the SDK has no method for it yet.
        call = self._caller.request("GET", "/v2/{project_id}/training-jobs/{job}/diagnosis", {"job": job_id})
        with suppress(CloudNotFound):  # also of a region that does not offer the call
            return self._caller.read(
                Message("read the diagnosis of job {job_id}", job_id=job_id), call, detail_replies.job_diagnosis
            )
        return None

    def request_diagnosis(self, job_id: str) -> str | None:
        # API reference, Create- and ListTrainingJobDiagnosisTasks (2026-02): the SDK has neither.
        call = self._caller.request("POST", _DIAGNOSIS_TASKS, {"job": job_id}, body={"type": "standard"})
        operation = Message("request a diagnosis of job {job_id}", job_id=job_id)
        with suppress(CloudNotFound):
            return self._caller.write(operation, call, lambda reply: str(reply["task_id"]))
        return None

    def diagnosis_tasks(self, job_id: str) -> Sequence[DiagnosisTask]:
        call = self._caller.request("GET", _DIAGNOSIS_TASKS, {"job": job_id})
        operation = Message("read the diagnosis tasks of job {job_id}", job_id=job_id)
        with suppress(CloudNotFound):
            return self._caller.read(operation, call, detail_replies.diagnosis_tasks)
        return ()

    def flavors(self) -> Sequence[Flavor]:
        call = self._sdk.show_training_job_flavors_invoker(sdk.ShowTrainingJobFlavorsRequest())
        return self._caller.read(Message("list flavors"), call, replies.parse_flavors)

    def engines(self) -> Sequence[Engine]:
        call = self._sdk.show_training_job_engines_invoker(sdk.ShowTrainingJobEnginesRequest())
        return self._caller.read(Message("list engines"), call, replies.parse_engines)

    def pools(self) -> Sequence[Pool]:
        call = self._sdk.list_pools_invoker(sdk.ListPoolsRequest(workspace_id=self._workspace_id))
        return self._caller.read(Message("list pools"), call, replies.training_pools)

    def list_waiting(self, pool_id: str) -> Sequence[WaitingJob]:
        return list_waiting(self._caller, pool_id)

    def quotas(self) -> Sequence[Quota]:
        return list_quotas(self._caller)

    def algorithms(self) -> Sequence[Algorithm]:
        return algorithms.list_algorithms(self._caller, self._workspace_id)

    def algorithm(self, algorithm_id: str) -> Algorithm:
        return algorithms.show_algorithm(self._caller, algorithm_id)

    def create_algorithm(self, job: JobRequest) -> Algorithm:
        return algorithms.create_algorithm(self._caller, job, self._workspace_id)

    def delete_algorithm(self, algorithm_id: str) -> None:
        algorithms.delete_algorithm(self._caller, algorithm_id)

    def subscribed_algorithms(self) -> Sequence[SubscribedAlgorithm]:
        return subscriptions.list_subscribed(self._caller)

    def subscribed_versions(self, subscription_id: str) -> Sequence[SubscribedAlgorithm]:
        return subscriptions.list_versions(self._caller, subscription_id)

    def _search_jobs(self, operation: Message, offset: int, filters: Sequence[JobFilter]) -> list[JobStatus]:
        body = sdk.JobSearches(
            offset=offset,
            limit=PAGE,
            sort_by="create_time",
            order="desc",
            workspace_id=self._workspace_id,
            filters=[sdk.Filter(key=f.key, operator=f.operator, value=list(f.values)) for f in filters] or None,
        )
        call = self._sdk.list_training_jobs_invoker(sdk.ListTrainingJobsRequest(body=body))
        return self._caller.read(operation, call, replies.job_page)


def _to_milliseconds(time: datetime) -> str:
    return str(int(time.timestamp() * 1000))
