"""The calls of API v1, which are sent by requests or by the package `modelarts`."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from aisbench_core.cloud.modelarts_v1.v1_replies import JobVersion
from aisbench_core.errors import CloudNotFound, CloudRejected
from aisbench_core.messages import Message
from aisbench_core.model import Engine, Flavor, JobRequest, JobStatus, Pool

PAGE = 100
LONGEST_SEARCH = 64  # of search_content

CHOOSE_FLAVOR = Message("choose a flavor of this region")
CHOOSE_ENGINE = Message("choose an engine of this region")


class V1Calls(Protocol):
    """API v1. `job_id` is `<job>/<version>`; `operation` is for errors. Raises CloudError."""

    def page(self, operation: Message, number: int, search: str, statuses: str | None) -> list[JobStatus]:
        """One page of PAGE jobs, newest first, each with its newest version; `number` counts from 1.

        `statuses`: only jobs with these status numbers, separated by commas, if the transport supports it."""

    def versions(self, operation: Message, job_id: str) -> list[JobVersion]:
        """All versions of a job."""

    def version(self, operation: Message, job_id: str) -> JobVersion:
        """One version, with its metrics."""

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

    def log(self, operation: Message, job_id: str, name: str) -> str:
        """The newest part of a log; empty if there is none of this name."""

    def flavors(self) -> Sequence[Flavor]:
        """The instance types."""

    def engines(self) -> Sequence[Engine]:
        """The preset images."""

    def pools(self) -> Sequence[Pool] | None:
        """The dedicated pools; None if the transport cannot list them."""


def numbers(operation: Message, job_id: str) -> tuple[str, str]:
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
