"""ModelArts training jobs as a TrainingService, through the older API (v1), whose jobs have versions."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import islice

from aisbench_core.cloud.modelarts_v1 import v1_replies
from aisbench_core.cloud.modelarts_v1.v1_calls import PAGE, V1Calls
from aisbench_core.cloud.modelarts_v1.v1_replies import JobVersion
from aisbench_core.cloud.modelarts_v1.v1_requests import V1Requests
from aisbench_core.errors import CloudNotFound, CloudRejected, CloudUnavailable
from aisbench_core.messages import Message
from aisbench_core.model import (
    Engine,
    Flavor,
    JobEvent,
    JobRequest,
    JobStatus,
    LogPreview,
    MetricSample,
    Phase,
    Pool,
)
from aisbench_core.settings import Credentials, Profile

CLOCK_SKEW = timedelta(minutes=15)
"""How far the cloud's clock may be from ours; requests signed further off are refused."""

SPARE_PAGES = 2
"""How many pages of jobs that are not ours are read past; a job behind them is asked for by itself."""

MOST_PAGES = 1000

OpenCalls = Callable[[Profile, Credentials, float], V1Calls]


class ModelArtsV1:
    """A TrainingService in ModelArts. Threads may share it. Its job ids are `<job>/<version>`."""

    def __init__(
        self, profile: Profile, credentials: Credentials, request_seconds: float, open_calls: OpenCalls = V1Requests
    ) -> None:
        """`request_seconds`: time-out of one request. Nothing is sent yet. `open_calls`: who carries the questions."""
        self._calls = open_calls(profile, credentials, request_seconds)
        self._versions: dict[str, JobVersion] = {}  # as they were last looked at: nodes, start and log names stay

    def create(self, job: JobRequest) -> JobStatus:
        """Create the job, or the next version of the one that has exactly this name.

        A version that writes to the same output is this very request, whose answer was lost: it is not made again."""
        operation = Message("create job {name}", name=job.name)
        known = self._named(operation, job.name)
        return self._calls.create(operation, job) if known is None else self._next_version(operation, known, job)

    def find(self, name: str) -> JobStatus | None:
        """The newest version of the job with exactly this name, or None."""
        found = self._named(Message("find job {name}", name=name), name)
        if found is None or _has_no_version(found):
            return None
        try:
            return self.detail(found.job_id)
        except CloudNotFound:  # deleted in between, or not shown yet: taken for there, it is never made again
            return found

    def named(self, name: str) -> Sequence[JobStatus]:
        """Every version of the job with exactly this name, newest first."""
        operation = Message("look for the versions of job {name}", name=name)
        found = self._named(operation, name)
        if found is None:
            return ()
        try:
            versions = self._calls.versions(operation, found.job_id)
        except CloudNotFound:  # deleted in between
            return ()
        return [each.status for each in sorted(versions, key=lambda each: each.number, reverse=True)]

    def status(self, job_ids: Iterable[str], since: datetime) -> Mapping[str, JobStatus]:
        """Many jobs at once, by as few list calls as possible; a version that is not its job's newest is left out.

        The list tells neither nodes nor start, so each job is looked at by itself when it appears and starts."""
        missing = set(job_ids)
        found: dict[str, JobStatus] = {}
        if not missing:
            return found
        most = math.ceil(len(missing) / PAGE) + SPARE_PAGES
        for page in islice(self._newest_first(Message("list jobs")), most):
            found |= {job.job_id: job for job in page if job.job_id in missing}
            missing -= found.keys()
            if not missing or _is_before(page, since - CLOCK_SKEW):
                break
        return {job_id: whole for job_id, listed in found.items() if (whole := self._whole(listed)) is not None}

    def active(self) -> Sequence[JobStatus]:
        """Jobs of this workspace whose newest version has not ended, newest first; at most PAGE of them."""
        page = next(self._newest_first(Message("list active jobs"), statuses=v1_replies.ACTIVE))
        return [whole for listed in page if not listed.has_ended and (whole := self._whole(listed)) is not None]

    def detail(self, job_id: str) -> JobStatus:
        """One job. CloudNotFound if it is gone."""
        return self._look(Message("look at job {job_id}", job_id=job_id), job_id).status

    def stop(self, job_id: str) -> None:
        """Ask the version to end; one that has ended or is gone is fine."""
        try:
            self._calls.stop(Message("stop job {job_id}", job_id=job_id), job_id)
        except CloudNotFound:
            return
        except CloudRejected:
            if not self._is_ending(job_id):
                raise

    def delete(self, job_id: str) -> None:
        """Remove the version's record, and its job's when there is no other version; one that is gone is fine."""
        operation = Message("delete job {job_id}", job_id=job_id)
        try:
            versions = self._calls.versions(operation, job_id)
            if any(version.status.job_id != job_id for version in versions):
                self._calls.delete_version(operation, job_id)
            else:
                self._calls.delete_job(operation, job_id)
        except CloudNotFound:
            return

    def log_preview(self, job_id: str, task: str) -> LogPreview:
        """The newest lines of a task's log; empty when there is none. The whole log's size is not told."""
        operation = Message("read the log of {task} of job {job_id}", task=task, job_id=job_id)
        name = _log_name(self._known(operation, job_id), _node(task))
        text = self._calls.log(operation, job_id, name)
        return LogPreview(text, len(text.encode()), len(text.encode()))

    def log_paths(self, job: JobStatus, log_path: str) -> Mapping[int, str]:
        """Where each node's log object is found, by node index; nowhere once the cloud has forgotten the job."""
        try:
            version = self._known(Message("look for the logs of job {job_id}", job_id=job.job_id), job.job_id)
        except CloudNotFound:
            return {}
        directory = log_path.rstrip("/")
        return {node: f"{directory}/{_log_name(version, node)}" for node in range(version.status.node_count)}

    def metrics(self, job_id: str, task: str, start: datetime) -> Sequence[MetricSample]:
        """The job's per-minute samples, the first of them at `start`. They are not told by node: worker-0 has them."""
        if _node(task) != 0:
            return ()
        operation = Message("read the metrics of {task} of job {job_id}", task=task, job_id=job_id)
        return tuple(v1_replies.samples(self._calls.version(operation, job_id).metrics, start))

    def events(self, job_id: str) -> Sequence[JobEvent]:  # noqa: ARG002  # the protocol's
        """None: the older API tells no events."""
        return ()

    def flavors(self) -> Sequence[Flavor]:
        """The instance types that training jobs can use."""
        return self._calls.flavors()

    def engines(self) -> Sequence[Engine]:
        """The preset images."""
        return self._calls.engines()

    def pools(self) -> Sequence[Pool] | None:
        """The dedicated pools that training jobs can use; None where they cannot be asked for."""
        return self._calls.pools()

    # --- versions -----------------------------------------------------------------------------------

    def _newest_first(
        self, operation: Message, search: str = "", statuses: str | None = None
    ) -> Iterator[list[JobStatus]]:
        """Pages of jobs, each with its newest version; the next page is asked for when the reader wants it."""
        for number in range(1, MOST_PAGES):
            page = self._calls.page(operation, number, search, statuses)
            yield page
            if len(page) < PAGE:
                return

    def _named(self, operation: Message, name: str) -> JobStatus | None:
        """The job with exactly this name, with its newest version, as the list tells it; or None."""
        found = (job for page in self._newest_first(operation, name) for job in page)
        return next((job for job in found if job.name == name), None)

    def _next_version(self, operation: Message, known: JobStatus, job: JobRequest) -> JobStatus:
        versions = self._calls.versions(operation, known.job_id)
        if not versions:
            raise CloudUnavailable(Message("the job exists, but shows no version yet"), operation=operation)
        output = v1_replies.directory(job.outputs[0].path)
        again = next((version for version in versions if output in version.status.outputs), None)
        if again is not None:
            return again.status
        previous = max(version.number for version in versions)
        return self._calls.create_version(operation, known.job_id, previous, job)

    def _look(self, operation: Message, job_id: str) -> JobVersion:
        version = self._calls.version(operation, job_id)
        self._versions[job_id] = replace(version, metrics={})
        return version

    def _known(self, operation: Message, job_id: str) -> JobVersion:
        """The version as it was last looked at."""
        return self._versions.get(job_id) or self._look(operation, job_id)

    def _whole(self, listed: JobStatus) -> JobStatus | None:
        """The job with what only its version tells: as it was last looked at, or looked at now. None if it is gone."""
        known = self._versions.get(listed.job_id)
        if known is None or (listed.phase == Phase.RUNNING and known.status.started_at is None):
            try:
                return self.detail(listed.job_id)
            except CloudNotFound:
                return None
        told = known.status
        return replace(
            told,
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


def _node(task: str) -> int:
    return int(task.rpartition("-")[2])


def _has_no_version(job: JobStatus) -> bool:
    return job.job_id.endswith("/0")


def _is_before(page: Sequence[JobStatus], moment: datetime) -> bool:
    oldest = page[-1].created_at if page else None
    return oldest is not None and oldest < moment
