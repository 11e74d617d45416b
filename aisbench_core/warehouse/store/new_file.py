"""A new warehouse file: whole under its name, or not there; and what an old one left behind is kept beside it."""

import contextlib
import fcntl
import logging
import os
from collections.abc import Iterator
from pathlib import Path

from duckdb import DuckDBPyConnection

from aisbench_core.private_files import FILE_MODE, draft_of, make_private_folder, sync
from aisbench_core.warehouse.store.file_format import write_anew
from aisbench_core.warehouse.store.migrations import migrate

log = logging.getLogger(__name__)


def create(path: Path, con: DuckDBPyConnection) -> None:
    """Make the file where none is, complete under another name first: two processes must not meet half of it.

    `con` is an engine with nothing but memory. Raises OSError and duckdb's errors."""
    make_private_folder(path.parent)
    draft = draft_of(path)
    try:
        migrate(con, path)
        write_anew(con, "memory", draft)
        draft.chmod(FILE_MODE)
        _put(draft, path)
        sync(path.parent)
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
