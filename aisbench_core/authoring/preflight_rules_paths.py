"""Preflight rules about OBS paths, channels and volumes."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Literal

from aisbench_core.authoring.rules import Complaint, Source, Subject, rule
from aisbench_core.messages import Message
from aisbench_core.model import AccessMethod, Channel, Level

LONGEST_KEY = 1024
MOST_VOLUMES = 8

_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_ADDRESS = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f\\]")
_SHARE = re.compile(r"[^:/\s]+:/\S*")
_TAKEN_MOUNTS = ("/", "/cache", "/home/ma-user/modelarts")
_WRITTEN = Message("write it /bucket/directory/")


@rule("paths.form", Level.ERROR, "inputs", Source.OBS)
def paths_form(subject: Subject) -> Iterator[Complaint]:
    """Each OBS path is written /bucket/directory/ without empty, `.` or `..` parts."""
    for field, path in _paths(subject):
        complaint = _form(path)
        if complaint:
            better = _better(path)
            yield Complaint(complaint, _WRITTEN, field, () if _form(better) else ((field, better),))


@rule("paths.directory", Level.ERROR, "inputs", Source.UPSTREAM)
def paths_directory(subject: Subject) -> Iterator[Complaint]:
    """Each OBS path is a directory and ends with `/` (ModelArts.2791)."""
    for field, path in _paths(subject):
        if not path.endswith("/"):
            yield Complaint(
                Message("{path!r} does not end with /", path=path),
                Message("if it is a directory, write {path}/", path=path),
                field,
                ((field, f"{path}/"),),
            )


@rule("paths.bucket", Level.ERROR, "inputs", Source.OBS)
def paths_bucket(subject: Subject) -> Iterator[Complaint]:
    """Each bucket name has 3 to 63 lower-case letters, digits, `-` and `.`, and is not an address."""
    named = [(field, path.split("/")[1]) for field, path in _paths(subject) if not _form(path)]
    for field, bucket in [*named, ("profile.bucket", subject.profile.bucket)]:
        if not is_bucket_name(bucket):
            yield Complaint(
                Message(
                    "{bucket!r} is not a bucket name; allowed: 3 to 63 of a-z 0-9 . - beginning and "
                    "ending with a letter or digit, without .. or .- or -. and not an IP address",
                    bucket=bucket,
                ),
                "",
                field,
            )


@rule("inputs.path", Level.ERROR, "inputs", Source.CONSOLE)
def inputs_path(subject: Subject) -> Iterator[Complaint]:
    """Each input that the spec names has a path."""
    for channel in subject.written.inputs:
        if not channel.path and not _is_required_input(subject, channel):
            yield Complaint(
                Message("input {channel!r} has no path", channel=channel.name), _WRITTEN, f"inputs.{channel.name}"
            )


@rule("channels.names", Level.ERROR, "inputs", Source.API)
def channels_names(subject: Subject) -> Iterator[Complaint]:
    """Inputs, outputs, parameters and environment variables do not share a name (ModelArts.2767)."""
    spec = subject.spec
    for method, others in (
        (AccessMethod.PARAMETER, list(spec.parameters)),
        (AccessMethod.ENV, list(spec.environments)),
    ):
        channels = [channel.name for channel in (*spec.inputs, *spec.outputs) if channel.access_method is method]
        for name, times in Counter(channels + others).items():
            if times > 1:
                yield Complaint(
                    Message(
                        "the name {name!r} is used {count} times; allowed: once among inputs, outputs and {kind}s",
                        name=name,
                        count=times,
                        kind=method,
                    ),
                    Message("rename one of them"),
                    _channel_field(subject, name),
                )


@rule("outputs.separate", Level.ERROR, "outputs", Source.CONSOLE)
def outputs_separate(subject: Subject) -> Iterator[Complaint]:
    """No output lies in an input or around it: the job would change its own data."""
    inputs = [channel for channel in subject.spec.inputs if channel.path]
    for output in subject.spec.outputs:
        for channel in inputs:
            if output.path and (output.path.startswith(channel.path) or channel.path.startswith(output.path)):
                yield Complaint(
                    Message("output {output!r} and input {input!r} overlap", output=output.path, input=channel.path),
                    Message("leave the output's path empty: the run then gets a directory of its own"),
                    f"outputs.{output.name}",
                    ((f"outputs.{output.name}", ""),),
                )


@rule("volumes.count", Level.ERROR, "volumes", Source.GUIDE)
def volumes_count(subject: Subject) -> Iterator[Complaint]:
    """At most 8 volumes are mounted."""
    if len(subject.spec.volumes) > MOST_VOLUMES:
        yield Complaint(
            Message(
                "{count} volumes are given; allowed: {allowed}", count=len(subject.spec.volumes), allowed=MOST_VOLUMES
            )
        )


@rule("volumes.share", Level.ERROR, "volumes", Source.GUIDE)
def volumes_share(subject: Subject) -> Iterator[Complaint]:
    """Each volume's share is written address:/path."""
    for index, volume in enumerate(subject.spec.volumes):
        if not _SHARE.fullmatch(volume.server_path):
            yield Complaint(
                Message("{path!r} is not a share; allowed: address:/path", path=volume.server_path),
                Message("such as 192.168.0.10:/data"),
                f"volumes.{index}.server_path",
            )


@rule("volumes.mount", Level.ERROR, "volumes", Source.GUIDE)
def volumes_mount(subject: Subject) -> Iterator[Complaint]:
    """Each volume is mounted at its own absolute path, and not over the platform's directories."""
    seen: set[str] = set()
    for index, volume in enumerate(subject.spec.volumes):
        mount = volume.local_path.rstrip("/") or "/"
        complaint = _mount(volume.local_path, mount, seen)
        seen.add(mount)
        if complaint:
            yield Complaint(complaint, "", f"volumes.{index}.local_path")


def is_bucket_name(name: str) -> bool:
    """Whether OBS would accept the name for a bucket."""
    broken = any(pair in name for pair in ("..", ".-", "-."))
    return bool(_BUCKET.fullmatch(name)) and not broken and not _ADDRESS.fullmatch(name)


def is_path(path: str) -> bool:
    """Whether it is an OBS path that can be asked for: /bucket/..."""
    return not _form(path)


def _paths(subject: Subject) -> Iterator[tuple[str, str]]:
    spec = subject.spec
    yield from ((f"inputs.{channel.name}", channel.path) for channel in spec.inputs if channel.path)
    yield from ((f"outputs.{channel.name}", channel.path) for channel in spec.outputs if channel.path)
    if spec.log_path:
        yield "log_path", spec.log_path


def _better(path: str) -> str:
    """The path as it was probably meant: without a scheme, and without empty parts."""
    parts = path.partition("://")[2] if path.startswith(("obs://", "s3://")) else path
    named = [part for part in parts.split("/") if part]
    return f"/{'/'.join(named)}/" if parts.endswith("/") else f"/{'/'.join(named)}"


def _form(path: str) -> Message | Literal[""]:
    parts = path.rstrip("/").split("/")
    if "://" in path:
        return Message("{path!r} has a scheme", path=path)
    if not path.startswith("/"):
        return Message("{path!r} does not begin with /", path=path)
    if len(parts) < 2 or not parts[1]:
        return Message("{path!r} names no bucket", path=path)
    if any(part in ("", ".", "..") for part in parts[2:]) or path.endswith("//"):
        return Message("{path!r} has an empty, . or .. part", path=path)
    if _UNPRINTABLE.search(path):
        return Message("{path!r} holds a control character or a backslash", path=path)
    if len("/".join(parts[2:]).encode()) > LONGEST_KEY:
        return Message("{path!r} is longer than {most} bytes after the bucket", path=path, most=LONGEST_KEY)
    return ""


def _mount(path: str, mount: str, seen: set[str]) -> Message | Literal[""]:
    if not mount.startswith("/"):
        return Message("{path!r} is not an absolute path", path=path)
    if mount in _TAKEN_MOUNTS:
        return Message(
            "{path!r} belongs to the platform; allowed: anything but {taken}", path=path, taken=", ".join(_TAKEN_MOUNTS)
        )
    return Message("{path!r} is used for two volumes", path=path) if mount in seen else ""


def _is_required_input(subject: Subject, channel: Channel) -> bool:
    dataset = subject.workload.dataset if subject.workload else None
    return bool(dataset and not dataset.optional and dataset.input == channel.name)


def _channel_field(subject: Subject, name: str) -> str:
    inputs = {channel.name for channel in subject.spec.inputs}
    return f"inputs.{name}" if name in inputs else f"outputs.{name}"


RULES = (
    paths_form,
    paths_directory,
    paths_bucket,
    inputs_path,
    channels_names,
    outputs_separate,
    volumes_count,
    volumes_share,
    volumes_mount,
)
