"""The older API (v1) through the package `modelarts`: its class estimator.Estimator, whose jobs have versions."""

from collections.abc import Sequence
from typing import Any

from aisbench_core.cloud.modelarts_package import sdk_replies
from aisbench_core.cloud.modelarts_package.sdk_body import version_arguments
from aisbench_core.cloud.modelarts_package.sdk_calls import MissingFeature, SdkCalls
from aisbench_core.cloud.modelarts_v1 import v1_replies
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
from aisbench_core.model import Engine, Flavor, JobRequest, JobStatus
from aisbench_core.settings import Credentials, Profile


class SdkV1Calls:
    """What ModelArtsV1 asks, carried by the package, which answers as the API does."""

    def __init__(self, profile: Profile, credentials: Credentials, request_seconds: float) -> None:
        """`request_seconds`: time-out of one call. Nothing is sent yet."""
        self._calls = SdkCalls(profile, credentials, request_seconds)

    def page(
        self,
        operation: Message,
        number: int,
        search: str,
        statuses: str | None,  # noqa: ARG002  # the API's own class takes it, and is called in the same way
    ) -> list[JobStatus]:
        """One page of jobs, newest first. The package takes one status only, so it is asked for jobs in all of them."""
        asked: dict[str, Any] = {"per_page": PAGE, "page": number, "sortBy": "create_time", "order": "desc"}
        if search:
            asked["search_content"] = search[:LONGEST_SEARCH]
        return self._calls.ask(operation, "v1_jobs", v1_replies.listing, **asked)

    def versions(self, operation: Message, job_id: str) -> list[JobVersion]:
        """All versions of a job."""
        job, _ = numbers(operation, job_id)
        return self._calls.ask(operation, "v1_versions", v1_replies.versions, job_id=job)

    def version(self, operation: Message, job_id: str) -> JobVersion:
        """One version, with its metrics where the package passes them on."""
        job, version = numbers(operation, job_id)
        return self._calls.ask(
            operation,
            "v1_version",
            lambda reply: v1_replies.version(reply, job),
            job_id=job,
            version_id=version,
        )

    def create(self, operation: Message, job: JobRequest) -> JobStatus:
        """A new job with its first version."""
        self._look_at_offers(operation, job)
        return self._calls.ask(operation, "v1_create", _made, job_name=job.name, **version_arguments(job))

    def create_version(self, operation: Message, job_id: str, previous: int, job: JobRequest) -> JobStatus:
        """The next version of a job."""
        self._look_at_offers(operation, job)
        return self._calls.ask(
            operation,
            "v1_create_version",
            _made,
            job_id=numbers(operation, job_id)[0],
            pre_version_id=previous,
            job_desc=job.spec.description,
            **version_arguments(job),
        )

    def stop(self, operation: Message, job_id: str) -> None:
        """Ask a version to end."""
        job, version = numbers(operation, job_id)
        self._calls.ask(operation, "v1_stop", _nothing, job_id=job, version_id=version)

    def delete_version(self, operation: Message, job_id: str) -> None:
        """Remove one version of several."""
        job, version = numbers(operation, job_id)
        self._calls.ask(operation, "v1_delete_version", _nothing, job_id=job, version_id=version)

    def delete_job(self, operation: Message, job_id: str) -> None:
        """Remove a job with its versions."""
        self._calls.ask(operation, "v1_delete", _nothing, job_id=numbers(operation, job_id)[0])

    def log(self, operation: Message, job_id: str, name: str) -> str:
        """The newest part of a log; empty when there is none of this name, or when the package cannot tell it."""
        job, version = numbers(operation, job_id)
        of = {"job_id": job, "version_id": version}
        try:
            names = self._calls.ask(operation, "v1_log_names", v1_replies.log_names, **of)
            if name not in names:
                return ""
            return self._calls.ask(operation, "v1_log", v1_replies.log_text, **of, log_file=name)
        except MissingFeature:
            return ""

    def flavors(self) -> Sequence[Flavor]:
        """The instance types, as far as their names tell."""
        return self._calls.ask(Message("list flavors"), "v1_flavors", sdk_replies.flavors)

    def engines(self) -> Sequence[Engine]:
        """The preset images."""
        return self._calls.ask(Message("list engines"), "v1_engines", sdk_replies.engines)

    def pools(self) -> None:
        """Unknown: the package has no call for them."""

    def _look_at_offers(self, operation: Message, job: JobRequest) -> None:
        """The package finds the numbers of flavor and image by itself; what it does when there is none is not told."""
        spec = job.spec
        if not spec.pool_id:
            chosen(operation, spec.flavor, [flavor.flavor_id for flavor in self.flavors()], CHOOSE_FLAVOR)
        if not spec.image_url:
            offered = [f"{engine.name} {engine.version}" for engine in self.engines()]
            chosen(operation, f"{spec.engine_name} {spec.engine_version}", offered, CHOOSE_ENGINE)


def _made(reply: Any) -> JobStatus:
    return v1_replies.version(reply, str(reply["job_id"])).status


def _nothing(_reply: Any) -> None:
    """An answer that says no more than that it was done."""
