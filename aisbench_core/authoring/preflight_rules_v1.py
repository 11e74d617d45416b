"""Preflight rules about what the older training API (v1) cannot do: nothing of a spec is dropped without a word."""

from collections.abc import Iterator
from typing import Literal

from aisbench_core.authoring.rules import Complaint, Fix, Source, Subject, rule
from aisbench_core.messages import Message, verbatim
from aisbench_core.model import AccessMethod, Channel, Level, Mode, RunSpec

INPUT, OUTPUT = "data_url", "train_url"
"""The only channels that the API has."""

_USE_V2 = Message("leave it out, or use api: v2")


@rule("api.v1", Level.ERROR, "api", Source.API)
def api_v1(subject: Subject) -> Iterator[Complaint]:
    """With api v1 or sdk-v1, nothing is asked for that the older API lacks: it has data_url and train_url only."""
    if subject.spec.api.has_versions:
        yield from _channels(subject.spec)
        yield from _settings(subject.spec)


def _channels(spec: RunSpec) -> Iterator[Complaint]:
    inputs = [channel for channel in spec.inputs if channel.path]
    for field, kind, channels, name in (
        ("inputs", Message("input"), inputs, INPUT),
        ("outputs", Message("output"), spec.outputs, OUTPUT),
    ):
        for channel in channels:
            why = _unfit(channel, name)
            if why:
                only = Message("the only {kind} is {channel}, given as --{channel}", kind=kind, channel=name)
                message = Message("api {api} has no {kind} {why}; {only}", api=spec.api, kind=kind, why=why, only=only)
                yield Complaint(message, _USE_V2, f"{field}.{channel.name}")


def _unfit(channel: Channel, name: str) -> Message | Literal[""]:
    if channel.name != name:
        return verbatim(repr(channel.name))
    return Message("in an environment variable") if channel.access_method is AccessMethod.ENV else ""


def _settings(spec: RunSpec) -> Iterator[Complaint]:
    api = spec.api
    alone = spec.mode is Mode.SINGLE_SERVER
    no_environment: Fix = tuple((f"environments.{name}", None) for name in spec.environments)
    no_secret: Fix = tuple((f"secrets.{name}", None) for name in spec.secrets)
    no_variables = Message("api {api} passes no environment variables to jobs", api=api)
    no_mode = Message("api {api} passes no SINGLESERVER_MODE to a custom image", api=api)
    lacking: tuple[tuple[str, bool, Message, Fix], ...] = (
        ("environments", bool(spec.environments), no_variables, no_environment),
        ("secrets", bool(spec.secrets), no_variables, no_secret),
        ("mode", alone and bool(spec.command), no_mode, ()),
        (
            "auto_stop_hours",
            spec.auto_stop_hours is not None,
            Message("api {api} ends no job by itself", api=api),
            (("auto_stop_hours", None),),
        ),
        ("retries", spec.retries > 0, Message("api {api} does not try a failed job again", api=api), (("retries", 0),)),
        ("priority", spec.priority != 1, Message("api {api} has no priorities", api=api), (("priority", 1),)),
        (
            "flavor",
            bool(spec.pool_id and spec.flavor),
            Message("api {api} takes no flavor in a dedicated pool", api=api),
            (("flavor", ""),),
        ),
    )
    for field, is_asked, what, fix in lacking:
        if is_asked:
            yield Complaint(what, _USE_V2, field, fix)


RULES = (api_v1,)
