"""What was behind the names in a spec, in sentences: for events, the run page and the command line."""

from collections.abc import Iterator

from aisbench_core.base.formats import format_size
from aisbench_core.base.messages import Message, choose_plural
from aisbench_core.model import Level, Resolved, ResolvedContent

_DIGITS = 12


def describe_resolved(resolved: Resolved) -> Iterator[tuple[Level, Message]]:
    """A sentence for each name; a warning where it is not known what was behind it."""
    for name, one in resolved.inputs.items():
        yield _of_input(name, one)
    for name, one in resolved.files.items():
        yield _of_file(name, one)
    if resolved.code:
        yield _of_code(resolved.code)
    if resolved.image:
        yield _of_image(resolved.image)


def _describe_listed(found: ResolvedContent) -> Message:
    """How much there was in a directory whose objects are known, and the first digits of its hash."""
    return choose_plural(
        found.objects,
        "{number:,} object, {size}, SHA-256 {sha256}",
        "{number:,} objects, {size}, SHA-256 {sha256}",
        size=format_size(found.size),
        sha256=found.sha256[:_DIGITS],
    )


def _of_input(name: str, found: ResolvedContent) -> tuple[Level, Message]:
    if not found.sha256:
        return Level.WARNING, Message("data of input {name} is unknown: {reason}", name=name, reason=found.why_unknown)
    return Level.INFO, Message("data of input {name}: {data}", name=name, data=_describe_listed(found))


def _of_file(name: str, found: ResolvedContent) -> tuple[Level, Message]:
    if not found.sha256:
        message = Message("file of parameter {name} is unknown: {reason}", name=name, reason=found.why_unknown)
        return Level.WARNING, message
    length, sha256 = format_size(found.size), found.sha256[:_DIGITS]
    return Level.INFO, Message(
        "file of parameter {name}: {size}, SHA-256 {sha256}", name=name, size=length, sha256=sha256
    )


def _of_code(found: ResolvedContent) -> tuple[Level, Message]:
    if not found.sha256:
        return Level.WARNING, Message("code of the algorithm is unknown: {reason}", reason=found.why_unknown)
    return Level.INFO, Message("code of the algorithm: {data}", data=_describe_listed(found))


def _of_image(found: ResolvedContent) -> tuple[Level, Message]:
    if not found.sha256:
        return Level.WARNING, Message("digest of the image is unknown: {reason}", reason=found.why_unknown)
    return Level.INFO, Message("digest of the image: {sha256}", sha256=found.sha256)
