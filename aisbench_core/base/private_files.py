"""Files for their owner only, or in a shared folder for its group; replaced atomically and durably; read-only folders.

A folder is shared if its group may write to it and new files get its group: mode 2770. Folders made in it are, too."""

import hashlib
import os
import re
import socket
import stat
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from aisbench_core.base.errors import ReadOnlyFolder, disk_error
from aisbench_core.base.messages import Message

PRIVATE_UMASK = 0o077
SHARED_UMASK = 0o007
FILE_MODE = 0o600
SHARED_FILE_MODE = 0o660

_SHARED = stat.S_ISGID | stat.S_IRWXG


@contextmanager
def private_umask() -> Iterator[int]:
    """Set a umask that leaves rights to the owner only; returns the umask that the process was started with."""
    before = os.umask(PRIVATE_UMASK)
    try:
        yield before
    finally:
        os.umask(before)


def share_new_files(folder: Path) -> None:
    """Within `private_umask`: if the folder is shared, leave the rights of its group, too."""
    if is_shared(folder):
        os.umask(SHARED_UMASK)


def is_shared(folder: Path) -> bool:
    """Whether the accounts of a group use the folder together."""
    try:
        return folder.stat().st_mode & _SHARED == _SHARED
    except OSError:
        return False


def file_mode(folder: Path) -> int:
    """The mode of a private file in the folder."""
    return SHARED_FILE_MODE if is_shared(folder) else FILE_MODE


def open_private(file: Path, flags: int) -> int:
    """Open a file that is made if it is missing; the handle. Raises OSError."""
    mode = file_mode(file.parent)
    handle = os.open(file, flags | os.O_CREAT | os.O_CLOEXEC, mode)
    facts = os.fstat(handle)
    # The umask of another program's process may leave less.
    if facts.st_mode & mode != mode and facts.st_uid == os.geteuid():
        os.fchmod(handle, mode)
    return handle


def write_whole(file: Path, content: bytes, mode: int | None = None) -> None:
    """Replace a file atomically and durably; `mode`: other rights than those of a private file.

    After a kill or a power cut the file is the old or the new one. Drafts of dead writers are deleted. Raises DiskError
    on a full disk."""
    draft = draft_of(file)
    try:
        make_private_folder(file.parent)
        with os.fdopen(open_private(draft, os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW), "wb") as out:
            if mode is not None:
                os.fchmod(out.fileno(), mode)
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        draft.replace(file)
        sync_path(file.parent)
        for left in find_abandoned(file.parent):
            left.unlink(missing_ok=True)
    except OSError as error:
        with suppress(OSError):
            draft.unlink()
        raise disk_error(error, file) or error from error


def sync_path(path: Path) -> None:
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


def find_abandoned(folder: Path) -> list[Path]:
    """Drafts in a folder, with their WAL files, of dead processes of this machine.

    Drafts of other machines, which may share the folder, are left alone: their writers may be alive."""
    named = re.compile(rf"\..+\.{_this_host()}\.(\d+)\.\d+\.new(\.wal)?")
    matches = ((draft, named.fullmatch(draft.name)) for draft in folder.glob(".*.new*"))
    return [draft for draft, by in matches if by and not _is_alive(int(by[1]))]


def process_name() -> str:
    """This process, in the name of a folder of its own that several machines may share."""
    return f"{_this_host()}-{os.getpid()}-"


def is_orphan(name: str) -> bool:
    """Whether the process of this machine that a name begins with has ended."""
    by = re.match(rf"{_this_host()}-(\d+)-", name)
    return by is not None and not _is_alive(int(by[1]))


def make_private_folder(folder: Path) -> None:
    """Create the folder and those above it, unless they exist: for their owner, or shared as the one above is."""
    if folder.is_dir():
        return
    if not folder.parent.exists():
        make_private_folder(folder.parent)
    shared = is_shared(folder.parent)
    folder.mkdir(mode=0o770 if shared else 0o700, exist_ok=True)
    if shared and not is_shared(folder):  # the umask of another program's process
        folder.chmod(stat.S_IMODE(folder.stat().st_mode) | _SHARED)


def make_private_file(file: Path) -> None:
    """Create an empty file unless it exists: databases copy its mode to their WAL files."""
    with suppress(FileExistsError):
        os.close(open_private(file, os.O_WRONLY | os.O_EXCL))


def restrict_access(paths: Iterable[Path]) -> None:
    """Remove the rights of others from these files and folders, if they are ours."""
    for path in paths:
        with suppress(OSError):  # deleted meanwhile, or another user's
            facts = path.lstat()
            others = facts.st_mode & (stat.S_IRWXO if is_shared(path.parent) else stat.S_IRWXG | stat.S_IRWXO)
            if others and facts.st_uid == os.geteuid() and not stat.S_ISLNK(facts.st_mode):
                path.chmod(stat.S_IMODE(facts.st_mode) & ~others)


def is_open_to_others(path: Path) -> bool:
    """Whether anybody but the owner, or the group of a shared folder, has a right to this file or folder."""
    shared = is_shared(path) or is_shared(path.parent)
    try:
        return bool(path.stat().st_mode & (stat.S_IRWXO if shared else stat.S_IRWXG | stat.S_IRWXO))
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


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (OverflowError, ProcessLookupError):
        return False
    except PermissionError:  # another user's process
        return True
    return True
