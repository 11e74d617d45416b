"""Files readable by their owner only, replaced atomically and durably; and folders that are read-only."""

import hashlib
import os
import re
import socket
import stat
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from aisbench_core.errors import ReadOnlyFolder, disk_error
from aisbench_core.messages import Message

PRIVATE_UMASK = 0o077
FILE_MODE = 0o600
FOLDER_MODE = 0o700

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


@contextmanager
def private_umask() -> Iterator[int]:
    """Set a umask that leaves rights to the owner only; returns the umask that the process was started with."""
    before = os.umask(PRIVATE_UMASK)
    try:
        yield before
    finally:
        os.umask(before)


def write_whole(file: Path, content: bytes, mode: int = FILE_MODE) -> None:
    """Replace a file atomically and durably. Raises DiskError on a full disk.

    After a kill or a power cut the file is the old or the new one. Drafts of dead writers are deleted."""
    draft = draft_of(file)
    try:
        file.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, mode)
        with os.fdopen(handle, "wb") as out:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        draft.replace(file)
        sync(file.parent)
        for left in abandoned(file.parent):
            left.unlink(missing_ok=True)
    except OSError as error:
        with suppress(OSError):
            draft.unlink()
        raise disk_error(error, file) or error from error


def sync(path: Path) -> None:
    """fsync a file, or the entries of a folder.

    Some file systems cannot sync folders, and do not need it."""
    handle = os.open(path, os.O_RDONLY)
    try:
        with suppress(OSError):
            os.fsync(handle)
    finally:
        os.close(handle)


def draft_of(path: Path) -> Path:
    """The draft that is written before it replaces a file; its name identifies host, process and thread."""
    return path.with_name(f".{path.name}.{_this_host()}.{os.getpid()}.{threading.get_ident()}.new")


def abandoned(folder: Path) -> list[Path]:
    """Drafts in a folder, with their WAL files, of dead processes of this machine.

    Drafts of other machines, which may share the folder, are left alone: their writers may be alive."""
    named = re.compile(rf"\..+\.{_this_host()}\.(\d+)\.\d+\.new(\.wal)?")
    matches = ((draft, named.fullmatch(draft.name)) for draft in folder.glob(".*.new*"))
    return [draft for draft, by in matches if by and not _lives(int(by[1]))]


def process_name() -> str:
    """This process, in the name of a folder of its own that several machines may share."""
    return f"{_this_host()}-{os.getpid()}-"


def is_orphan(name: str) -> bool:
    """Whether the process of this machine that a name begins with has ended."""
    by = re.match(rf"{_this_host()}-(\d+)-", name)
    return by is not None and not _lives(int(by[1]))


def make_private_folder(folder: Path) -> None:
    """Create the folder, for its owner only, unless it exists."""
    folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)


def make_private_file(file: Path) -> None:
    """Create an empty file, for its owner only, unless it exists: databases copy its mode to their WAL files."""
    with suppress(FileExistsError):
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE))


def restrict_access(paths: Iterable[Path]) -> None:
    """Remove all rights but the owner's from these files and folders, if they are ours."""
    for path in paths:
        with suppress(OSError):  # deleted meanwhile, or another user's
            facts = path.lstat()
            if facts.st_mode & _OTHERS and facts.st_uid == os.geteuid() and not stat.S_ISLNK(facts.st_mode):
                path.chmod(stat.S_IMODE(facts.st_mode) & ~_OTHERS)


def is_open_to_others(path: Path) -> bool:
    """Whether anybody but the owner has a right to this file or folder."""
    try:
        return bool(path.stat().st_mode & _OTHERS)
    except OSError:
        return False


def is_read_only(folder: Path) -> bool:
    """Whether the folder exists and nothing can be stored in it. Never cached: mounts change."""
    return os.path.isdir(folder) and not os.access(folder, os.W_OK | os.X_OK)  # noqa: PTH112  # is_dir raises where this is False


def require_writable(folder: Path) -> None:
    """Raises ReadOnlyFolder, before anything is written."""
    if is_read_only(folder):
        raise ReadOnlyFolder(
            Message(
                "the folder {folder} is read-only: what it holds can be read, but nothing can be stored in it",
                folder=folder,
            ),
            Message("make it writable for this user, or copy it and set AISBENCH_DATA_DIR to the copy"),
        )


def _this_host() -> str:
    return hashlib.sha256(socket.gethostname().encode()).hexdigest()[:8]


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (OverflowError, ProcessLookupError):
        return False
    except PermissionError:  # another user's process
        return True
    return True
