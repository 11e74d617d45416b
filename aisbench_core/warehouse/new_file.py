"""A new warehouse file: whole under its name, or not there; and what an old one left behind is kept beside it."""

import contextlib
import fcntl
import hashlib
import logging
import os
import re
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

from duckdb import DuckDBPyConnection

from aisbench_core.warehouse.file_format import write_anew
from aisbench_core.warehouse.migrations import migrate

log = logging.getLogger(__name__)


def create(path: Path, con: DuckDBPyConnection) -> None:
    """Make the file where none is, complete under another name first: two processes must not meet half of it.

    `con` is an engine with nothing but memory. Raises OSError and duckdb's errors."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = draft_of(path)
    try:
        migrate(con, path)
        write_anew(con, "memory", draft)
        _put(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def log_of(path: Path) -> Path:
    """Where DuckDB keeps what is not merged into the file yet."""
    return path.with_name(f"{path.name}.wal")


def revision_of(path: Path) -> str:
    """A text that changes whenever the file or its log does."""
    return "|".join(_state(file) for file in (path, log_of(path)))


def _state(file: Path) -> str:
    try:
        found = file.stat()
    except OSError:
        return ""
    return f"{found.st_ino}-{found.st_size}-{found.st_mtime_ns}"


def draft_of(path: Path) -> Path:
    """Where a file is written that is to come into this place: a name of this thread's own, which tells who writes."""
    return path.with_name(f".{path.name}.{_here()}.{os.getpid()}.{threading.get_ident()}.new")


def abandoned(folder: Path) -> list[Path]:
    """What processes of this machine that have died were writing into a folder, with its logs.

    Whether those of other machines live nobody here can know, and a folder may be shared with them."""
    named = re.compile(rf"\..+\.{_here()}\.(\d+)\.\d+\.new(\.wal)?")
    found = ((draft, named.fullmatch(draft.name)) for draft in folder.glob(".*.new*"))
    return [draft for draft, by in found if by and not _lives(int(by[1]))]


def _here() -> str:
    return hashlib.sha256(socket.gethostname().encode()).hexdigest()[:8]


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (OverflowError, ProcessLookupError):
        return False
    except PermissionError:  # somebody else's
        return True
    return True


def _put(draft: Path, path: Path) -> None:
    if log_of(path).exists():
        with _alone(path.parent):
            if not path.exists():
                _set_aside(log_of(path))
            _link(draft, path)
    else:
        _link(draft, path)


def _link(draft: Path, path: Path) -> None:
    with contextlib.suppress(FileExistsError):  # somebody was quicker
        os.link(draft, path)


def _set_aside(orphan: Path) -> None:
    """The log of a file that was removed without it: it fits no other, and would keep a new one from opening."""
    number = 1
    while (kept := orphan.with_name(f"{orphan.name}.lost-{number}")).exists():
        number += 1
    with contextlib.suppress(FileNotFoundError):
        orphan.rename(kept)
        log.warning("%s was removed without its log, which is kept as %s", orphan.stem, kept.name)


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One process and thread at a time: whoever sets a log aside must not take the one of a file made since."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
