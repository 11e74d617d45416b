"""The calls of API v1 as requests: the official SDK has no methods for them, but signs and sends them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar

from huaweicloudsdkmodelarts.v1 import ListPoolsRequest

from aisbench_core.base.errors import CloudNotFound, CloudRejected
from aisbench_core.base.messages import Message
from aisbench_core.cloud.job_fields import v1_configuration
from aisbench_core.cloud.modelarts_client import Caller, ignore_reply
from aisbench_core.cloud.modelarts_v1 import v1_replies
from aisbench_core.cloud.modelarts_v1.v1_replies import JobVersion
from aisbench_core.cloud.modelarts_v2 import replies
from aisbench_core.cloud.modelarts_v2.capacity import list_quotas, list_waiting
from aisbench_core.config.credentials import Credentials
from aisbench_core.config.settings import Profile
from aisbench_core.model import Engine, Flavor, JobRequest, JobStatus, Pool, Quota, WaitingJob

PAGE = 100
LONGEST_SEARCH = 64  # of search_content

JOBS = "training-jobs"
JOB = "training-jobs/{job}"
VERSIONS = "training-jobs/{job}/versions"
VERSION = "training-jobs/{job}/versions/{version}"
SPECS = "job/resource-specs"
ENGINES = "job/ai-engines"
TRAINING = "train"  # job_type of specs and engines

CHOOSE_FLAVOR = Message("choose a flavor of this region")
CHOOSE_ENGINE = Message("choose an engine of this region")

Value = TypeVar("Value")
Parse = Callable[[Any], Value]


class V1Calls(Protocol):
    """API v1, by requests or by the package `modelarts`. `job_id` is `<job>/<version>`. Raises CloudError."""

    def page(self, operation: Message, number: int, search: str, statuses: str | None) -> list[JobStatus]:
        """One page of PAGE jobs, newest first, each with its newest version; `number` counts from 1.

        `statuses`: only jobs with these status numbers, separated by commas, if the transport supports it."""

    def versions(self, operation: Message, job_id: str) -> list[JobVersion]:
        """All versions of a job."""

    def version(self, operation: Message, job_id: str) -> JobVersion:
        """One version, with its metrics."""

    def describe(self, operation: Message, job_id: str) -> Mapping[str, Any]:
        """One version in the API's own words."""

    def create(self, operation: Message, job: JobRequest) -> JobStatus:
        """A new job with its first version."""

    def create_version(self, operation: Message, job_id: str, previous: int, job: JobRequest) -> JobStatus:
        """The next version of a job."""

    def stop(self, operation: Message, job_id: str) -> None:
        """Ask a version to end."""

    def delete_version(self, operation: Message, job_id: str) -> None:
        """Remove one version of several."""

    def delete_job(self, operation: Message, job_id: str) -> None:
        """Remove a job with its versions."""

    def flavors(self) -> Sequence[Flavor]:
        """The instance types."""

    def engines(self) -> Sequence[Engine]:
        """The preset images."""

    def pools(self) -> Sequence[Pool] | None:
        """The dedicated pools; None if the transport cannot list them."""

    def list_waiting(self, pool_id: str) -> Sequence[WaitingJob] | None:
        """The queue of a pool; None if the transport cannot list it."""

    def quotas(self) -> Sequence[Quota] | None:
        """The project's quotas; None if the transport cannot list them."""


class V1Requests:
    """Requests below /v1/{project_id}/. The API refuses by status or by `is_success`; both raise the same errors."""

    def __init__(self, profile: Profile, credentials: Credentials, request_seconds: float) -> None:
        """`request_seconds`: timeout of one request. Sends nothing yet."""
        self._caller = Caller(profile, credentials, request_seconds)
        self._workspace_id = profile.workspace_id

    def page(self, operation: Message, number: int, search: str, statuses: str | None) -> list[JobStatus]:
        return self._send_read(
            operation,
            JOBS,
            v1_replies.parse_jobs,
            page=number,
            per_page=PAGE,
            sortBy="create_time",
            order="desc",
            status=statuses,
            # Finds a superset: the caller compares whole names.
            search_content=search[:LONGEST_SEARCH] or None,
            workspace_id=self._workspace_id,
        )

    def versions(self, operation: Message, job_id: str) -> list[JobVersion]:
        return self._send_read(operation, VERSIONS, v1_replies.parse_versions, job_id)

    def version(self, operation: Message, job_id: str) -> JobVersion:
        job = job_id.partition("/")[0]
        return self._send_read(operation, VERSION, lambda reply: v1_replies.parse_version(reply, job), job_id)

    def describe(self, operation: Message, job_id: str) -> Mapping[str, Any]:
        return self._send_read(operation, VERSION, dict, job_id)

    def create(self, operation: Message, job: JobRequest) -> JobStatus:
        body = {
            "job_name": job.name,
            "job_desc": job.spec.description,
            "workspace_id": self._workspace_id,
            "config": self._build_configuration(operation, job),
        }
        return self._send_write(operation, "POST", JOBS, _make_created_parser(job), body=body)

    def create_version(self, operation: Message, job_id: str, previous: int, job: JobRequest) -> JobStatus:
        config = {**self._build_configuration(operation, job), "pre_version_id": previous}
        body = {"job_desc": job.spec.description, "config": config}
        return self._send_write(operation, "POST", VERSIONS, _make_created_parser(job), job_id, body)

    def stop(self, operation: Message, job_id: str) -> None:
        self._send_write(operation, "POST", f"{VERSION}/stop", ignore_reply, job_id)

    def delete_version(self, operation: Message, job_id: str) -> None:
        self._send_write(operation, "DELETE", VERSION, ignore_reply, job_id)

    def delete_job(self, operation: Message, job_id: str) -> None:
        self._send_write(operation, "DELETE", JOB, ignore_reply, job_id)

    def flavors(self) -> Sequence[Flavor]:
        return self._send_read(Message("list flavors"), SPECS, v1_replies.parse_flavors, job_type=TRAINING)

    def engines(self) -> Sequence[Engine]:
        return self._send_read(Message("list engines"), ENGINES, v1_replies.parse_engines, job_type=TRAINING)

    def pools(self) -> Sequence[Pool]:
        """The dedicated pools, from API v2: v1 has no call for them."""
        call = self._caller.sdk.list_pools_invoker(ListPoolsRequest(workspace_id=self._workspace_id))
        return self._caller.read(Message("list pools"), call, replies.training_pools)

    def list_waiting(self, pool_id: str) -> Sequence[WaitingJob]:
        return list_waiting(self._caller, pool_id)

    def quotas(self) -> Sequence[Quota]:
        return list_quotas(self._caller)

    def _build_configuration(self, operation: Message, job: JobRequest) -> dict[str, Any]:
        """The API's `config`, which has numbers of flavor and image. A dedicated pool has its own flavor."""
        spec, flavor, engine = job.spec, None, None
        if not spec.pool_id:
            specs = self._send_read(operation, SPECS, v1_replies.spec_numbers, job_type=TRAINING)
            require_offered(operation, spec.flavor, specs, CHOOSE_FLAVOR)
            flavor = specs[spec.flavor]
        if not spec.image_url:
            engines = self._send_read(operation, ENGINES, v1_replies.engine_numbers, job_type=TRAINING)
            name = f"{spec.engine_name} {spec.engine_version}"
            require_offered(operation, name, engines, CHOOSE_ENGINE)
            engine = engines[name]
        return v1_configuration(job, flavor, engine)

    def _send_read(
        self, operation: Message, path: str, parse: Parse[Value], job_id: str = "", **query: object
    ) -> Value:
        """The parsed reply of a request that only reads."""
        call = self._caller.request("GET", f"/v1/{{project_id}}/{path}", _path_numbers(operation, job_id, path), query)
        return self._caller.read(operation, call, partial(self._parse_reply, operation, parse))

    def _send_write(
        self,
        operation: Message,
        method: str,
        path: str,
        parse: Parse[Value],
        job_id: str = "",
        body: Mapping[str, Any] | None = None,
    ) -> Value:
        """The same for a request that changes something."""
        parts = _path_numbers(operation, job_id, path)
        call = self._caller.request(method, f"/v1/{{project_id}}/{path}", parts, body=body)
        return self._caller.write(operation, call, partial(self._parse_reply, operation, parse))

    def _parse_reply(self, operation: Message, parse: Parse[Value], reply: Any) -> Value:
        if reply.get("is_success") is False:
            message = reply.get("error_message") or reply.get("error_msg")
            raise self._caller.make_refusal(operation, None, reply.get("error_code"), message)
        return parse(reply)


def _path_numbers(operation: Message, job_id: str, path: str) -> dict[str, str]:
    if not job_id:
        return {}
    job, version = split_job_id(operation, job_id)
    return {name: part for name, part in (("job", job), ("version", version)) if f"{{{name}}}" in path}


def _make_created_parser(job: JobRequest) -> Parse[JobStatus]:
    return lambda reply: v1_replies.parse_created_job(reply, job.spec.node_count)


def split_job_id(operation: Message, job_id: str) -> tuple[str, str]:
    """The ids of job and version in one of our job ids. Raises CloudNotFound for an id of API v2."""
    job, _, version = job_id.partition("/")
    if not (job and version):
        message = Message("{job_id!r} is not a job id of API v1, which is <job>/<version>", job_id=job_id)
        raise CloudNotFound(message, operation=operation, hint=Message("was it created by another API?"))
    return job, version


def require_offered(operation: Message, name: str, offered: Iterable[str], hint: Message) -> None:
    """Raise CloudRejected with everything that is offered, if `name` is not."""
    names = list(offered)
    if name not in names:
        message = Message("there is no {wanted}; offered: {offered}", wanted=name, offered=", ".join(names))
        raise CloudRejected(message, operation=operation, hint=hint)
