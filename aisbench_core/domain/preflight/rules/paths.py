"""Preflight rules about OBS paths, channels and volumes."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Literal

from aisbench_core.base.messages import Message
from aisbench_core.domain.preflight.rule import Source, Subject, Violation, rule
from aisbench_core.model import AccessMethod, Level, Volume

LONGEST_KEY = 1024  # of an OBS object, in bytes of UTF-8
MOST_VOLUMES = 8  # per job

_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_ADDRESS = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f\\]")
_SHARE = re.compile(r"[^:/\s]+:/\S*")
_RESERVED_MOUNTS = ("/", "/cache", "/home/ma-user/modelarts")
_WRITE_PATH = Message("write /bucket/directory/")


@rule("paths.form", Level.ERROR, "inputs", Source.OBS)
def paths_form(subject: Subject) -> Iterator[Violation]:
    """Each OBS path is written /bucket/directory/ without empty, `.` or `..` parts."""
    for field, path in _iterate_paths(subject):
        problem = _path_problem(path)
        if problem:
            corrected = _correct_path(path)
            yield Violation(problem, _WRITE_PATH, field, () if _path_problem(corrected) else ((field, corrected),))


@rule("paths.directory", Level.ERROR, "inputs", Source.UPSTREAM)
def paths_directory(subject: Subject) -> Iterator[Violation]:
    """Each OBS path is a directory and ends with `/` (ModelArts.2791)."""
    for field, path in _iterate_paths(subject):
        if not path.endswith("/"):
            message = Message("{path!r} does not end with /", path=path)
            hint = Message("if it is a directory, write {path}/", path=path)
            yield Violation(message, hint, field, ((field, f"{path}/"),))


@rule("paths.bucket", Level.ERROR, "inputs", Source.OBS)
def paths_bucket(subject: Subject) -> Iterator[Violation]:
    """Each bucket name has 3 to 63 lower-case letters, digits, `-` and `.`, and is not an IP address."""
    named = [(field, path.split("/")[1]) for field, path in _iterate_paths(subject) if not _path_problem(path)]
    for field, bucket in [*named, ("profile.bucket", subject.profile.bucket)]:
        if not is_bucket_name(bucket):
            message = Message(
                "{bucket!r} is not a bucket name; allowed: 3 to 63 of a-z 0-9 . - beginning and "
                "ending with a letter or digit, without .. or .- or -. and not an IP address",
                bucket=bucket,
            )
            yield Violation(message, "", field)


@rule("inputs.path", Level.ERROR, "inputs", Source.CONSOLE)
def inputs_path(subject: Subject) -> Iterator[Violation]:
    """Each input in the spec has a path."""
    dataset = subject.workload.dataset if subject.workload else None
    required = dataset.input if dataset and not dataset.optional else None  # inputs.required reports that one
    for channel in subject.written.inputs:
        if not channel.path and channel.name != required:
            message = Message("input {channel!r} has no path", channel=channel.name)
            yield Violation(message, _WRITE_PATH, f"inputs.{channel.name}")


@rule("channels.names", Level.ERROR, "inputs", Source.API)
def channels_names(subject: Subject) -> Iterator[Violation]:
    """Inputs, outputs, parameters and environment variables do not share a name (ModelArts.2767)."""
    spec = subject.spec
    for method, names in ((AccessMethod.PARAMETER, [*spec.parameters]), (AccessMethod.ENV, [*spec.environments])):
        channels = [channel.name for channel in (*spec.inputs, *spec.outputs) if channel.access_method is method]
        for name, times in Counter(channels + names).items():
            if times > 1:
                message = Message(
                    "the name {name!r} is used {count} times; allowed: once among inputs, outputs and {kind}s",
                    name=name,
                    count=times,
                    kind=method,
                )
                field = "inputs" if any(channel.name == name for channel in spec.inputs) else "outputs"
                yield Violation(message, Message("rename one of them"), f"{field}.{name}")


@rule("outputs.separate", Level.ERROR, "outputs", Source.CONSOLE)
def outputs_separate(subject: Subject) -> Iterator[Violation]:
    """Outputs and inputs do not overlap: the job would change its own data."""
    inputs = [channel for channel in subject.spec.inputs if channel.path]
    # Prefixes suffice: paths of directories end with a slash.
    for output in subject.spec.outputs:
        for channel in inputs:
            if output.path and (output.path.startswith(channel.path) or channel.path.startswith(output.path)):
                yield Violation(
                    Message("output {output!r} and input {input!r} overlap", output=output.path, input=channel.path),
                    Message("leave the output's path empty: each run then gets its own directory"),
                    f"outputs.{output.name}",
                    ((f"outputs.{output.name}", ""),),
                )


@rule("volumes.count", Level.ERROR, "volumes", Source.GUIDE)
def volumes_count(subject: Subject) -> Iterator[Violation]:
    """At most 8 volumes are mounted."""
    if len(subject.spec.volumes) > MOST_VOLUMES:
        message = Message(
            "{count} volumes are given; allowed: {allowed}", count=len(subject.spec.volumes), allowed=MOST_VOLUMES
        )
        yield Violation(message)


@rule("volumes.share", Level.ERROR, "volumes", Source.GUIDE)
def volumes_share(subject: Subject) -> Iterator[Violation]:
    """Each volume is an NFS share, written address:/path, or a directory of a parallel file system."""
    for index, volume in enumerate(subject.spec.volumes):
        field = f"volumes.{index}"
        if volume.pfs_path and volume.server_path:
            message = Message("both server_path and pfs_path are given; allowed: one of them")
            yield Violation(message, Message("make two volumes of it"), f"{field}.pfs_path")
        elif volume.pfs_path:
            yield from _pfs_violations(volume, field)
        elif not _SHARE.fullmatch(volume.server_path):
            message = Message("{path!r} is not an NFS share; allowed: address:/path", path=volume.server_path)
            yield Violation(message, Message("for example 192.168.0.10:/data"), f"{field}.server_path")


def _pfs_violations(volume: Volume, field: str) -> Iterator[Violation]:
    problem = _path_problem(volume.pfs_path)
    if problem:
        yield Violation(problem, Message("for example /bucket/directory"), f"{field}.pfs_path")
    if volume.read_only:  # API reference: the field is only there for nfs
        message = Message("a parallel file system cannot be mounted read-only")
        yield Violation(message, Message("leave read_only out"), f"{field}.read_only")


@rule("volumes.mount", Level.ERROR, "volumes", Source.GUIDE)
def volumes_mount(subject: Subject) -> Iterator[Violation]:
    """Each volume has its own absolute mount path, outside the platform's directories."""
    mounts: set[str] = set()
    for index, volume in enumerate(subject.spec.volumes):
        mount = volume.local_path.rstrip("/") or "/"  # /a and /a/ are the same directory
        problem = _mount_problem(volume.local_path, mount, mounts)
        mounts.add(mount)
        if problem:
            yield Violation(problem, "", f"volumes.{index}.local_path")


def is_bucket_name(name: str) -> bool:
    """Whether OBS accepts the name for a bucket."""
    broken = any(pair in name for pair in ("..", ".-", "-."))
    return bool(_BUCKET.fullmatch(name)) and not broken and not _ADDRESS.fullmatch(name)


def is_path(path: str) -> bool:
    """Whether it is a well-formed OBS path, /bucket/..."""
    return not _path_problem(path)


def _iterate_paths(subject: Subject) -> Iterator[tuple[str, str]]:
    spec = subject.spec
    yield from ((f"inputs.{channel.name}", channel.path) for channel in spec.inputs if channel.path)
    yield from ((f"outputs.{channel.name}", channel.path) for channel in spec.outputs if channel.path)
    if spec.log_path:
        yield "log_path", spec.log_path


def _correct_path(path: str) -> str:
    """The path as it was probably meant: without scheme and empty parts."""
    parts = path.partition("://")[2] if path.startswith(("obs://", "s3://")) else path
    named = [part for part in parts.split("/") if part]
    return f"/{'/'.join(named)}/" if parts.endswith("/") else f"/{'/'.join(named)}"


def _path_problem(path: str) -> Message | Literal[""]:
    parts = path.rstrip("/").split("/")
    if "://" in path:
        return Message("{path!r} has a scheme", path=path)
    if not path.startswith("/"):
        return Message("{path!r} does not start with /", path=path)
    if len(parts) < 2 or not parts[1]:
        return Message("{path!r} has no bucket", path=path)
    # OBS would take these literally, and jobs would find their files nowhere.
    if any(part in ("", ".", "..") for part in parts[2:]) or path.endswith("//"):
        return Message("{path!r} has an empty, . or .. part", path=path)
    if _UNPRINTABLE.search(path):
        return Message("{path!r} contains a control character or a backslash", path=path)
    if len("/".join(parts[2:]).encode()) > LONGEST_KEY:
        return Message("{path!r} is longer than {most} bytes after the bucket", path=path, most=LONGEST_KEY)
    return ""


def _mount_problem(path: str, mount: str, mounts: set[str]) -> Message | Literal[""]:
    if not mount.startswith("/"):
        return Message("{path!r} is not an absolute path", path=path)
    if mount in _RESERVED_MOUNTS:
        return Message(
            "{path!r} is reserved by the platform; allowed: anything except {reserved}",
            path=path,
            reserved=", ".join(_RESERVED_MOUNTS),
        )
    return Message("{path!r} is used for two volumes", path=path) if mount in mounts else ""
