"""What is asked of ModelArts' older API (v1), whoever carries the question: requests, or the package `modelarts`."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from aisbench_core.cloud.modelarts_v1.v1_replies import JobVersion
from aisbench_core.errors import CloudNotFound, CloudRejected
from aisbench_core.messages import Message
from aisbench_core.model import Engine, Flavor, JobRequest, JobStatus, Pool

PAGE = 100
LONGEST_SEARCH = 64

CHOOSE_FLAVOR = Message("choose a flavor of this region")
CHOOSE_ENGINE = Message("choose an engine of this region")


class V1Calls(Protocol):
    """The older API. `job_id` is `<job>/<version>`; `operation` is for errors. Raises CloudError."""

    def page(self, operation: Message, number: int, search: str, statuses: str | None) -> list[JobStatus]:
        """One page of PAGE jobs, each with its newest version, newest first; `number` counts from 1.

        `statuses`: only jobs with these numbers, with commas between them, where that can be asked for."""

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
        """The newest part of a log; empty when there is none of this name."""

    def flavors(self) -> Sequence[Flavor]:
        """The instance types."""

    def engines(self) -> Sequence[Engine]:
        """The preset images."""

    def pools(self) -> Sequence[Pool] | None:
        """The dedicated pools; None where they cannot be asked for."""


def numbers(operation: Message, job_id: str) -> tuple[str, str]:
    """The numbers of a job and its version in our text for both."""
    job, _, version = job_id.partition("/")
    if not (job and version):
        message = Message("{job_id!r} is no job of the older API, whose ids are <job>/<version>", job_id=job_id)
        raise CloudNotFound(message, operation=operation, hint=Message("was it made by another API?"))
    return job, version


def chosen(operation: Message, wanted: str, offered: Iterable[str], hint: Message) -> str:
    """What is wanted, if it is offered. Raises CloudRejected with all that is."""
    names = list(offered)
    if wanted not in names:
        raise CloudRejected(
            Message("there is no {wanted}; offered: {offered}", wanted=wanted, offered=", ".join(names)),
            operation=operation,
            hint=hint,
        )
    return wanted
