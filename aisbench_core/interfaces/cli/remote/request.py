"""A command as it is sent: its words, the files that it names, and what of this machine shapes its output."""

import base64
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from aisbench_core.base.errors import ConfigError
from aisbench_core.base.messages import Message
from aisbench_core.base.messages.file_names import readable_name
from aisbench_core.config.settings import read_environment
from aisbench_core.interfaces.cli.invocation import get_invocation
from aisbench_core.interfaces.cli.remote.paths import InputPath, UnsentPath, not_sent
from aisbench_core.interfaces.commands.request import MOST_FILE_BYTES, VARIABLES

# What would have another meaning in JSON, which the server writes with these names.
_NOT_IN_NAMES = frozenset('"\\')
_ZONES = "zoneinfo/"


def request_of(context: click.Context, command: Sequence[str], arguments: Sequence[str]) -> dict[str, Any]:
    """The body of the request. Raises ConfigError for files that cannot be read, sent or reached from a server."""
    _require_sent(context)
    budget = [MOST_FILE_BYTES]
    paths = [_describe_path(typed, kind, budget) for typed, kind in get_invocation(context).files.items()]
    streams = {"stdin": sys.stdin, "stdout": sys.stdout, "stderr": sys.stderr}
    return {
        "command": [*command],
        "arguments": [*arguments],
        "paths": paths,
        "variables": {
            "TZ": _get_zone(),
            **{name: read_environment()[name] for name in VARIABLES if read_environment().get(name)},
        },
        "terminal": [name for name, stream in streams.items() if stream.isatty()],
    }


def _require_sent(context: click.Context) -> None:
    """Raise ConfigError for a parameter that names a file which is not sent."""
    for parameter in context.command.params:
        if isinstance(parameter.type, UnsentPath) and context.params.get(parameter.name or ""):
            raise not_sent(parameter)


def _describe_path(typed: str, kind: click.Path, budget: list[int]) -> dict[str, Any]:
    path = Path(typed)
    if not typed.isprintable() or not _NOT_IN_NAMES.isdisjoint(typed):
        raise ConfigError(Message("{file} cannot be sent: its name has quotes or control characters", file=typed))
    found = "folder" if path.is_dir() else "file" if path.exists() else "missing"
    files = [*_iterate_contents(path, kind, budget)] if isinstance(kind, InputPath) else []
    return {"typed": typed, "absolute": os.path.abspath(typed), "kind": found, "files": files}  # noqa: PTH100  # no links


def _iterate_contents(path: Path, kind: InputPath, budget: list[int]) -> Iterator[Mapping[str, str]]:
    if path.is_file():
        yield {"path": "", "data": _read_content(path, budget)}
    elif path.is_dir() and kind.folders:
        for file in sorted(each for each in path.rglob("*") if each.is_file()):
            yield {"path": readable_name(file.relative_to(path).as_posix()), "data": _read_content(file, budget)}


def _read_content(file: Path, budget: list[int]) -> str:
    try:
        with file.open("rb") as opened:
            content = opened.read(budget[0] + 1)
    except OSError as error:
        raise ConfigError(Message("{file} cannot be read: {why}", file=file, why=error.strerror)) from None
    budget[0] -= len(content)
    if budget[0] < 0:
        most = MOST_FILE_BYTES // 1024**2
        raise ConfigError(
            Message("{file} cannot be sent: files of a command may have {most} MB together", file=file, most=most),
            Message("send fewer at a time, or use the page Import results"),
        )
    return base64.b64encode(content).decode()


def _get_zone() -> str:
    """This machine's time zone as a server can read it."""
    link = os.path.realpath("/etc/localtime")
    if _ZONES in link:
        return link.partition(_ZONES)[2]
    offset = -time.localtime().tm_gmtoff // 60
    return f"<here>{'-' if offset < 0 else ''}{abs(offset) // 60}:{abs(offset) % 60:02d}"
