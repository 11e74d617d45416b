"""Updates of an existing job: its description, its notification, and its scheduling."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from aisbench_sandbox.job import Job, JobPhase
from aisbench_sandbox.refusals import Refused
from aisbench_sandbox.service.state import parameters
from aisbench_sandbox.service.state.limits import check_annotations, check_notification, check_schedule_policy


def apply_update(job: Job, body: Mapping[str, Any]) -> Job:
    """The job after an update request. Raises Refused (2788, 2816, 2878)."""
    metadata, spec = dict(job.body["metadata"]), dict(job.body["spec"])
    if body.get("description") is not None:
        metadata["description"] = parameters.read_text(body, "description")
    wanted = parameters.read_block(body, "spec")
    if notification := parameters.read_block(wanted, "notification"):
        check_notification(notification)
        spec["notification"] = notification
    # Singular in an update, plural at creation (SDK, JobUpdateRequestBody).
    if annotation := parameters.read_block(parameters.read_block(body, "metadata"), "annotation"):
        check_annotations(annotation)
        metadata["annotations"] = {**(metadata.get("annotations") or {}), **annotation}
    if policy := parameters.read_block(wanted, "schedule_policy"):
        spec["schedule_policy"] = {**(spec.get("schedule_policy") or {}), **_change_policy(job, policy)}
    return replace(job, body={**job.body, "metadata": metadata, "spec": spec})


def _change_policy(job: Job, policy: Mapping[str, Any]) -> Mapping[str, Any]:
    check_schedule_policy(policy, bool(job.body["spec"]["resource"].get("pool_id")))
    # Training guide 5.5: the priority of a waiting job. The documents do not name a code for other phases; 2878 is
    # "status changed".
    if job.phase not in (JobPhase.CREATING, JobPhase.PENDING):
        message = f"The training job is {job.phase}: its priority can be changed only while it is Pending."
        raise Refused(409, "ModelArts.2878", message, "Set the priority when the job is created.")
    return policy
