"""V1Calls through the class estimator.Estimator of the package `modelarts`, whose jobs have versions."""

from collections.abc import Mapping, Sequence
from typing import Any

from aisbench_core.base.messages import Message
from aisbench_core.cloud.job_fields import sdk_v1_arguments
from aisbench_core.cloud.modelarts_client import ignore_reply
from aisbench_core.cloud.modelarts_package import sdk_replies
from aisbench_core.cloud.modelarts_package.sdk_calls import SdkCalls
from aisbench_core.cloud.modelarts_v1 import v1_replies, v1_requests
from aisbench_core.cloud.modelarts_v1.v1_replies import JobVersion
from aisbench_core.config.credentials import Credentials
from aisbench_core.config.settings import Profile
from aisbench_core.model import Engine, Flavor, JobRequest, JobStatus


class SdkV1Calls:
    """API v1 through the package, whose replies are those of the API."""

    def __init__(self, profile: Profile, credentials: Credentials, request_seconds: float) -> None:
        """`request_seconds`: timeout of one call. Sends nothing yet."""
        self._calls = SdkCalls(profile, credentials, request_seconds)

    def page(
        self,
        operation: Message,
        number: int,
        search: str,
        statuses: str | None,  # noqa: ARG002  # the protocol's
    ) -> list[JobStatus]:
        """One page of jobs in any status: the package can filter by only one."""
        query: dict[str, Any] = {"per_page": v1_requests.PAGE, "page": number, "sortBy": "create_time", "order": "desc"}
        if search:
            query["search_content"] = search[: v1_requests.LONGEST_SEARCH]
        return self._calls.ask(operation, "v1_jobs", v1_replies.parse_jobs, **query)

    def versions(self, operation: Message, job_id: str) -> list[JobVersion]:
        job = _split_job_id(operation, job_id)["job_id"]
        return self._calls.ask(operation, "v1_versions", v1_replies.parse_versions, job_id=job)

    def version(self, operation: Message, job_id: str) -> JobVersion:
        """One version, with its metrics if the package passes them on."""
        ids = _split_job_id(operation, job_id)
        return self._calls.ask(
            operation, "v1_version", lambda reply: v1_replies.parse_version(reply, ids["job_id"]), **ids
        )

    def describe(self, operation: Message, job_id: str) -> Mapping[str, Any]:
        return self._calls.ask(operation, "v1_version", dict, **_split_job_id(operation, job_id))

    def create(self, operation: Message, job: JobRequest) -> JobStatus:
        self._check_offers(operation, job)
        return self._calls.ask(operation, "v1_create", _parse_created, job_name=job.name, **sdk_v1_arguments(job))

    def create_version(self, operation: Message, job_id: str, previous: int, job: JobRequest) -> JobStatus:
        self._check_offers(operation, job)
        version = {"job_id": _split_job_id(operation, job_id)["job_id"], "pre_version_id": previous}
        arguments = {**version, "job_desc": job.spec.description, **sdk_v1_arguments(job)}
        return self._calls.ask(operation, "v1_create_version", _parse_created, **arguments)

    def stop(self, operation: Message, job_id: str) -> None:
        self._calls.ask(operation, "v1_stop", ignore_reply, **_split_job_id(operation, job_id))

    def delete_version(self, operation: Message, job_id: str) -> None:
        self._calls.ask(operation, "v1_delete_version", ignore_reply, **_split_job_id(operation, job_id))

    def delete_job(self, operation: Message, job_id: str) -> None:
        self._calls.ask(operation, "v1_delete", ignore_reply, job_id=_split_job_id(operation, job_id)["job_id"])

    def flavors(self) -> Sequence[Flavor]:
        """The instance types, with what their names say."""
        return self._calls.ask(Message("list flavors"), "v1_flavors", sdk_replies.parse_flavors)

    def engines(self) -> Sequence[Engine]:
        return self._calls.ask(Message("list engines"), "v1_engines", sdk_replies.parse_engines)

    def pools(self) -> None:
        """None: the package has no call for them."""

    def list_waiting(self, pool_id: str) -> None:
        """None: the package has no call for it."""

    def quotas(self) -> None:
        """None: the package has no call for them."""

    def _check_offers(self, operation: Message, job: JobRequest) -> None:
        # The package looks up the numbers of flavor and image itself; its reference does not say what it does for
        # unknown ones.
        spec = job.spec
        if not spec.pool_id:
            offered = [flavor.flavor_id for flavor in self.flavors()]
            v1_requests.require_offered(operation, spec.flavor, offered, v1_requests.CHOOSE_FLAVOR)
        if not spec.image_url:
            offered = [f"{engine.name} {engine.version}" for engine in self.engines()]
            name = f"{spec.engine_name} {spec.engine_version}"
            v1_requests.require_offered(operation, name, offered, v1_requests.CHOOSE_ENGINE)


def _parse_created(reply: Any) -> JobStatus:
    return v1_replies.parse_version(reply, str(reply["job_id"])).status


def _split_job_id(operation: Message, job_id: str) -> dict[str, str]:
    job, version = v1_requests.split_job_id(operation, job_id)
    return {"job_id": job, "version_id": version}
