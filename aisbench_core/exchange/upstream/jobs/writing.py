"""Writes a spec as the JSON that API v2 takes, or as YAML for `ma-cli ma-job submit`."""

import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from aisbench_core.base import strict_yaml
from aisbench_core.cloud.job_fields import v2_body
from aisbench_core.config.settings import Profile
from aisbench_core.model import Channel, JobRequest, RunSpec, Volume


class JobForm(StrEnum):
    """A form that a spec is exported in, beside that of ais-bench-stubs."""

    V2 = "v2"
    MA_CLI = "ma-cli"


# The names of the files, as browsers save them.
FILE_NAMES: Mapping[JobForm, str] = {JobForm.V2: "job.json", JobForm.MA_CLI: "train.yaml"}


def write_job(form: JobForm, spec: RunSpec, profile: Profile) -> str:
    """The text of the job that launching the spec with this profile would create."""
    body = v2_body(_to_request(spec, profile), profile.workspace_id)
    if form is JobForm.V2:
        return json.dumps(body, ensure_ascii=False, indent=2) + "\n"
    return strict_yaml.dump(_to_options(body, spec))


def _to_request(spec: RunSpec, profile: Profile) -> JobRequest:
    code = "" if spec.uses_algorithm else profile.path("upstream", spec.workload)
    return JobRequest(
        name=spec.name or spec.workload,
        spec=spec,
        code_path=code,
        boot_path=code + spec.boot_file if code and spec.boot_file else "",
        log_path=spec.log_path,
        inputs=spec.inputs,
        outputs=spec.outputs,
        environments={**spec.platform_variables, **spec.variables, **spec.environments},
        parameters={name: str(value) for name, value in spec.parameters.items()},
    )


def _to_options(body: Mapping[str, Any], spec: RunSpec) -> dict[str, Any]:
    """The options of the command, by their names. Those that are not set are left out."""
    algorithm, resource = body["algorithm"], body["spec"]["resource"]
    engine = algorithm.get("engine", {})
    options = {
        "name": body["metadata"]["name"],
        "description": spec.description,
        "code-dir": _to_url(algorithm.get("code_dir", "")),
        "boot-file": "" if spec.image_url else spec.boot_file,
        "framework-type": engine.get("engine_name"),
        "framework-version": engine.get("engine_version"),
        "image-url": spec.image_url,
        "user-command": algorithm.get("command"),
        "working-dir": spec.working_dir,
        "local-code-dir": spec.local_code_dir,
        "pool-id": spec.pool_id,
        "train-instance-type": resource.get("flavor_id"),
        "train-instance-count": spec.node_count,
        "input": [_to_entry(channel) for channel in spec.inputs],
        "output": [_to_entry(channel) for channel in spec.outputs],
        "parameters": [{each["name"]: each["value"]} for each in algorithm.get("parameters", ())],
        "env-variables": algorithm.get("environments"),
        "volumes": [_to_mount(volume) for volume in spec.volumes if volume.server_path],
        "log-url": _to_url(spec.log_path),
    }
    return {name: value for name, value in options.items() if value not in (None, "", [], {})}


def _to_entry(channel: Channel) -> dict[str, str]:
    return {"name": channel.name, "obs_path": _to_url(channel.path)}


def _to_mount(volume: Volume) -> dict[str, Any]:
    return {
        "efs": {
            "local_path": volume.local_path,
            "read_only": volume.read_only,
            "nfs_server_path": volume.server_path,
        }
    }


def _to_url(path: str) -> str:
    return f"obs:/{path}" if path.startswith("/") else path
