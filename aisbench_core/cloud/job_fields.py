"""The fields of a job in each API: one table for API v2, API v1 and the package `modelarts`.

What an API has no name for, preflight refuses (`api.v1`, `api.sdk`)."""

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from aisbench_core.model import Channel, JobRequest, Volume


@dataclass(frozen=True, slots=True)
class JobField:
    """A value, and its dotted name in each API; empty where an API lacks it, or takes it in another form.

    `package`: the name in both classes of the package; `sdk` and `sdk_v1`: in one of them. They are arguments of
    `sdk_worker.Sdk.create` and `.v1_create`."""

    value: Callable[[JobRequest], Any]
    v2: str = ""
    v1: str = ""
    package: str = ""
    sdk: str = ""
    sdk_v1: str = ""


# A preset engine starts a boot file, a custom image a command; API v2 refuses both together (2806).
def _boot_path(job: JobRequest) -> str:
    return "" if job.spec.has_own_start else job.boot_path


def _engine_name(job: JobRequest) -> str:
    return "" if job.spec.has_own_start else job.spec.engine_name


def _engine_version(job: JobRequest) -> str:
    return "" if job.spec.image_url else job.spec.engine_version


def _build_command(job: JobRequest) -> str:
    """The start command of a custom image. No shell reads a profile there, so `conda activate` cannot choose the
    environment; the guide (3.4) puts it first on the path instead."""
    spec = job.spec
    if not (spec.image_url and spec.command):
        return ""
    return f"export PATH={shlex.quote(spec.conda_env)}/bin:$PATH; {spec.command}" if spec.conda_env else spec.command


FIELDS = (
    JobField(lambda job: job.name, "metadata.name", sdk="job_name"),
    JobField(lambda job: job.spec.description, "metadata.description", package="job_description"),
    JobField(lambda job: str(job.spec.retries or ""), "metadata.annotations.fault-tolerance/job-retry-num"),
    JobField(
        lambda job: _to_true(job.spec.retry_always), "metadata.annotations.fault-tolerance/job-unconditional-retry"
    ),
    JobField(lambda job: _to_true(job.spec.retry_on_hang), "metadata.annotations.fault-tolerance/hang-retry"),
    JobField(lambda job: job.spec.algorithm, "algorithm.id"),
    JobField(lambda job: job.spec.subscription_id, "algorithm.subscription_id"),
    JobField(lambda job: job.spec.item_version_id, "algorithm.item_version_id"),
    JobField(lambda job: job.code_path, "algorithm.code_dir", "app_url", sdk_v1="code_dir"),
    JobField(lambda job: _to_obs_url(job.code_path), sdk="files.code_dir"),
    JobField(_boot_path, "algorithm.boot_file", "boot_file_url", sdk_v1="boot_file"),
    JobField(lambda job: _to_obs_url(_boot_path(job)), sdk="files.boot_file"),
    JobField(lambda job: job.spec.image_url, "algorithm.engine.image_url", "user_image_url", "user_image_url"),
    JobField(_build_command, "algorithm.command", "user_command", "user_command"),
    JobField(lambda job: job.spec.working_dir, "algorithm.working_dir"),
    JobField(lambda job: job.spec.local_code_dir, "algorithm.local_code_dir"),
    # API v1 takes the number of the engine, and that of the flavor, instead of their names.
    JobField(_engine_name, "algorithm.engine.engine_name", package="framework_type"),
    JobField(_engine_version, "algorithm.engine.engine_version", package="framework_version"),
    JobField(lambda job: job.spec.flavor, "spec.resource.flavor_id", package="train_instance_type"),
    JobField(lambda job: job.spec.node_count, "spec.resource.node_count", "worker_server_num", "train_instance_count"),
    JobField(lambda job: job.spec.pool_id, "spec.resource.pool_id", "pool_id", "pool_id"),
    JobField(lambda job: _list_pairs(job, "name"), "algorithm.parameters", sdk="parameters"),
    JobField(lambda job: _list_pairs(job, "label"), v1="parameter", sdk_v1="hyperparameters"),
    JobField(lambda job: [_to_remote(channel) for channel in job.inputs], "algorithm.inputs"),
    JobField(lambda job: [_to_remote(channel) for channel in job.outputs], "algorithm.outputs"),
    JobField(lambda job: job.inputs[0].path if job.inputs else "", v1="data_url", sdk_v1="inputs"),
    JobField(lambda job: job.outputs[0].path, v1="train_url", sdk_v1="output_path"),
    JobField(lambda job: dict(job.environments), "algorithm.environments", sdk="env_variables"),
    JobField(lambda job: job.log_path, "spec.log_export_path.obs_url", "log_url", sdk_v1="log_url"),
    JobField(lambda job: _to_obs_url(job.log_path), sdk="log_url"),
    JobField(lambda job: [_to_volume(volume) for volume in job.spec.volumes], "spec.volumes", sdk="volumes"),
    JobField(lambda job: [_to_share(volume) for volume in job.spec.volumes], v1="volumes"),
    JobField(lambda job: "nfs" if job.spec.volumes else "", sdk_v1="nas_type"),
    JobField(lambda job: job.spec.volumes[0].server_path if job.spec.volumes else "", sdk_v1="nas_share_addr"),
    JobField(lambda job: job.spec.volumes[0].local_path if job.spec.volumes else "", sdk_v1="nas_mount_path"),
    # HOURS is the only unit; time in the queue does not count.
    JobField(lambda job: job.spec.auto_stop_hours and "HOURS", "spec.auto_stop.time_unit"),
    JobField(lambda job: job.spec.auto_stop_hours, "spec.auto_stop.duration"),
    # The public pool refuses the field.
    JobField(lambda job: job.spec.priority if job.spec.pool_id else None, "spec.schedule_policy.priority"),
)


_OF_ALGORITHMS = ("code_dir", "boot_file", "command", "engine", "parameters")


def v2_body(job: JobRequest, workspace_id: str) -> dict[str, Any]:
    """The request body of API v2."""
    body = _build_body(job, "v2")
    body["metadata"]["workspace_id"] = workspace_id
    return {"kind": "job", **body}


def v2_algorithm(job: JobRequest, workspace_id: str) -> dict[str, Any]:
    """The request body of API v2 that creates an algorithm of what the job would run."""
    algorithm = _build_body(job, "v2")["algorithm"]
    config = {name: algorithm[name] for name in _OF_ALGORITHMS if name in algorithm}
    metadata = {"name": job.name, "description": job.spec.description, "workspace_id": workspace_id}
    for kind, channels in (("inputs", job.inputs), ("outputs", job.outputs)):
        config[kind] = [{"name": channel.name} for channel in channels]
    return {"metadata": metadata, "job_config": {**config, "parameters_customization": True}}


def v1_configuration(job: JobRequest, spec_id: int | None, engine_id: int | None) -> dict[str, Any]:
    """The `config` of API v1. `spec_id` is None in a dedicated pool, `engine_id` with a custom image."""
    numbers = {"spec_id": spec_id, "engine_id": engine_id}
    return _build_body(job, "v1") | {name: number for name, number in numbers.items() if number is not None}


def sdk_arguments(job: JobRequest) -> dict[str, Any]:
    """The arguments of `sdk_worker.Sdk.create`."""
    inputs = [{"name": channel.name, "obs_path": _to_obs_url(channel.path)} for channel in job.inputs]
    outputs = [
        {"name": channel.name, "obs_path": _to_obs_url(channel.path), "access_method": channel.access_method.value}
        for channel in job.outputs
    ]
    return {"files": {}, **_build_body(job, "sdk"), "inputs": inputs, "outputs": outputs}


def sdk_v1_arguments(job: JobRequest) -> dict[str, Any]:
    """The arguments of `sdk_worker.Sdk.v1_create`, which writes paths as /bucket/… instead of obs://."""
    return {"inputs": None, **_build_body(job, "sdk_v1")}


def _build_body(job: JobRequest, api: str) -> dict[str, Any]:
    """The values by their names in an API. Unset ones are left out, so that the cloud's defaults apply."""
    body: dict[str, Any] = {}
    for field in FIELDS:
        name = getattr(field, api) or (field.package if api.startswith("sdk") else "")
        value = field.value(job) if name else None
        if value not in (None, "", [], {}):
            *sections, last = name.split(".")
            section = body
            for part in sections:
                section = section.setdefault(part, {})
            section[last] = value
    return body


def _to_true(requested: bool) -> str:
    return "true" if requested else ""


def _list_pairs(job: JobRequest, key: str) -> list[dict[str, str]]:
    return [{key: name, "value": value} for name, value in job.parameters.items()]


def _to_remote(channel: Channel) -> Mapping[str, Any]:
    remote = {"obs": {"obs_url": channel.path}}
    prefetch = {"prefetch_to_local": True} if channel.prefetch else {}
    local = {"local_dir": channel.local_dir} if channel.local_dir else {}
    return {"name": channel.name, "access_method": channel.access_method.value, "remote": remote, **prefetch, **local}


def _to_volume(volume: Volume) -> Mapping[str, Any]:
    if volume.pfs_path:
        return {"pfs": {"pfs_path": volume.pfs_path, "local_path": volume.local_path}}
    path = volume.server_path
    return {"nfs": {"nfs_server_path": path, "local_path": volume.local_path, "read_only": volume.read_only}}


def _to_share(volume: Volume) -> Mapping[str, Any]:
    share = {"src_path": volume.server_path, "dest_path": volume.local_path, "read_only": volume.read_only}
    return {"nfs": {**({"id": volume.id} if volume.id else {}), **share}}


def _to_obs_url(path: str) -> str:
    """An OBS path in the package's form, obs://bucket/directory/."""
    return f"obs:/{path}" if path else ""
