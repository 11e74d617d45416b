"""Writes a modelarts_config.py from a profile and specs, without keys."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath

from aisbench_core.base.errors import Problem, SpecError
from aisbench_core.base.messages import Message
from aisbench_core.config.settings import Profile
from aisbench_core.domain.authoring import pre_start
from aisbench_core.exchange.upstream.configs.contents import ImportedSpec, LineFinding, make_finding
from aisbench_core.exchange.upstream.configs.keys import ACCESS_KEYS, APIS, INPUT, JOB_KEYS, LISTS, NAS, OUTPUT
from aisbench_core.exchange.upstream.configs.session import NFS
from aisbench_core.model import AccessMethod, Channel, Mode, RunSpec
from aisbench_core.model.spec_fields import fields_where

HEAD = """# -*- coding: utf-8 -*-
# Written by the AISBench console, without keys: fill in access_key and secret_access_key
# where the file is used, and do not share it afterwards.
from easydict import EasyDict as ed

"""
Values = Mapping[str, object]


def write_config(jobs: Sequence[ImportedSpec], profile: Profile | None) -> str:
    """The text of the file, with a dict per spec; a dict without a spec is empty.

    Raises SpecError if two specs are for the same dict, or if one has a custom image."""
    by_dict = {_dict_of(job.spec): job for job in jobs}
    if len(by_dict) < len(jobs):
        raise SpecError(Message("the configuration"), [Problem("api", Message("two specs use the same interface"))])
    parts = [f"access_config = ed({_format_dict(_build_access(profile))})\n"]
    for name in APIS:
        text = _format_job(by_dict[name], name, profile) if name in by_dict else "{}"
        parts.append(f"{name} = ed({text})\n")
    return HEAD + "\n".join(parts)


def find_unsupported(spec: RunSpec) -> Iterator[LineFinding]:
    """Findings about what the file cannot express."""
    for field in fields_where(lambda field: field.upstream is None):
        if getattr(spec, field) != RunSpec.model_fields[field].default:
            yield make_finding(
                "config.left-out", field, Message("is not supported by modelarts_config.py and is left out")
            )
    for field, name, channels in (("inputs", INPUT, spec.inputs), ("outputs", OUTPUT, spec.outputs)):
        yield from _unsupported_channels(field, name, channels)
    if len(spec.volumes) > 1 or any(volume.read_only or volume.pfs_path for volume in spec.volumes):
        yield make_finding(
            "config.left-out", "volumes", Message("only one volume is supported, an NFS share, and it is writable")
        )
    yield from _in_script(spec)
    if spec.mode is Mode.SINGLE_SERVER:
        hint = Message("write `export SINGLESERVER_MODE=True` into code/config/config.sh")
        message = Message("is single_server, which modelarts_config.py does not support")
        yield make_finding("config.mode", "mode", message, hint=hint)


def build_script(spec: RunSpec) -> str:
    """The ma-pre-start.sh to put beside the boot file; empty if the spec needs none."""
    packaged = spec.model_copy(update={"code_dir": f"/{spec.workload}"})
    own = bool(spec.code_dir) and pre_start.own_script(spec) is not None
    return pre_start.build_script(packaged, with_own=own) if pre_start.is_needed(packaged) else ""


def _in_script(spec: RunSpec) -> Iterator[LineFinding]:
    if spec.log_levels.variables:
        hint = Message(
            "put it beside the boot file, in code/code; rename a script of your own to {name}", name=pre_start.OWN
        )
        message = Message("is written into {script}", script=pre_start.SCRIPT)
        yield make_finding("config.pre-start", "log_levels", message, hint=hint)
    for field, path in spec.update.packages.items():
        hint = Message(
            "put {file} into {folder}/ beside {script}, in code/code",
            file=PurePath(path).name,
            folder=pre_start.FOLDER,
            script=pre_start.SCRIPT,
        )
        message = Message("is installed by {script}, which is exported as well", script=pre_start.SCRIPT)
        yield make_finding("config.pre-start", f"update.{field}", message, hint=hint)


def _unsupported_channels(field: str, name: str, channels: Sequence[Channel]) -> Iterator[LineFinding]:
    for channel in channels[1:]:
        message = Message(
            "only one of the {field} is supported; {channel!r} is left out", field=field, channel=channel.name
        )
        yield make_finding("config.left-out", f"{field}.{channel.name}", message)
    for channel in channels[:1]:
        if channel.name != name or channel.access_method is not AccessMethod.PARAMETER:
            message = Message("is passed to the training code as --{name}", name=name)
            yield make_finding("config.left-out", f"{field}.{channel.name}", message)
        if channel.local_dir:
            message = Message("is not supported by modelarts_config.py and is left out")
            yield make_finding("config.left-out", f"{field}.{channel.name}.local_dir", message)


def _dict_of(spec: RunSpec) -> str:
    if spec.image_url or spec.command:
        problem = Problem("image_url", Message("modelarts_config.py does not support custom images"))
        raise SpecError(Message("the configuration"), [problem], Message("export a spec with a preset engine"))
    return next(name for name, api in APIS.items() if api.has_versions == spec.api.has_versions)


def _build_access(profile: Profile | None) -> Values:
    if profile is None:
        return {key.name: "" for key in ACCESS_KEYS}
    values = {
        "server": profile.obs_server,
        "region_name": profile.region,
        "project_id": profile.project_id,
        "iam_endpoint": profile.iam_endpoint,
        "obs_endpoint": profile.obs_endpoint,
        "modelarts_endpoint": profile.modelarts_endpoint,
    }
    return {key.name: values.get(key.name, "") for key in ACCESS_KEYS}


def _format_job(job: ImportedSpec, name: str, profile: Profile | None) -> str:
    spec = job.spec
    code = profile.path("upstream", spec.workload) if profile else ""
    volume = spec.volumes[0] if spec.volumes else None
    values: dict[str, object] = {
        "inputs": spec.inputs[0].path if spec.inputs else "",
        "code_dir": code,
        "boot_file": code + spec.boot_file if spec.boot_file else "",
        "job_name": spec.name,
        "framework_type": spec.engine_name,
        "framework_version": spec.engine_version,
        "pool_id": spec.pool_id or None,
        "train_instance_type": spec.flavor or None,
        "train_instance_count": spec.node_count,
        "nas_type": NFS if volume else None,
        "nas_share_addr": volume.server_path if volume else None,
        "nas_mount_path": volume.local_path if volume else None,
        "out_base_url": spec.outputs[0].path if spec.outputs else "",
        "job_description_prefix": spec.description,
    }
    entries = {key.name: values[key.name] for key in JOB_KEYS if volume or key.name not in NAS}
    return _format_dict(entries, _format_parameters(job, name))


def _format_parameters(job: ImportedSpec, name: str) -> str:
    plural, label = LISTS[name]
    lines = []
    for parameter, value in job.spec.parameters.items():
        comment = " ".join(job.comments.get(parameter, "").split())
        lines += [f"        # {comment}\n"] if comment else []
        lines.append(f"        {{{label!r}: {parameter!r}, 'value': {str(value)!r}}},\n")
    return f"    {plural!r}: [\n{''.join(lines)}    ],\n"


def _format_dict(values: Values, first: str = "") -> str:
    lines = "".join(f"    {name!r}: {value!r},\n" for name, value in values.items())
    return f"{{\n{first}{lines}}}"
