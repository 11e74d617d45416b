"""Preflight rules about the code directory, the boot file and algorithms."""

from collections.abc import Iterator
from pathlib import Path

from aisbench_core.base.messages import Message
from aisbench_core.domain.authoring.code_folder import MOST_BYTES, MOST_ENTRIES, MOST_LEVELS
from aisbench_core.domain.preflight.rule import Source, Subject, Violation, rule
from aisbench_core.model import Level
from aisbench_core.model.spec_fields import fields_where

# What names an algorithm of ModelArts, own or subscribed.
ALGORITHM_FIELDS = ("algorithm", "subscription_id", "item_version_id")


@rule("code.missing", Level.ERROR, "code_dir", Source.CONSOLE)
def code_missing(subject: Subject) -> Iterator[Violation]:
    """The code directory exists: the workload ships its code, or the spec gives an absolute path."""
    spec = subject.spec
    if not spec.code_dir:
        if subject.workload and not (spec.command or spec.uses_algorithm):
            message = Message(
                "{workload} ships no training code, and no code directory is given", workload=subject.workload.name
            )
            yield Violation(message, Message("set code_dir to the directory on this machine that holds the boot file"))
    elif not subject.code_dir.is_absolute():
        hint = Message("write the absolute path: another process executes the run, with its own working directory")
        yield Violation(Message("the code directory {folder!r} is not an absolute path", folder=spec.code_dir), hint)
    elif not subject.code_dir.is_dir():
        message = Message("the code directory {folder!r} is not a directory on this machine", folder=spec.code_dir)
        yield Violation(message)


@rule("code.files", Level.ERROR, "code_dir", Source.API)
def code_files(subject: Subject) -> Iterator[Violation]:
    """The code directory contains at most 1,000 files and directories (ModelArts.2759)."""
    if subject.code.entries > MOST_ENTRIES:
        message = Message(
            "the code directory holds more than {most:,} files and directories; allowed: {most:,}", most=MOST_ENTRIES
        )
        yield Violation(message, Message("keep data sets and environments out of it, or pack them into one file"))


@rule("code.size", Level.ERROR, "code_dir", Source.API)
def code_size(subject: Subject) -> Iterator[Violation]:
    """The code directory contains at most 5 GB (ModelArts.2761)."""
    if subject.code.size > MOST_BYTES:
        size = f"{subject.code.size / 1024**3:.1f}"
        message = Message(
            "the code directory holds at least {size} GB; allowed: {most} GB", size=size, most=MOST_BYTES >> 30
        )
        yield Violation(message, Message("put data sets into an input instead"))


@rule("code.depth", Level.ERROR, "code_dir", Source.API)
def code_depth(subject: Subject) -> Iterator[Violation]:
    """The code directory is at most 32 levels deep (ModelArts.2760)."""
    if subject.code.levels > MOST_LEVELS:
        message = Message("the code directory is more than {most} levels deep; allowed: {most}", most=MOST_LEVELS)
        yield Violation(message)


@rule("code.unreadable", Level.ERROR, "code_dir", Source.CONSOLE)
def code_unreadable(subject: Subject) -> Iterator[Violation]:
    """Every file in the code directory is readable, its name is UTF-8, and no link is broken."""
    if subject.code.unreadable:
        message = Message("{file} cannot be read", file=subject.code.unreadable)
        yield Violation(message, Message("remove it or make it readable"))
    if subject.code.misnamed:
        message = Message("the name of {file} is not UTF-8", file=subject.code.misnamed)
        yield Violation(message, Message("rename it"))


@rule("code.link", Level.WARNING, "code_dir", Source.CONSOLE)
def code_link(subject: Subject) -> Iterator[Violation]:
    """The code directory contains no links to directories: they are not uploaded."""
    if subject.code.linked:
        message = Message("{file} is a link to a directory and is not uploaded", file=subject.code.linked)
        yield Violation(message, Message("copy the directory instead"))


@rule("boot.missing", Level.ERROR, "boot_file", Source.UPSTREAM)
def boot_missing(subject: Subject) -> Iterator[Violation]:
    """The boot file is given and exists in the code directory."""
    spec = subject.spec
    if not spec.boot_file:
        if subject.workload and not (subject.spec.has_own_start or spec.uses_algorithm):
            message = Message("no boot file is given")
            yield Violation(message, Message("set boot_file to a .py file, relative to code_dir"))
    elif spec.code_dir and subject.code_dir.is_dir() and not (_is_outside(subject) or _boot_file(subject).is_file()):
        message = Message(
            "the boot file {file!r} is not in the code directory {folder!r}", file=spec.boot_file, folder=spec.code_dir
        )
        yield Violation(message)


@rule("boot.python", Level.ERROR, "boot_file", Source.UPSTREAM)
def boot_python(subject: Subject) -> Iterator[Violation]:
    """The boot file ends with .py."""
    if subject.spec.boot_file and not subject.spec.boot_file.endswith(".py"):
        yield Violation(Message("the boot file {file!r} does not end with .py", file=subject.spec.boot_file))


@rule("boot.outside", Level.ERROR, "boot_file", Source.UPSTREAM)
def boot_outside(subject: Subject) -> Iterator[Violation]:
    """The boot file is inside the code directory, also after following `..` and links."""
    spec = subject.spec
    if not spec.boot_file or not spec.code_dir:
        return
    if _is_outside(subject):
        message = Message(
            "the boot file {file!r} is outside the code directory {folder!r}", file=spec.boot_file, folder=spec.code_dir
        )
        hint = Message(
            "only the code directory is uploaded; write boot_file relative to it, and copy what a link points to"
        )
        yield Violation(message, hint)


def _boot_file(subject: Subject) -> Path:
    return subject.code_dir / subject.spec.boot_file


def _is_outside(subject: Subject) -> bool:
    """What is outside may be a file of the server that only admins may ask for."""
    # resolve() follows links, which the upload does not copy.
    target = _boot_file(subject).resolve()
    return subject.spec.boot_file.startswith("/") or not target.is_relative_to(subject.code_dir.resolve())


@rule("algorithm.alone", Level.ERROR, "algorithm", Source.API)
def algorithm_alone(subject: Subject) -> Iterator[Violation]:
    """With an algorithm, the spec names no code, boot file, image, command or engine of its own."""
    spec = subject.written
    for field in fields_where(lambda field: field.of_algorithm) if spec.uses_algorithm else ():
        if value := getattr(spec, field):
            message = Message("the algorithm decides {field}, but the spec says {value!r}", field=field, value=value)
            yield Violation(message, Message("leave {field} or the algorithm out", field=field), field, ((field, ""),))
    if spec.uses_algorithm and spec.update.packages:
        hint = Message("leave update out, or let the spec bring its own code")
        yield Violation(
            Message("packages are installed by a script beside the code, which the algorithm holds"), hint, "update"
        )


@rule("algorithm.subscription", Level.ERROR, "subscription_id", Source.API)
def algorithm_subscription(subject: Subject) -> Iterator[Violation]:
    """A subscribed algorithm has both its ids, and is named instead of an own one."""
    spec = subject.written
    ids = {"subscription_id": spec.subscription_id, "item_version_id": spec.item_version_id}
    missing = [field for field, value in ids.items() if not value]
    if len(missing) == 1:
        hint = Message("`aisbench algorithms subscribed` lists both ids of each version")
        yield Violation(Message("a subscribed algorithm needs {field}, too", field=missing[0]), hint, missing[0])
    if spec.algorithm and len(missing) < len(ids):
        message = Message("the spec names an own and a subscribed algorithm, but a job runs one")
        yield Violation(message, Message("leave algorithm, or subscription_id and item_version_id, out"), "algorithm")
