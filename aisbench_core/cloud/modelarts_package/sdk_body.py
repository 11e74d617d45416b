"""The arguments for a job in the package `modelarts`.

It has no automatic stop, retries or priority; preflight refuses specs with them (`api.sdk`)."""

from collections.abc import Mapping
from typing import Any

from aisbench_core.model import Channel, JobRequest, NfsVolume

NFS = "nfs"


def job_arguments(job: JobRequest) -> dict[str, Any]:
    """The arguments of `sdk_worker.Sdk.create`. Unset ones are left out, so that the cloud's defaults apply."""
    spec = job.spec
    arguments = {
        "job_description": spec.description,
        "parameters": [{"name": name, "value": value} for name, value in job.parameters.items()],
        "train_instance_type": spec.flavor,
        "train_instance_count": spec.node_count,
        "pool_id": spec.pool_id,
        "log_url": _url(job.log_path),
        "env_variables": dict(job.environments),
        "volumes": [_volume(volume) for volume in spec.volumes],
        **_image(job),
    }
    files = {"code_dir": _url(job.code_path), "boot_file": "" if spec.image_url else _url(job.boot_path)}
    return {
        **{name: value for name, value in arguments.items() if value not in (None, "", [], {})},
        "job_name": job.name,
        "files": {name: url for name, url in files.items() if url},
        "inputs": [_channel(channel) for channel in job.inputs],
        "outputs": [{**_channel(channel), "access_method": channel.access_method.value} for channel in job.outputs],
    }


def version_arguments(job: JobRequest) -> dict[str, Any]:
    """The arguments of `sdk_worker.Sdk.v1_create`, which writes paths as /bucket/… instead of obs://."""
    spec = job.spec
    share = spec.volumes[0] if spec.volumes else None
    arguments = {
        "job_description": spec.description,
        "hyperparameters": [{"label": name, "value": value} for name, value in job.parameters.items()],
        "code_dir": job.code_path,
        "boot_file": "" if spec.image_url else job.boot_path,
        "output_path": job.outputs[0].path,
        "log_url": job.log_path,
        "train_instance_type": spec.flavor,
        "train_instance_count": spec.node_count,
        "pool_id": spec.pool_id,
        "nas_type": NFS if share else "",
        "nas_share_addr": share.server_path if share else "",
        "nas_mount_path": share.local_path if share else "",
        **_image(job),
    }
    set_arguments = {name: value for name, value in arguments.items() if value not in (None, "", [])}
    return {"inputs": job.inputs[0].path if job.inputs else None, **set_arguments}


def _image(job: JobRequest) -> Mapping[str, str]:
    spec = job.spec
    if spec.image_url:
        return {"user_image_url": spec.image_url, "user_command": spec.command}
    return {"framework_type": spec.engine_name, "framework_version": spec.engine_version}


def _channel(channel: Channel) -> dict[str, str]:
    return {"name": channel.name, "obs_path": _url(channel.path)}


def _volume(volume: NfsVolume) -> Mapping[str, Any]:
    path = volume.server_path
    return {"nfs": {"nfs_server_path": path, "local_path": volume.local_path, "read_only": volume.read_only}}


def _url(path: str) -> str:
    """An OBS path in the package's form, obs://bucket/directory/."""
    return f"obs:/{path}" if path else ""
