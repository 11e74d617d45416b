"""ModelArts training jobs as a TrainingService, through the older API (v1), whose jobs have versions."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from aisbench_core.cloud import pools, v1_replies
from aisbench_core.cloud.modelarts_client import Caller
from aisbench_core.cloud.v1_body import configuration
from aisbench_core.cloud.v1_calls import ENGINES, JOB, JOBS, PAGE, SPECS, TRAINING, VERSION, VERSIONS, V1Calls
from aisbench_core.cloud.v1_replies import Version
from aisbench_core.errors import CloudNotFound, CloudRejected, CloudUnavailable
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

PREVIEW_LINES = 500
"""The most that one call gives."""


class ModelArtsV1:
    """A TrainingService in ModelArts. Threads may share it. Its job ids are `<job>/<version>`."""

    def __init__(self, profile: Profile, credentials: Credentials, request_seconds: float) -> None:
        """`request_seconds`: time-out of one request. Nothing is sent yet."""
        self._caller = Caller(profile, credentials, request_seconds)
        self._calls = V1Calls(self._caller, profile.workspace_id)
        self._workspace_id = profile.workspace_id
        self._versions: dict[str, Version] = {}  # as they were last looked at: nodes, start and log names stay

    def create(self, job: JobRequest) -> JobStatus:
        """Create the job, or the next version of the one that has exactly this name.

        A version that writes to the same output is this very request, whose answer was lost: it is not made again."""
        operation = f"create job {job.name}"
        config = configuration(job, self._spec_id(operation, job), self._engine_id(operation, job))
        known = self._calls.named(operation, job.name)
        if known is not None:
            return self._next_version(operation, known, job, config)
        body = {
            "job_name": job.name,
            "job_desc": job.spec.description,
            "workspace_id": self._workspace_id,
            "config": config,
        }
        return self._calls.write(
            operation, "POST", JOBS, lambda reply: v1_replies.made(reply, job.spec.node_count), body=body
        )

    def find(self, name: str) -> JobStatus | None:
        """The newest version of the job with exactly this name, or None."""
        found = self._calls.named(f"find job {name}", name)
        if found is None or _has_no_version(found):
            return None
        try:
            return self.detail(found.job_id)
        except CloudNotFound:  # deleted in between, or not shown yet: taken for there, it is never made again
            return found

    def named(self, name: str) -> Sequence[JobStatus]:
        """Every version of the job with exactly this name, newest first."""
        operation = f"look for the versions of job {name}"
        found = self._calls.named(operation, name)
        if found is None:
            return ()
        try:
            versions = self._calls.read(operation, VERSIONS, _versions, found.job_id)
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
        for page in islice(self._calls.newest_first("list jobs"), most):
            found |= {job.job_id: job for job in page if job.job_id in missing}
            missing -= found.keys()
            if not missing or _is_before(page, since - CLOCK_SKEW):
                break
        return {job_id: whole for job_id, listed in found.items() if (whole := self._whole(listed)) is not None}

    def active(self) -> Sequence[JobStatus]:
        """Jobs of this workspace whose newest version has not ended, newest first; at most PAGE of them."""
        page = next(self._calls.newest_first("list active jobs", statuses=v1_replies.ACTIVE))
        return [whole for listed in page if not listed.has_ended and (whole := self._whole(listed)) is not None]

    def detail(self, job_id: str) -> JobStatus:
        """One job. CloudNotFound if it is gone."""
        return self._look(f"look at job {job_id}", job_id).status

    def stop(self, job_id: str) -> None:
        """Ask the version to end; one that has ended or is gone is fine."""
        try:
            self._calls.write(f"stop job {job_id}", "POST", f"{VERSION}/stop", _nothing, job_id)
        except CloudNotFound:
            return
        except CloudRejected:
            if not self._is_ending(job_id):
                raise

    def delete(self, job_id: str) -> None:
        """Remove the version's record, and its job's when there is no other version; one that is gone is fine."""
        operation = f"delete job {job_id}"
        try:
            versions = self._calls.read(operation, VERSIONS, _versions, job_id)
            others = [each for each in versions if each.status.job_id != job_id]
            self._calls.write(operation, "DELETE", VERSION if others else JOB, _nothing, job_id)
        except CloudNotFound:
            return

    def log_preview(self, job_id: str, task: str) -> LogPreview:
        """The newest lines of a task's log; empty when there is none. The whole log's size is not told."""
        operation = f"read the log of {task} of job {job_id}"
        version = self._known(operation, job_id)
        name = _log_name(version, _node(task))
        names = self._calls.read(
            operation, f"{VERSION}/log/file-names", lambda reply: reply.get("log_file_list") or (), job_id
        )
        if name not in names:
            return LogPreview("", 0, 0)
        text = self._calls.read(
            operation,
            f"{VERSION}/aom-log",
            lambda reply: str(reply.get("content") or ""),
            job_id,
            log_file=name,
            lines=PREVIEW_LINES,
        )
        return LogPreview(text, len(text.encode()), len(text.encode()))

    def log_paths(self, job: JobStatus, log_path: str) -> Mapping[int, str]:
        """Where each node's log object is found, by node index; nowhere once the cloud has forgotten the job."""
        try:
            version = self._known(f"look for the logs of job {job.job_id}", job.job_id)
        except CloudNotFound:
            return {}
        directory = log_path.rstrip("/")
        return {node: f"{directory}/{_log_name(version, node)}" for node in range(version.status.node_count)}

    def metrics(self, job_id: str, task: str, start: datetime) -> Sequence[MetricSample]:
        """The job's per-minute samples, the first of them at `start`. They are not told by node: worker-0 has them."""
        if _node(task) != 0:
            return ()
        operation = f"read the metrics of {task} of job {job_id}"
        return self._calls.read(operation, VERSION, lambda reply: _samples(reply, job_id, start), job_id)

    def events(self, job_id: str) -> Sequence[JobEvent]:  # noqa: ARG002  # the protocol's
        """None: the older API tells no events."""
        return ()

    def flavors(self) -> Sequence[Flavor]:
        """The instance types that training jobs can use."""
        return self._calls.read("list flavors", SPECS, v1_replies.flavors, job_type=TRAINING)

    def engines(self) -> Sequence[Engine]:
        """The preset images."""
        return self._calls.read("list engines", ENGINES, v1_replies.engines, job_type=TRAINING)

    def pools(self) -> Sequence[Pool]:
        """The dedicated pools that training jobs can use; they have one API for all jobs."""
        return pools.pools(self._caller, self._workspace_id)

    # --- versions -----------------------------------------------------------------------------------

    def _next_version(self, operation: str, known: JobStatus, job: JobRequest, config: Mapping[str, Any]) -> JobStatus:
        versions = self._calls.read(operation, VERSIONS, _versions, known.job_id)
        if not versions:
            raise CloudUnavailable("the job exists, but shows no version yet", operation=operation)
        output = v1_replies.directory(job.outputs[0].path)
        again = next((each for each in versions if output in each.status.outputs), None)
        if again is not None:
            return again.status
        previous = max(each.number for each in versions)
        return self._calls.write(
            operation,
            "POST",
            VERSIONS,
            lambda reply: v1_replies.made(reply, job.spec.node_count),
            known.job_id,
            {"job_desc": job.spec.description, "config": {**config, "pre_version_id": previous}},
        )

    def _look(self, operation: str, job_id: str) -> Version:
        job = job_id.partition("/")[0]
        version = self._calls.read(operation, VERSION, lambda reply: v1_replies.version(reply, job), job_id)
        self._versions[job_id] = replace(version, metrics={})
        return version

    def _known(self, operation: str, job_id: str) -> Version:
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

    # --- offers -------------------------------------------------------------------------------------

    def _spec_id(self, operation: str, job: JobRequest) -> int | None:
        """The number of the job's flavor; a dedicated pool has its own."""
        if job.spec.pool_id:
            return None
        specs = self._calls.read(operation, SPECS, v1_replies.spec_numbers, job_type=TRAINING)
        return _chosen(operation, specs, job.spec.flavor, "choose a flavor of this region")

    def _engine_id(self, operation: str, job: JobRequest) -> int | None:
        """The number of the job's preset image."""
        if job.spec.image_url:
            return None
        engines = self._calls.read(operation, ENGINES, v1_replies.engine_numbers, job_type=TRAINING)
        wanted = f"{job.spec.engine_name} {job.spec.engine_version}"
        return _chosen(operation, engines, wanted, "choose an engine of this region")


def _chosen(operation: str, offered: Mapping[str, int], wanted: str, hint: str) -> int:
    if wanted not in offered:
        raise CloudRejected(f"there is no {wanted}; offered: {', '.join(offered)}", operation=operation, hint=hint)
    return offered[wanted]


def _versions(reply: Any) -> list[Version]:
    job, name = str(reply["job_id"]), str(reply["job_name"])
    return [v1_replies.version(each, job, name) for each in reply.get("versions") or ()]


def _samples(reply: Any, job_id: str, start: datetime) -> tuple[MetricSample, ...]:
    version = v1_replies.version(reply, job_id.partition("/")[0])
    return tuple(v1_replies.samples(version.metrics, start))


def _log_name(version: Version, node: int) -> str:
    return f"{version.resource_id}-job-{version.status.name}-{node}.log"


def _node(task: str) -> int:
    return int(task.rpartition("-")[2])


def _has_no_version(job: JobStatus) -> bool:
    return job.job_id.endswith("/0")


def _is_before(page: Sequence[JobStatus], moment: datetime) -> bool:
    oldest = page[-1].created_at if page else None
    return oldest is not None and oldest < moment


def _nothing(_reply: Any) -> None:
    """An answer that says no more than that it was done."""
