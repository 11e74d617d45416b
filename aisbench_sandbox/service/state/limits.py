"""Validates the smaller blocks of a create request: volumes, notification, scheduling, annotations."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from aisbench_sandbox.files import MAX_NAME_BYTES
from aisbench_sandbox.refusals import Refused
from aisbench_sandbox.service.state import parameters

# Training guide, table 4-6: eight SFS Turbo volumes, each path once, not / nor /cache nor /home/ma-user/modelarts.
MAX_VOLUMES = 8
# SDK, JobMetadata.annotations; the training guide (5.2.1) allows 1 to 3.
MAX_RETRIES = 128
# SDK, Notification.events.
NOTIFIED = (
    "JobStarted",
    "JobCompleted",
    "JobFailed",
    "JobTerminated",
    "JobRestarted",
    "JobHanged",
    "JobPreempted",
)
_VOLUMES = {"nfs": "nfs_server_path", "pfs": "pfs_path", "obs": "obs_path"}
_RESERVED = ("/", "/cache", "/home/ma-user/modelarts")
_WORKSPACE = re.compile(r"0|[0-9a-zA-Z]{32}")
# Other values than "true" are not documented; "false" is taken for a switch that is off.
_TRUE = (
    "fault-tolerance/job-unconditional-retry",
    "fault-tolerance/hang-retry",
    "jupyter-lab/enable",
    "tensorboard/enable",
    "mindstudio-insight/enable",
)


def check_metadata(metadata: Mapping[str, Any]) -> None:
    """Workspace, description and annotations. Raises Refused (2788, 2891)."""
    parameters.read_text(metadata, "description")
    workspace = parameters.read_text(metadata, "workspace_id")
    if workspace and not _WORKSPACE.fullmatch(workspace):
        message = f"Invalid workspace: {workspace}."
        raise Refused(400, "ModelArts.2891", message, "Use 0, or an ID of 32 characters.")
    check_annotations(parameters.read_block(metadata, "annotations"))


def check_annotations(annotations: Mapping[str, Any]) -> None:
    """Annotations are strings; those of fault tolerance take effect here. Raises Refused (2788)."""
    for key, value in annotations.items():
        if not isinstance(value, str):
            raise parameters.make_refusal(f"metadata.annotations.{key}", "a text")
        if key in _TRUE and value not in ("true", "false"):
            raise parameters.make_refusal(f"metadata.annotations.{key}", '"true"')
    retries = annotations.get("fault-tolerance/job-retry-num")
    if retries is not None and not (re.fullmatch(r"[0-9]{1,3}", retries) and 1 <= int(retries) <= MAX_RETRIES):
        raise parameters.make_refusal("metadata.annotations.fault-tolerance/job-retry-num", f'"1" to "{MAX_RETRIES}"')


def check_spec(spec: Mapping[str, Any]) -> None:
    """Volumes, notification, auto-stop and scheduling. Raises Refused (2788, 2816)."""
    _check_volumes(parameters.read_entries(spec, "volumes"))
    if notification := parameters.read_block(spec, "notification"):
        check_notification(notification)
    for name in ("auto_stop", "reserved_time"):
        _check_hours(name, parameters.read_block(spec, name))
    if policy := parameters.read_block(spec, "schedule_policy"):
        check_schedule_policy(policy, bool(parameters.read_block(spec, "resource").get("pool_id")))


def _check_volumes(volumes: Sequence[Mapping[str, Any]]) -> None:
    mounted = [_read_mount_point(volume) for volume in volumes]
    if len(volumes) > MAX_VOLUMES:
        raise parameters.make_refusal("spec.volumes", f"at most {MAX_VOLUMES}")
    if len(set(mounted)) < len(mounted):
        raise parameters.make_refusal("spec.volumes", "each local_path once")


def _read_mount_point(volume: Mapping[str, Any]) -> str:
    """The mount point of a volume."""
    kinds = [kind for kind in _VOLUMES if volume.get(kind) is not None]
    if len(kinds) != 1:
        raise parameters.make_refusal("spec.volumes", f"one of {', '.join(_VOLUMES)} each")
    source = parameters.read_block(volume, kinds[0])
    path = parameters.read_text(source, "local_path", most=1024).rstrip("/") or "/"
    if not path.startswith("/") or path in _RESERVED or ".." in path.split("/"):
        raise parameters.make_refusal("spec.volumes.local_path", f"an absolute path other than {', '.join(_RESERVED)}")
    remote = parameters.read_text(source, _VOLUMES[kinds[0]], most=1024)
    if not remote or (kinds[0] == "nfs" and not re.fullmatch(r"[^:/]+:/.*", remote)):
        raise parameters.make_refusal(f"spec.volumes.{_VOLUMES[kinds[0]]}", "a path; for nfs, address:/path")
    for name, value in (("local_path", path), (_VOLUMES[kinds[0]], remote)):
        if parameters.has_long_name(value):
            raise parameters.make_refusal(f"spec.volumes.{name}", f"names of at most {MAX_NAME_BYTES} bytes")
    parameters.read_flag(source, "read_only")
    return path


def check_notification(notification: Mapping[str, Any]) -> None:
    """Topic and events. Raises Refused (2788)."""
    parameters.read_text(notification, "topic_urn", 1, 1024)
    for event in parameters.read_texts(notification.get("events"), "spec.notification.events", len(NOTIFIED)):
        if event not in NOTIFIED:
            raise parameters.make_refusal("spec.notification.events", ", ".join(NOTIFIED))


def _check_hours(name: str, limit: Mapping[str, Any]) -> None:
    # The only unit of the API; the console offers 1 to 720 hours (training guide, table 4-6).
    if limit and (limit.get("time_unit") != "HOURS" or not parameters.is_count(limit.get("duration"), 1, 2**31 - 1)):
        raise parameters.make_refusal(f"spec.{name}", "time_unit HOURS and a duration from 1")


def check_schedule_policy(policy: Mapping[str, Any], in_pool: bool) -> None:
    """Priority and preemption, which are for dedicated pools. Raises Refused (2788, 2816)."""
    priority = policy.get("priority")
    if priority is not None and not parameters.is_count(priority, 1, 3):
        raise Refused(400, "ModelArts.2816", f"The priority {priority} is out of range.", "Use 1, 2 or 3.")
    parameters.read_flag(policy, "preemptible")
    # Training guide 5.5: jobs in the public pool have no priority.
    if not in_pool:
        raise parameters.make_refusal(
            "spec.schedule_policy", "only with spec.resource.pool_id: it is for dedicated pools"
        )
