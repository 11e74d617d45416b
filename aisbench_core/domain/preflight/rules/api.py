"""Preflight rules for `api: v1`, `sdk` and `sdk-v1`, which support less than v2: nothing is dropped silently."""

from collections.abc import Iterator, Sequence
from typing import Literal

from aisbench_core.base.messages import Message, make_verbatim
from aisbench_core.config.sdk_package import INSTALL, PACKAGE, is_installed, package_path
from aisbench_core.domain.preflight.rule import Fix, Source, Subject, Violation, rule
from aisbench_core.domain.preflight.rules.code import ALGORITHM_FIELDS
from aisbench_core.model import AccessMethod, Api, Channel, Level, Mode, RunSpec, TrainingMode

# API v1 has one field for each, so there is nowhere to put another channel.
V1_INPUT, V1_OUTPUT = "data_url", "train_url"
DEFAULT_WORKSPACE = "0"  # `Session` of the package has no argument for another one

_USE_V2 = Message("leave it out, or use api: v2")


@rule("api.available", Level.ERROR, "api", Source.CONSOLE)
def api_available(subject: Subject) -> Iterator[Violation]:
    """With api sdk or sdk-v1, the package modelarts is installed."""
    api, profile = subject.spec.api, subject.profile
    if api.needs_package and not is_installed(profile):
        message = Message(
            "api {api} needs the package {package}, which is not installed in {environment}",
            api=api,
            package=PACKAGE,
            environment=package_path(profile),
        )
        field = "api" if subject.written.api.needs_package else "profile.api"
        fix: Fix = () if profile.api.needs_package else (("api", str(Api.V2)),)
        yield Violation(message, INSTALL, field, fix)


@rule("api.sdk", Level.ERROR, "api", Source.API)
def api_sdk(subject: Subject) -> Iterator[Violation]:
    """With api sdk or sdk-v1, the spec uses only what the package modelarts supports."""
    spec, profile = subject.spec, subject.profile
    if not spec.api.needs_package:
        return
    if profile.workspace_id != DEFAULT_WORKSPACE:
        hint = Message("set workspace_id: {workspace}, or use api: v2", workspace=DEFAULT_WORKSPACE)
        message = Message("api {api} supports only the default workspace", api=spec.api)
        yield Violation(message, hint, "profile.workspace_id")
    yield from _sdk_v1(spec) if spec.api.has_versions else _check_sdk(spec)


@rule("api.v1", Level.ERROR, "api", Source.API)
def api_v1(subject: Subject) -> Iterator[Violation]:
    """With api v1 or sdk-v1, the spec uses only what API v1 supports; its only channels are data_url and train_url."""
    spec = subject.spec
    if not spec.api.has_versions:
        return
    inputs = [channel for channel in spec.inputs if channel.path]
    yield from _v1_channels(spec, "inputs", Message("input"), inputs, V1_INPUT)
    yield from _v1_channels(spec, "outputs", Message("output"), spec.outputs, V1_OUTPUT)
    yield from _v1_settings(spec)
    yield from _check_start(spec)
    yield from _check_scheduling(spec)


def _check_sdk(spec: RunSpec) -> Iterator[Violation]:
    yield from _check_start(spec)
    yield from _check_scheduling(spec)
    for channel in spec.inputs:
        if channel.path and channel.access_method is AccessMethod.ENV:
            message = Message("api sdk passes inputs only as parameters, --{channel}", channel=channel.name)
            yield Violation(message, Message("set access_method: parameter, or use api: v2"), f"inputs.{channel.name}")


def _sdk_v1(spec: RunSpec) -> Iterator[Violation]:
    """What the package lacks of API v1; `api.v1` reports the rest."""
    if not any(channel.path for channel in spec.inputs):
        message = Message("api sdk-v1 needs an input data_url")
        yield Violation(message, Message("give a directory, or use api: v2"), "inputs")
    if len(spec.volumes) > 1:
        yield Violation(Message("api sdk-v1 mounts at most one share"), _USE_V2, "volumes")
    if any(volume.read_only for volume in spec.volumes):
        yield Violation(Message("api sdk-v1 cannot mount a share read-only"), _USE_V2, "volumes")


def _check_start(spec: RunSpec) -> Iterator[Violation]:
    if spec.image_url and not spec.has_own_start:
        message = Message("api {api} starts a custom image only by a command", api=spec.api)
        yield Violation(message, Message("set command, or use api: v2"), "command")


def _check_scheduling(spec: RunSpec) -> Iterator[Violation]:
    # Each field that only API v2 has, and its default.
    rows = (
        ("auto_stop_hours", None, Message("api {api} has no automatic stop", api=spec.api)),
        ("retries", 0, Message("api {api} has no retries", api=spec.api)),
        ("priority", 1, Message("api {api} has no job priority", api=spec.api)),
        ("retry_always", False, Message("api {api} has no retries", api=spec.api)),
        ("retry_on_hang", False, Message("api {api} has no retries", api=spec.api)),
        ("environment_check", None, Message("api {api} has no environment check", api=spec.api)),
        ("resume_from", "", Message("api {api} downloads no output before the job starts", api=spec.api)),
        ("training_mode", TrainingMode.GENERAL, Message("api {api} has no training mode", api=spec.api)),
        ("working_dir", "", Message("api {api} has no working directory", api=spec.api)),
        *((field, "", Message("api {api} has no algorithms", api=spec.api)) for field in ALGORITHM_FIELDS),
        ("local_code_dir", "", Message("api {api} puts the code into its own directory", api=spec.api)),
    )
    for index, volume in enumerate(spec.volumes):
        if volume.pfs_path:
            message = Message("api {api} mounts no parallel file system", api=spec.api)
            yield Violation(message, _USE_V2, f"volumes.{index}.pfs_path")
    for field, default, message in rows:
        if getattr(spec, field) != default:
            yield Violation(message, _USE_V2, field, ((field, default),))
    for kind, channels in (("inputs", spec.inputs), ("outputs", spec.outputs)):
        for channel in channels:
            if channel.local_dir:
                message = Message("api {api} chooses the directories of inputs and outputs itself", api=spec.api)
                yield Violation(message, _USE_V2, f"{kind}.{channel.name}.local_dir")
    for channel in spec.outputs:
        if channel.prefetch and not spec.resume_from:  # which sets it
            message = Message("api {api} downloads no output before the job starts", api=spec.api)
            yield Violation(message, _USE_V2, f"outputs.{channel.name}")


def _v1_channels(
    spec: RunSpec, field: str, kind: Message, channels: Sequence[Channel], name: str
) -> Iterator[Violation]:
    for channel in channels:
        why: Message | Literal[""] = ""
        if channel.name != name:
            why = make_verbatim(repr(channel.name))
        elif channel.access_method is AccessMethod.ENV:
            why = Message("in an environment variable")
        if why:
            only = Message("the only {kind} is {channel}, given as --{channel}", kind=kind, channel=name)
            message = Message("api {api} has no {kind} {why}; {only}", api=spec.api, kind=kind, why=why, only=only)
            yield Violation(message, _USE_V2, f"{field}.{channel.name}")


def _v1_settings(spec: RunSpec) -> Iterator[Violation]:
    no_variables = Message("api {api} passes no environment variables to jobs", api=spec.api)
    if spec.environments:
        fix: Fix = tuple((f"environments.{name}", None) for name in spec.environments)
        yield Violation(no_variables, _USE_V2, "environments", fix)
    if spec.secrets:
        yield Violation(no_variables, _USE_V2, "secrets", tuple((f"secrets.{name}", None) for name in spec.secrets))
    if spec.mode is Mode.SINGLE_SERVER and spec.command:
        message = Message("api {api} passes no SINGLESERVER_MODE to a custom image", api=spec.api)
        yield Violation(message, _USE_V2, "mode")
    if spec.pool_id and spec.flavor:
        message = Message("api {api} accepts no flavor in a dedicated pool", api=spec.api)
        yield Violation(message, _USE_V2, "flavor", (("flavor", ""),))
