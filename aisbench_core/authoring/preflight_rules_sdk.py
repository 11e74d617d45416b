"""Preflight rules about `api: sdk`: whether its package is here, and what it cannot ask of the cloud."""

from collections.abc import Iterator

from aisbench_core.authoring.rules import Complaint, Fix, Source, Subject, rule
from aisbench_core.model import AccessMethod, Api, Level
from aisbench_core.sdk_package import INSTALL, PACKAGE, is_installed, place_of

DEFAULT_WORKSPACE = "0"

_USE_V2 = "leave it out, or use api: v2"


@rule("api.available", Level.ERROR, "api", Source.CONSOLE)
def api_available(subject: Subject) -> Iterator[Complaint]:
    """With api sdk, the package modelarts is on this machine."""
    if subject.spec.api is Api.SDK and not is_installed(subject.profile):
        field = "api" if subject.written.api is Api.SDK else "profile.api"
        fix: Fix = () if subject.profile.api is Api.SDK else (("api", str(Api.V2)),)
        where = place_of(subject.profile)
        yield Complaint(f"api sdk needs the package {PACKAGE}, which is not in {where}", INSTALL, field, fix)


@rule("api.sdk", Level.ERROR, "api", Source.API)
def api_sdk(subject: Subject) -> Iterator[Complaint]:
    """With api sdk, the spec asks for nothing that the package has no argument for."""
    spec, profile = subject.spec, subject.profile
    if spec.api is not Api.SDK:
        return
    lacking: tuple[tuple[str, bool, str, Fix], ...] = (
        ("auto_stop_hours", spec.auto_stop_hours is not None, "ends no job by itself", (("auto_stop_hours", None),)),
        ("retries", spec.retries > 0, "does not try a failed job again", (("retries", 0),)),
        ("priority", spec.priority != 1, "has no priorities", (("priority", 1),)),
        ("profile.workspace_id", profile.workspace_id != DEFAULT_WORKSPACE, "knows the default workspace only", ()),
    )
    for field, is_asked, what, fix in lacking:
        if is_asked:
            yield Complaint(f"api sdk {what}", _USE_V2, field, fix)
    for channel in spec.inputs:
        if channel.path and channel.access_method is AccessMethod.ENV:
            message = f"api sdk gives inputs as parameters only, --{channel.name}"
            yield Complaint(message, "set access_method: parameter, or use api: v2", f"inputs.{channel.name}")


RULES = (api_available, api_sdk)
