"""Requests to ModelArts' older API (v1), which the official SDK has no methods for, but signs and sends."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from aisbench_core.cloud import pools
from aisbench_core.cloud.modelarts_client import Caller
from aisbench_core.cloud.modelarts_v1 import v1_replies
from aisbench_core.cloud.modelarts_v1.v1_body import configuration
from aisbench_core.cloud.modelarts_v1.v1_calls import (
    CHOOSE_ENGINE,
    CHOOSE_FLAVOR,
    LONGEST_SEARCH,
    PAGE,
    chosen,
    numbers,
)
from aisbench_core.cloud.modelarts_v1.v1_replies import JobVersion
from aisbench_core.messages import Message
from aisbench_core.model import Engine, Flavor, JobRequest, JobStatus, Pool
from aisbench_core.settings import Credentials, Profile

PREVIEW_LINES = 500
"""The most that one call gives."""

JOBS = "training-jobs"
JOB = "training-jobs/{job}"
VERSIONS = "training-jobs/{job}/versions"
VERSION = "training-jobs/{job}/versions/{version}"
SPECS = "job/resource-specs"
ENGINES = "job/ai-engines"
TRAINING = "train"
"""The kind of job that specs and engines are asked for."""

Value = TypeVar("Value")
Parse = Callable[[Any], Value]


class V1Requests:
    """Requests below /v1/{project_id}/. It says no in two ways, which become one: by status, and by `is_success`."""

    def __init__(self, profile: Profile, credentials: Credentials, request_seconds: float) -> None:
        """`request_seconds`: time-out of one request. Nothing is sent yet."""
        self._caller = Caller(profile, credentials, request_seconds)
        self._workspace_id = profile.workspace_id

    def page(self, operation: Message, number: int, search: str, statuses: str | None) -> list[JobStatus]:
        """One page of jobs, newest first."""
        return self._read(
            operation,
            JOBS,
            v1_replies.listing,
            page=number,
            per_page=PAGE,
            sortBy="create_time",
            order="desc",
            status=statuses,
            search_content=search[:LONGEST_SEARCH] or None,
            workspace_id=self._workspace_id,
        )

    def versions(self, operation: Message, job_id: str) -> list[JobVersion]:
        """All versions of a job."""
        return self._read(operation, VERSIONS, v1_replies.versions, job_id)

    def version(self, operation: Message, job_id: str) -> JobVersion:
        """One version, with its metrics."""
        job = job_id.partition("/")[0]
        return self._read(operation, VERSION, lambda reply: v1_replies.version(reply, job), job_id)

    def create(self, operation: Message, job: JobRequest) -> JobStatus:
        """A new job with its first version."""
        body = {
            "job_name": job.name,
            "job_desc": job.spec.description,
            "workspace_id": self._workspace_id,
            "config": self._configuration(operation, job),
        }
        return self._write(
            operation, "POST", JOBS, lambda reply: v1_replies.made(reply, job.spec.node_count), body=body
        )

    def create_version(self, operation: Message, job_id: str, previous: int, job: JobRequest) -> JobStatus:
        """The next version of a job."""
        config = {**self._configuration(operation, job), "pre_version_id": previous}
        body = {"job_desc": job.spec.description, "config": config}
        return self._write(
            operation, "POST", VERSIONS, lambda reply: v1_replies.made(reply, job.spec.node_count), job_id, body
        )

    def stop(self, operation: Message, job_id: str) -> None:
        """Ask a version to end."""
        self._write(operation, "POST", f"{VERSION}/stop", _nothing, job_id)

    def delete_version(self, operation: Message, job_id: str) -> None:
        """Remove one version of several."""
        self._write(operation, "DELETE", VERSION, _nothing, job_id)

    def delete_job(self, operation: Message, job_id: str) -> None:
        """Remove a job with its versions."""
        self._write(operation, "DELETE", JOB, _nothing, job_id)

    def log(self, operation: Message, job_id: str, name: str) -> str:
        """The newest lines of a log; empty when there is none of this name."""
        names = self._read(operation, f"{VERSION}/log/file-names", v1_replies.log_names, job_id)
        if name not in names:
            return ""
        return self._read(
            operation, f"{VERSION}/aom-log", v1_replies.log_text, job_id, log_file=name, lines=PREVIEW_LINES
        )

    def flavors(self) -> Sequence[Flavor]:
        """The instance types."""
        return self._read(Message("list flavors"), SPECS, v1_replies.flavors, job_type=TRAINING)

    def engines(self) -> Sequence[Engine]:
        """The preset images."""
        return self._read(Message("list engines"), ENGINES, v1_replies.engines, job_type=TRAINING)

    def pools(self) -> Sequence[Pool]:
        """The dedicated pools, which have one API for all jobs."""
        return pools.pools(self._caller, self._workspace_id)

    def _configuration(self, operation: Message, job: JobRequest) -> dict[str, Any]:
        """The API's `config`, which names flavor and image by number. A dedicated pool has a flavor of its own."""
        spec, flavor, engine = job.spec, None, None
        if not spec.pool_id:
            specs = self._read(operation, SPECS, v1_replies.spec_numbers, job_type=TRAINING)
            flavor = specs[chosen(operation, spec.flavor, specs, CHOOSE_FLAVOR)]
        if not spec.image_url:
            engines = self._read(operation, ENGINES, v1_replies.engine_numbers, job_type=TRAINING)
            engine = engines[chosen(operation, f"{spec.engine_name} {spec.engine_version}", engines, CHOOSE_ENGINE)]
        return configuration(job, flavor, engine)

    def _read(self, operation: Message, path: str, parse: Parse[Value], job_id: str = "", **query: object) -> Value:
        """What `parse` makes of the answer. It only reads: tried twice."""
        call = self._caller.request("GET", f"/v1/{{project_id}}/{path}", _places(operation, job_id, path), query)
        return self._caller.read(operation, call, partial(self._told, operation, parse))

    def _write(
        self,
        operation: Message,
        method: str,
        path: str,
        parse: Parse[Value],
        job_id: str = "",
        body: Mapping[str, Any] | None = None,
    ) -> Value:
        """The same for a request that changes something: tried once."""
        places = _places(operation, job_id, path)
        call = self._caller.request(method, f"/v1/{{project_id}}/{path}", places, body=body)
        return self._caller.write(operation, call, partial(self._told, operation, parse))

    def _told(self, operation: Message, parse: Parse[Value], reply: Any) -> Value:
        if reply.get("is_success") is False:
            message = reply.get("error_message") or reply.get("error_msg")
            raise self._caller.refused(operation, None, reply.get("error_code"), message)
        return parse(reply)


def _places(operation: Message, job_id: str, path: str) -> dict[str, str]:
    """The numbers that an address has places for."""
    if not job_id:
        return {}
    job, version = numbers(operation, job_id)
    return {name: part for name, part in (("job", job), ("version", version)) if f"{{{name}}}" in path}


def _nothing(_reply: Any) -> None:
    """An answer that says no more than that it was done."""
