"""Creates the warehouse file atomically, and renames the log that a removed file left behind."""

import contextlib
import fcntl
import itertools
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
    """Create the file under another name first: no process may find half of it.

    `con` is an engine with an empty database in memory. Raises OSError and duckdb's errors."""
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
    """The file where DuckDB keeps what is not merged into the warehouse file yet."""
    return path.with_name(f"{path.name}.wal")


def revision_of(path: Path) -> str:
    """A text that changes whenever the file or its log does."""
    return "|".join(_state(file) for file in (path, log_of(path)))


def _state(file: Path) -> str:
    try:
        state = file.stat()
    except OSError:
        return ""
    return f"{state.st_ino}-{state.st_size}-{state.st_mtime_ns}"


def _put(draft: Path, path: Path) -> None:
    if log_of(path).exists():
        with _alone(path.parent):
            if not path.exists():
                _set_aside(log_of(path))
            _link(draft, path)
    else:
        _link(draft, path)


def _link(draft: Path, path: Path) -> None:
    with contextlib.suppress(FileExistsError):  # another process was faster
        os.link(draft, path)


def _set_aside(orphan: Path) -> None:
    # DuckDB refuses to open a new file beside the log of another one.
    names = (orphan.with_name(f"{orphan.name}.lost-{number}") for number in itertools.count(1))
    renamed = next(file for file in names if not file.exists())
    with contextlib.suppress(FileNotFoundError):
        orphan.rename(renamed)
        log.warning("%s was removed without its log, which is kept as %s", orphan.stem, renamed.name)


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One process and thread at a time: the log of a file that another one has just created must not be renamed."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
