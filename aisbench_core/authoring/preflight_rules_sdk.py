"""Preflight rules about `api: sdk` and `sdk-v1`: whether their package is here, and what it cannot ask of the cloud."""

from collections.abc import Iterator

from aisbench_core.authoring.rules import Complaint, Fix, Source, Subject, rule
from aisbench_core.messages import Message
from aisbench_core.model import AccessMethod, Api, Level, RunSpec
from aisbench_core.sdk_package import INSTALL, PACKAGE, is_installed, place_of

DEFAULT_WORKSPACE = "0"

_USE_V2 = Message("leave it out, or use api: v2")


@rule("api.available", Level.ERROR, "api", Source.CONSOLE)
def api_available(subject: Subject) -> Iterator[Complaint]:
    """With api sdk or sdk-v1, the package modelarts is on this machine."""
    api, profile = subject.spec.api, subject.profile
    if api.needs_package and not is_installed(profile):
        field = "api" if subject.written.api.needs_package else "profile.api"
        fix: Fix = () if profile.api.needs_package else (("api", str(Api.V2)),)
        where = place_of(profile)
        yield Complaint(
            Message(
                "api {api} needs the package {package}, which is not in {environment}",
                api=api,
                package=PACKAGE,
                environment=where,
            ),
            INSTALL,
            field,
            fix,
        )


@rule("api.sdk", Level.ERROR, "api", Source.API)
def api_sdk(subject: Subject) -> Iterator[Complaint]:
    """With api sdk or sdk-v1, the spec asks for nothing that the package has no argument for."""
    spec, profile = subject.spec, subject.profile
    if not spec.api.needs_package:
        return
    if profile.workspace_id != DEFAULT_WORKSPACE:
        message = Message("api {api} knows the default workspace only", api=spec.api)
        yield Complaint(
            message,
            Message("set workspace_id: {workspace}, or use api: v2", workspace=DEFAULT_WORKSPACE),
            "profile.workspace_id",
        )
    yield from _versioned(spec) if spec.api.has_versions else _newer(spec)


def _newer(spec: RunSpec) -> Iterator[Complaint]:
    lacking: tuple[tuple[str, bool, Message, Fix], ...] = (
        (
            "auto_stop_hours",
            spec.auto_stop_hours is not None,
            Message("api sdk ends no job by itself"),
            (("auto_stop_hours", None),),
        ),
        ("retries", spec.retries > 0, Message("api sdk does not try a failed job again"), (("retries", 0),)),
        ("priority", spec.priority != 1, Message("api sdk has no priorities"), (("priority", 1),)),
    )
    for field, is_asked, what, fix in lacking:
        if is_asked:
            yield Complaint(what, _USE_V2, field, fix)
    for channel in spec.inputs:
        if channel.path and channel.access_method is AccessMethod.ENV:
            message = Message("api sdk gives inputs as parameters only, --{channel}", channel=channel.name)
            yield Complaint(message, Message("set access_method: parameter, or use api: v2"), f"inputs.{channel.name}")


def _versioned(spec: RunSpec) -> Iterator[Complaint]:
    """What the older API has, and the package's first class has not; `api.v1` says the rest."""
    if not any(channel.path for channel in spec.inputs):
        yield Complaint(
            Message("api sdk-v1 needs an input data_url"), Message("name a directory, or use api: v2"), "inputs"
        )
    if len(spec.volumes) > 1:
        yield Complaint(Message("api sdk-v1 mounts one share at most"), _USE_V2, "volumes")
    if any(volume.read_only for volume in spec.volumes):
        yield Complaint(Message("api sdk-v1 cannot mount a share read-only"), _USE_V2, "volumes")


RULES = (api_available, api_sdk)
