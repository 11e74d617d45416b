"""ModelArts training jobs through the older API v1, whose jobs have versions."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any

from aisbench_core.base.errors import CloudNotFound, CloudRejected, CloudUnavailable
from aisbench_core.base.messages import Message
from aisbench_core.cloud.job_pages import find_jobs, iter_pages
from aisbench_core.cloud.modelarts_v1 import v1_replies
from aisbench_core.cloud.modelarts_v1.v1_replies import JobVersion
from aisbench_core.cloud.modelarts_v1.v1_requests import PAGE, V1Calls, V1Requests
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
    Phase,
    Pool,
    Quota,
    WaitingJob,
)

SPARE_PAGES = 2

OpenCalls = Callable[[Profile, Credentials, float], V1Calls]


class ModelArtsV1(WithoutJobDetails, WithoutAlgorithms):
    """A TrainingService whose job ids are `<job>/<version>`. Threads may share it."""

    def __init__(
        self, profile: Profile, credentials: Credentials, request_seconds: float, open_calls: OpenCalls = V1Requests
    ) -> None:
        """`request_seconds`: timeout of one request. `open_calls`: the transport. Sends nothing yet."""
        self._calls = open_calls(profile, credentials, request_seconds)
        # Nodes, start and log names of a version do not change, so the list's phase is enough for a running job.
        self._versions: dict[str, JobVersion] = {}

    def create(self, job: JobRequest) -> JobStatus:
        """Create the job, or the next version of the job with exactly this name.

        A version with the same output is this request, whose reply was lost: it is not created again."""
        operation = Message("create job {name}", name=job.name)
        existing = self._find_named(operation, job.name)
        return self._calls.create(operation, job) if existing is None else self._next_version(operation, existing, job)

    def find(self, name: str) -> JobStatus | None:
        """The newest version of the job with exactly this name, or None."""
        job = self._find_named(Message("find job {name}", name=name), name)
        if job is None or job.job_id.endswith("/0"):  # a job without versions
            return None
        try:
            return self.detail(job.job_id)
        except CloudNotFound:  # deleted since, or not visible yet: counts as existing, so that it is not created twice
            return job

    def list_by_name(self, name: str) -> Sequence[JobStatus]:
        """Every version of the job with exactly this name, newest first."""
        operation = Message("list versions of job {name}", name=name)
        job = self._find_named(operation, name)
        if job is None:
            return ()
        try:
            versions = self._calls.versions(operation, job.job_id)
        except CloudNotFound:  # deleted since
            return ()
        return [version.status for version in sorted(versions, key=lambda version: version.number, reverse=True)]

    def status(self, job_ids: Iterable[str], since: datetime) -> Mapping[str, JobStatus]:
        """Many jobs, by as few list calls as possible; versions that are not their job's newest are left out.

        The list has neither nodes nor start, so each job is also requested by itself when it appears and starts."""
        ids = set(job_ids)
        jobs = find_jobs(self._newest_first(Message("list jobs")), ids, since, PAGE, SPARE_PAGES) if ids else {}
        return {job_id: job for job_id, listed in jobs.items() if (job := self._complete_status(listed)) is not None}

    def active(self) -> Sequence[JobStatus]:
        """Jobs whose newest version has not ended, newest first; at most PAGE of them."""
        page = next(self._newest_first(Message("list active jobs"), statuses=v1_replies.ACTIVE))
        return [job for listed in page if not listed.has_ended and (job := self._complete_status(listed)) is not None]

    def detail(self, job_id: str) -> JobStatus:
        return self._fetch_version(Message("get job {job_id}", job_id=job_id), job_id).status

    def describe(self, job_id: str) -> Mapping[str, Any]:
        return self._calls.describe(Message("get job {job_id}", job_id=job_id), job_id)

    def stop(self, job_id: str) -> None:
        try:
            self._calls.stop(Message("stop job {job_id}", job_id=job_id), job_id)
        except CloudNotFound:
            return
        except CloudRejected:  # v1 has no code of its own for versions that have ended
            if not self._is_ending(job_id):
                raise

    def delete(self, job_id: str) -> None:
        """Remove the version, or the job if it has no other version; one that is gone is fine."""
        operation = Message("delete job {job_id}", job_id=job_id)
        with suppress(CloudNotFound):
            versions = self._calls.versions(operation, job_id)
            if any(version.status.job_id != job_id for version in versions):
                self._calls.delete_version(operation, job_id)
            else:
                self._calls.delete_job(operation, job_id)

    def set_priority(self, job_id: str, priority: int) -> int | None:  # noqa: ARG002  # the protocol's
        return None

    def log_paths(self, job: JobStatus, log_path: str) -> Mapping[int, str]:
        """The path of each node's log object, by node index; empty if the job is gone."""
        try:
            operation = Message("find the logs of job {job_id}", job_id=job.job_id)
            version = self._cached_version(operation, job.job_id)
        except CloudNotFound:
            return {}
        directory = log_path.rstrip("/")
        return {node: f"{directory}/{_log_name(version, node)}" for node in range(version.status.node_count)}

    def metrics(self, job_id: str, task: str, start: datetime) -> Sequence[MetricSample]:
        """The job's per-minute samples from `start` on. They are not per node: worker-0 has them."""
        if _parse_node(task) != 0:
            return ()
        operation = Message("read the metrics of {task} of job {job_id}", task=task, job_id=job_id)
        return tuple(v1_replies.parse_samples(self._calls.version(operation, job_id).metrics, start))

    def flavors(self) -> Sequence[Flavor]:
        return self._calls.flavors()

    def engines(self) -> Sequence[Engine]:
        return self._calls.engines()

    def pools(self) -> Sequence[Pool] | None:
        return self._calls.pools()

    def list_waiting(self, pool_id: str) -> Sequence[WaitingJob] | None:
        return self._calls.list_waiting(pool_id)

    def quotas(self) -> Sequence[Quota] | None:
        return self._calls.quotas()

    # --- versions -----------------------------------------------------------------------------------

    def _newest_first(
        self, operation: Message, search: str = "", statuses: str | None = None
    ) -> Iterator[Sequence[JobStatus]]:
        return iter_pages(lambda number: self._calls.page(operation, number + 1, search, statuses), PAGE)

    def _find_named(self, operation: Message, name: str) -> JobStatus | None:
        jobs = (job for page in self._newest_first(operation, name) for job in page)
        return next((job for job in jobs if job.name == name), None)

    def _next_version(self, operation: Message, existing: JobStatus, job: JobRequest) -> JobStatus:
        versions = self._calls.versions(operation, existing.job_id)
        if not versions:
            raise CloudUnavailable(Message("the job exists, but has no version yet"), operation=operation)
        output = v1_replies.to_directory(job.outputs[0].path)
        for version in versions:
            if output in version.status.outputs:
                return version.status
        previous = max(version.number for version in versions)
        return self._calls.create_version(operation, existing.job_id, previous, job)

    def _fetch_version(self, operation: Message, job_id: str) -> JobVersion:
        version = self._calls.version(operation, job_id)
        self._versions[job_id] = replace(version, metrics={})  # they grow, and are always requested anew
        return version

    def _cached_version(self, operation: Message, job_id: str) -> JobVersion:
        return self._versions.get(job_id) or self._fetch_version(operation, job_id)

    def _complete_status(self, listed: JobStatus) -> JobStatus | None:
        """A job of the list, with what only its version has. None if it is gone."""
        cached = self._versions.get(listed.job_id)
        if cached is None or (listed.phase == Phase.RUNNING and cached.status.started_at is None):
            try:
                return self.detail(listed.job_id)
            except CloudNotFound:
                return None
        return replace(
            cached.status,
            phase=listed.phase,
            secondary_phase=listed.secondary_phase,
            message=listed.message,
            duration_s=listed.duration_s,
        )

    def _is_ending(self, job_id: str) -> bool:
        try:
            status = self.detail(job_id)
        except CloudNotFound:
            return True
        return status.has_ended or status.phase == Phase.TERMINATING


def _log_name(version: JobVersion, node: int) -> str:
    return f"{version.resource_id}-job-{version.status.name}-{node}.log"


def _parse_node(task: str) -> int:
    return int(task.rpartition("-")[2])
