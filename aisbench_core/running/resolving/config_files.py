"""Configuration files that parameters name: read and hashed where they lie on OBS."""

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import PurePosixPath

from aisbench_core.base.errors import CloudError, ResultError
from aisbench_core.base.formats import format_size
from aisbench_core.base.messages import Message
from aisbench_core.cloud.ports import ObjectStore
from aisbench_core.model import Channel, ResolvedContent, RunSpec, is_in_code, names_config_file, path_in_code
from aisbench_core.running.resolving.inputs import list_line

MAX_BYTES = 1024 * 1024
"""Of a file that is read; configuration files have some kB."""

Pages = Iterable[Collection[str]]
"""Paths of files below a directory, as they are listed."""

_OBS = "obs://"
# Of MMEngine and Detectron2 (_base_), Hydra (defaults), JSON ($ref, extends), HOCON and INI (include).
_INCLUDES = re.compile(
    rb"""_base_|!include|"\$ref"|^[\s"'{]*(defaults|extends|imports?|includes?|inherits?)\b""",
    re.IGNORECASE | re.MULTILINE,
)

_INPUTS = "/home/ma-user/modelarts/inputs"


def resolve_files(
    spec: RunSpec, speed: Mapping[str, object], code: Pages | None, listed: Collection[str], objects: ObjectStore
) -> dict[str, ResolvedContent]:
    """The content of each file outside of the code that a parameter names, or why it is unknown, by parameter.

    `speed`: the parameters that decide speed. `code`: lists the run's code in pages of paths below its directory, as
    far as it is read; None if the code is unknown. The hash of the code covers the files in it.
    `listed`: the inputs whose objects were listed; the list covers what a file includes there, and files that are too
    large to read."""
    named = {name: str(value) for name, value in speed.items() if names_config_file(value)}
    inside = {name: path for name, value in named.items() if (path := path_in_code(value, spec.local_code_dir))}
    outside = {
        name: _resolve_outside(spec, value, listed, objects) for name, value in named.items() if name not in inside
    }
    return outside if code is None or not inside else {**outside, **_find_missing(inside, code)}


def _find_missing(named: Mapping[str, str], pages: Pages) -> dict[str, ResolvedContent]:
    left = dict(named)
    try:
        for names in pages:
            left = {name: path for name, path in left.items() if not is_in_code(path, names)}
            if not left:
                break
    except (CloudError, ResultError) as error:
        return {name: ResolvedContent.unknown(error.sentence) for name in left}
    why = {name: Message("the run's code has no file {path}", path=path) for name, path in left.items()}
    return {name: ResolvedContent.unknown(message) for name, message in why.items()}


def _resolve_outside(spec: RunSpec, value: str, listed: Collection[str], objects: ObjectStore) -> ResolvedContent:
    if value.startswith(_OBS):
        return _read_content("/" + value.removeprefix(_OBS), objects)
    path = PurePosixPath(value)
    for index, channel in enumerate(channel for channel in spec.inputs if channel.path):
        folder = _local_dir(channel, index)
        if path.is_relative_to(folder) and ".." not in path.parts:
            file = f"{channel.path.rstrip('/')}/{path.relative_to(folder)}"
            found = _read_content(file, objects)
            return (
                found
                if found.sha256 or channel.name not in listed
                else _resolve_listed(file, channel.path, objects, found)
            )
    if any(path.is_relative_to(volume.local_path) for volume in spec.volumes):
        return ResolvedContent.unknown(Message("it is on a volume"))
    return ResolvedContent.unknown(Message("it is neither on OBS nor in an input of the run"))


def _local_dir(channel: Channel, index: int) -> str:
    """Where the job finds an input: where its spec wants it, otherwise where API v2 puts it."""
    return channel.local_dir or f"{_INPUTS}/{channel.name}_{index}"


def _read_content(path: str, objects: ObjectStore) -> ResolvedContent:
    try:
        content = objects.read_range(path, 0, MAX_BYTES + 1)
    except CloudError as error:
        return ResolvedContent.unknown(error.sentence)
    if len(content) > MAX_BYTES:
        return ResolvedContent.unknown(Message("it has more than {most}", most=format_size(MAX_BYTES)))
    if path.lower().endswith(".py") or _INCLUDES.search(content):
        return ResolvedContent.unknown(Message("it may include other files"))
    return ResolvedContent(hashlib.sha256(content).hexdigest(), size=len(content))


def _resolve_listed(path: str, directory: str, objects: ObjectStore, unread: ResolvedContent) -> ResolvedContent:
    """By its line in the list of the input: its place tells which files it includes."""
    try:
        stat = objects.head(path)
    except CloudError:
        return unread
    return ResolvedContent(hashlib.sha256(list_line(stat, directory)).hexdigest(), size=stat.size) if stat else unread
