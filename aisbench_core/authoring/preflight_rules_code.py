"""Preflight rules about the code directory, the boot file and custom images."""

from collections.abc import Iterator

from aisbench_core.authoring.code_folder import MOST_BYTES, MOST_ENTRIES, MOST_LEVELS
from aisbench_core.authoring.rules import Complaint, Source, Subject, rule
from aisbench_core.messages import Message
from aisbench_core.model import Level


@rule("code.missing", Level.ERROR, "code_dir", Source.CONSOLE)
def code_missing(subject: Subject) -> Iterator[Complaint]:
    """There is a code directory: the workload's own, or one that the spec names by its absolute path."""
    spec = subject.spec
    if not spec.code_dir:
        if subject.workload and not spec.command:
            yield Complaint(
                Message(
                    "{workload} does not bring its training code, and no code directory is given",
                    workload=subject.workload.name,
                ),
                Message("set code_dir to the directory on this machine that holds the boot file"),
            )
    elif not subject.code_dir.is_absolute():
        yield Complaint(
            Message("the code directory {folder!r} is not an absolute path", folder=spec.code_dir),
            Message(
                "write the whole path: the run is carried out by another process, which has its own working directory"
            ),
        )
    elif not subject.code_dir.is_dir():
        yield Complaint(
            Message("the code directory {folder!r} is not a directory on this machine", folder=spec.code_dir)
        )


@rule("code.files", Level.ERROR, "code_dir", Source.API)
def code_files(subject: Subject) -> Iterator[Complaint]:
    """The code directory holds at most 1,000 files and directories (ModelArts.2759)."""
    if subject.code.entries > MOST_ENTRIES:
        yield Complaint(
            Message(
                "the code directory holds more than {most:,} files and directories; allowed: {most:,}",
                most=MOST_ENTRIES,
            ),
            Message("keep data sets and environments out of it, or pack them into one file"),
        )


@rule("code.size", Level.ERROR, "code_dir", Source.API)
def code_size(subject: Subject) -> Iterator[Complaint]:
    """The code directory holds at most 5 GB (ModelArts.2761)."""
    if subject.code.size > MOST_BYTES:
        found = f"{subject.code.size / 1024**3:.1f}"
        yield Complaint(
            Message(
                "the code directory holds at least {found} GB; allowed: {most} GB",
                found=found,
                most=MOST_BYTES // 1024**3,
            ),
            Message("put data sets into an input instead"),
        )


@rule("code.depth", Level.ERROR, "code_dir", Source.API)
def code_depth(subject: Subject) -> Iterator[Complaint]:
    """The code directory is at most 32 levels deep (ModelArts.2760)."""
    if subject.code.levels > MOST_LEVELS:
        yield Complaint(
            Message("the code directory is more than {most} levels deep; allowed: {most}", most=MOST_LEVELS)
        )


@rule("code.unreadable", Level.ERROR, "code_dir", Source.CONSOLE)
def code_unreadable(subject: Subject) -> Iterator[Complaint]:
    """Every file of the code directory can be read, and no link leads nowhere."""
    if subject.code.unreadable:
        yield Complaint(
            Message("{file} cannot be read", file=subject.code.unreadable),
            Message("remove it or give yourself the right to read it"),
        )


@rule("code.link", Level.WARNING, "code_dir", Source.CONSOLE)
def code_link(subject: Subject) -> Iterator[Complaint]:
    """The code directory holds no links to other directories: they are not uploaded."""
    if subject.code.linked:
        yield Complaint(
            Message("{file} is a link to a directory and is not uploaded", file=subject.code.linked),
            Message("copy what it points to"),
        )


@rule("boot.missing", Level.ERROR, "boot_file", Source.UPSTREAM)
def boot_missing(subject: Subject) -> Iterator[Complaint]:
    """There is a boot file, and it is in the code directory."""
    spec = subject.spec
    if not spec.boot_file:
        if subject.workload and not subject.has_custom_image:
            yield Complaint(
                Message("no boot file is given"), Message("set boot_file to a .py file, relative to code_dir")
            )
    elif spec.code_dir and subject.code_dir.is_dir() and not (subject.code_dir / spec.boot_file).is_file():
        yield Complaint(
            Message(
                "the boot file {file!r} is not in the code directory {folder!r}",
                file=spec.boot_file,
                folder=spec.code_dir,
            )
        )


@rule("boot.python", Level.ERROR, "boot_file", Source.UPSTREAM)
def boot_python(subject: Subject) -> Iterator[Complaint]:
    """The boot file ends with .py."""
    if subject.spec.boot_file and not subject.spec.boot_file.endswith(".py"):
        yield Complaint(Message("the boot file {file!r} does not end with .py", file=subject.spec.boot_file))


@rule("boot.outside", Level.ERROR, "boot_file", Source.UPSTREAM)
def boot_outside(subject: Subject) -> Iterator[Complaint]:
    """The boot file is inside the code directory, also after following `..` and links."""
    spec = subject.spec
    if not spec.boot_file or not spec.code_dir:
        return
    target = (subject.code_dir / spec.boot_file).resolve()
    if spec.boot_file.startswith("/") or not target.is_relative_to(subject.code_dir.resolve()):
        yield Complaint(
            Message(
                "the boot file {file!r} is outside the code directory {folder!r}",
                file=spec.boot_file,
                folder=spec.code_dir,
            ),
            Message(
                "only the code directory is uploaded; write boot_file relative to it, and copy what a link points to"
            ),
        )


@rule("image.incomplete", Level.ERROR, "image_url", Source.API)
def image_incomplete(subject: Subject) -> Iterator[Complaint]:
    """A custom image comes with its start command, and the other way round (ModelArts.2806)."""
    spec = subject.written
    if spec.image_url and not spec.command:
        yield Complaint(
            Message("a custom image needs a start command, and command is empty"), Message("set command"), "command"
        )
    if spec.command and not spec.image_url:
        yield Complaint(
            Message("a start command needs a custom image, and image_url is empty"), Message("set image_url")
        )


@rule("image.boot-file", Level.ERROR, "boot_file", Source.API)
def image_boot_file(subject: Subject) -> Iterator[Complaint]:
    """A custom image is started by its command and has no boot file."""
    if subject.written.boot_file and subject.has_custom_image:
        yield Complaint(
            Message(
                "both a boot file ({file!r}) and a custom image are given; allowed: one of them",
                file=subject.written.boot_file,
            ),
            Message("start the boot file in command, or leave image_url and command out"),
            fix=(("boot_file", ""),),
        )


@rule("image.command-lines", Level.ERROR, "command", Source.API)
def image_command_lines(subject: Subject) -> Iterator[Complaint]:
    """The start command of a custom image is one line."""
    if "\n" in subject.spec.command or "\r" in subject.spec.command:
        yield Complaint(
            Message("the start command has line breaks; allowed: one line"), Message("join the commands with && or ;")
        )


RULES = (
    code_missing,
    code_files,
    code_size,
    code_depth,
    code_unreadable,
    code_link,
    boot_missing,
    boot_python,
    boot_outside,
    image_incomplete,
    image_boot_file,
    image_command_lines,
)
