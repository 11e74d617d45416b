"""The request body for a job in API v1.

It has one input and one output, and no environment, automatic stop, retries or priority; preflight refuses specs with
more (`api.v1`)."""

from typing import Any

from aisbench_core.model import JobRequest, NfsVolume


def configuration(job: JobRequest, spec_id: int | None, engine_id: int | None) -> dict[str, Any]:
    """The API's `config`. `spec_id` is None in a dedicated pool, `engine_id` with a custom image.

    Unset fields are left out, so that the cloud's defaults apply."""
    spec = job.spec
    if spec.image_url:
        start: dict[str, Any] = {"user_image_url": spec.image_url, "user_command": spec.command}
    else:
        start = {"engine_id": engine_id, "boot_file_url": job.boot_path}
    fields = {
        "worker_server_num": spec.node_count,
        "app_url": job.code_path,
        "parameter": [{"label": name, "value": value} for name, value in job.parameters.items()],
        "data_url": job.inputs[0].path if job.inputs else "",
        "train_url": job.outputs[0].path,
        "log_url": job.log_path,
        "spec_id": spec_id,
        "pool_id": spec.pool_id,
        "volumes": [_volume(volume) for volume in spec.volumes],
        **start,
    }
    return {name: value for name, value in fields.items() if value not in (None, "", [])}


def _volume(volume: NfsVolume) -> dict[str, Any]:
    share = {"src_path": volume.server_path, "dest_path": volume.local_path, "read_only": volume.read_only}
    return {"nfs": {**({"id": volume.id} if volume.id else {}), **share}}
