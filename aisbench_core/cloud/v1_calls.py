"""Requests to ModelArts' older API (v1), which the official SDK has no methods for, but signs and sends."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, TypeVar

from aisbench_core.cloud import v1_replies
from aisbench_core.cloud.modelarts_client import Caller
from aisbench_core.errors import CloudNotFound
from aisbench_core.model import JobStatus

PAGE = 100
MOST_PAGES = 1000
LONGEST_SEARCH = 64

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


class V1Calls:
    """Calls below /v1/{project_id}/. It says no in two ways, which become one: by status, and by `is_success`."""

    def __init__(self, caller: Caller, workspace_id: str) -> None:
        self._caller = caller
        self._workspace_id = workspace_id

    def read(self, operation: str, path: str, parse: Parse[Value], job_id: str = "", **query: object) -> Value:
        """What `parse` makes of the answer. It only reads: tried twice."""
        call = self._caller.request("GET", f"/v1/{{project_id}}/{path}", _numbers(operation, job_id, path), query)
        return self._caller.read(operation, call, partial(self._told, operation, parse))

    def write(
        self,
        operation: str,
        method: str,
        path: str,
        parse: Parse[Value],
        job_id: str = "",
        body: Mapping[str, Any] | None = None,
    ) -> Value:
        """The same for a request that changes something: tried once."""
        numbers = _numbers(operation, job_id, path)
        call = self._caller.request(method, f"/v1/{{project_id}}/{path}", numbers, body=body)
        return self._caller.write(operation, call, partial(self._told, operation, parse))

    def newest_first(self, operation: str, search: str = "", statuses: str | None = None) -> Iterator[list[JobStatus]]:
        """Pages of jobs, each with its newest version; the next page is asked for when the reader wants it.

        `statuses`: only jobs with these numbers, with commas between them."""
        for number in range(1, MOST_PAGES):
            page = self.read(
                operation,
                JOBS,
                lambda reply: [v1_replies.listed(job) for job in reply.get("jobs") or ()],
                page=number,
                per_page=PAGE,
                sortBy="create_time",
                order="desc",
                status=statuses,
                search_content=search[:LONGEST_SEARCH] or None,
                workspace_id=self._workspace_id,
            )
            yield page
            if len(page) < PAGE:
                return

    def named(self, operation: str, name: str) -> JobStatus | None:
        """The job with exactly this name, with its newest version, as the list tells it; or None."""
        found = (job for page in self.newest_first(operation, name) for job in page)
        return next((job for job in found if job.name == name), None)

    def _told(self, operation: str, parse: Parse[Value], reply: Any) -> Value:
        if reply.get("is_success") is False:
            raise self._caller.refused(operation, None, reply.get("error_code"), reply.get("error_message"))
        return parse(reply)


def _numbers(operation: str, job_id: str, path: str) -> dict[str, str]:
    """The numbers of a job and its version in our text for both, as far as the path has places for them."""
    job, _, version = job_id.partition("/")
    if job_id and not (job and version):
        message = f"{job_id!r} is no job of the older API, whose ids are <job>/<version>"
        raise CloudNotFound(message, operation=operation, hint="was it made by another API?")
    return {name: part for name, part in (("job", job), ("version", version)) if f"{{{name}}}" in path}
