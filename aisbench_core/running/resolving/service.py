"""Resolves a launch once and stores the outcome in the run's folder: whatever was stored first stays."""

from collections.abc import Callable
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from aisbench_core.cloud.ports import ObjectStore
from aisbench_core.errors import ResultError
from aisbench_core.formats import size
from aisbench_core.messages import Message
from aisbench_core.model import Clock, Level, Resolved, ResolvedInput, RunSpec
from aisbench_core.private_files import write_whole
from aisbench_core.running.resolving.inputs import resolve_input

Note = Callable[[Level, Message], None]
"""Tells people what was found."""

_FILE = TypeAdapter(Resolved)


def resolve_once(
    spec: RunSpec, objects: ObjectStore, file: Path, clock: Clock, on_page: Callable[[int], None], note: Note
) -> None:
    """List the spec's inputs, unless an earlier attempt at the launch did. Never fails because of the cloud.

    `on_page`: called with the number of objects of an input that are listed; it may raise to give up."""
    channels = [channel for channel in spec.inputs if channel.path]
    if file.exists() or not channels:
        return
    found = {channel.name: resolve_input(objects, channel.path, clock, on_page) for channel in channels}
    write_whole(file, _FILE.dump_json(Resolved(found), indent=2, exclude_defaults=True))
    for name, one in found.items():
        note(*_summary(name, one))


def read_resolved(file: Path) -> Resolved | None:
    """What was stored; None without a file. Raises ResultError when it is damaged."""
    try:
        return _FILE.validate_json(file.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        raise ResultError(Message("{file} cannot be read", file=f"{file.parent.name}/{file.name}")) from error


def _summary(name: str, found: ResolvedInput) -> tuple[Level, Message]:
    if not found.sha256:
        return Level.WARNING, Message("data of input {name} is unknown: {reason}", name=name, reason=found.why_unknown)
    return Level.INFO, Message(
        "data of input {name}: {count} objects, {size}, {sha256}",
        name=name,
        count=found.objects,
        size=size(found.size),
        sha256=found.sha256[:12],
    )
