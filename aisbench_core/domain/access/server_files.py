"""Which files of this machine a spec may name: launching uploads them, and the job can print them."""

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from aisbench_core.base.errors import ConfigError, NotAllowed
from aisbench_core.base.messages import Message
from aisbench_core.domain.access.permissions import has_role
from aisbench_core.model import Actor, Finding, Level, Role, RunSpec


def require_open_files(spec: RunSpec, actor: Actor, open_folders: Sequence[Path]) -> None:
    """Raise NotAllowed if the spec names a file or folder that this actor may not read through a job.

    `open_folders`: whose files everybody who may launch may name; admins may name all, as they can read all."""
    for finding in closed_files(spec, actor, open_folders):
        raise NotAllowed(finding.message, finding.hint)


def closed_files(spec: RunSpec, actor: Actor, open_folders: Sequence[Path]) -> list[Finding]:
    """The same as findings. With any, no other check may look at the files: what it says is of their content."""
    if has_role(actor, Role.ADMIN):
        return []
    hint = Message("use the code of a workload, or ask an admin to launch it")
    return [
        Finding("files.closed", Level.ERROR, field, _describe_refusal(field), hint)
        for field, path in _iterate_paths(spec)
        if not _is_open(Path(os.path.expanduser(path)), open_folders)  # noqa: PTH111  # pathlib's raises for an unknown ~name
    ]


def _describe_refusal(field: str) -> Message:
    return Message("{field} names files on the server, which only an admin may use", field=field)


def code_folder_of(file: Path, code_folders: Sequence[Path]) -> Path | None:
    """The folder whose code people change in which this file is named; None for other files."""
    return next((folder for folder in code_folders if _is_named_in(file, folder)), None)


def open_within(file: Path, folder: Path) -> int:
    """A descriptor of a file that lies in the folder, for reading.

    It is opened directory by directory and without following links: whoever may write there could set one after any
    check of the path. Raises ConfigError if the file lies elsewhere or is none, and OSError."""
    root, target = folder.resolve(), file.resolve()
    if not target.is_relative_to(root):
        raise ConfigError(
            Message("the code has a link that leads out of {folder}: {file}", folder=folder, file=file),
            Message("copy the file into the code"),
        )
    try:
        handle = _open_below(root, target.relative_to(root).parts)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise _make_change_error(file) from error
        raise
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise _make_change_error(file)
    return handle


def _open_below(root: Path, parts: Sequence[str]) -> int:
    handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    for part in parts:
        try:
            # A named pipe would wait for somebody who writes.
            inner = os.open(part, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=handle)
        finally:
            os.close(handle)
        handle = inner
    return handle


def _make_change_error(file: Path) -> ConfigError:
    return ConfigError(
        Message("the code was changed while it was read: {file} is no file any more", file=file),
        Message("launch it again, and do not edit the code meanwhile"),
    )


def _is_open(file: Path, open_folders: Sequence[Path]) -> bool:
    return any(_is_named_in(file, folder) and _lies_in(file, folder) for folder in open_folders)


def _is_named_in(file: Path, folder: Path) -> bool:
    named = Path(os.path.abspath(file))  # noqa: PTH100  # Path.resolve would follow links
    return named.is_relative_to(folder) or named.is_relative_to(folder.resolve())


def _lies_in(file: Path, folder: Path) -> bool:
    """Resolved, or a link or `..` would lead out of the folder."""
    return file.resolve().is_relative_to(folder.resolve())


def _iterate_paths(spec: RunSpec) -> Iterator[tuple[str, str]]:
    if spec.code_dir:
        yield "code_dir", spec.code_dir
    yield from ((f"update.{package}", path) for package, path in spec.update.packages.items())
