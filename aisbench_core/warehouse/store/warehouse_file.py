"""The warehouse file: its storage format, its creation, and its log.

A deleted or truncated log is detected, without which DuckDB opens the file and misses runs silently: at closing, an
extended attribute of the file stores the log's size, and the file's modification time, since another program may merge
the log. On file systems without extended attributes nothing is detected.
"""

import contextlib
import fcntl
import itertools
import logging
import os
import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
from duckdb import DuckDBPyConnection

from aisbench_core.base.errors import WarehouseBusy, WarehouseError
from aisbench_core.base.messages import Message
from aisbench_core.base.private_files import draft_of, file_mode, make_private_folder, sync_path
from aisbench_core.warehouse.store.migrations import LATEST, REBUILD, migrate_tables
from aisbench_core.warehouse.tables.schema import sql_text
from aisbench_core.warehouse.tables.table_columns import stored_columns

# Bytes. With smaller blocks DuckDB compresses no numbers; its default of 256 KiB, for each of 90 columns, slows down
# recording.
BLOCK = 65536

# The oldest DuckDB that reads the file; earlier formats compress no texts.
STORAGE = "v1.5.0"


def write_anew(con: DuckDBPyConnection, source: str, draft: Path) -> None:
    """Write every table of the attached database `source` into a new file."""
    con.execute(f"attach {sql_text(draft)} as fresh (block_size {BLOCK}, storage_version '{STORAGE}')")
    tables = stored_columns(con, source)
    con.begin()  # else each creation would be synced to disk
    for table, columns in tables.items():
        con.execute(f"create table fresh.{table} ({', '.join(columns)})")
    con.commit()
    for table in tables:
        con.execute(f"insert into fresh.{table} from {source}.{table}")
    con.execute("checkpoint fresh")
    con.execute("detach fresh")


def copy_tables(con: DuckDBPyConnection, draft: Path) -> None:
    """Write every table of the current database into the new file, which stays attached as `fresh`."""
    con.execute(f"attach {sql_text(draft)} as fresh (block_size {BLOCK}, storage_version '{STORAGE}')")
    con.execute("select table_name from duckdb_tables() where database_name = current_database() and not temporary")
    for (table,) in con.fetchall():
        con.execute(f"create table fresh.main.{table} as from {table}")


log = logging.getLogger(__name__)


def create(path: Path, con: DuckDBPyConnection) -> None:
    """Create the file under another name first: no process may find half of it.

    `con` is an engine with an empty database in memory. Raises OSError and duckdb's errors."""
    make_private_folder(path.parent)
    draft = draft_of(path)
    try:
        migrate_tables(con, path)
        write_anew(con, "memory", draft)
        draft.chmod(file_mode(draft.parent))
        with _lock_folder(path.parent) if log_of(path).exists() else contextlib.nullcontext():
            if log_of(path).exists() and not path.exists():
                _set_aside(log_of(path))
            with contextlib.suppress(FileExistsError):  # another process was faster
                os.link(draft, path)
        sync_path(path.parent)
    finally:
        draft.unlink(missing_ok=True)


def log_of(path: Path) -> Path:
    """The file where DuckDB keeps what is not merged into the warehouse file yet."""
    return path.with_name(f"{path.name}.wal")


def revision_of(path: Path) -> str:
    """A text that changes whenever the file or its log does."""
    return "|".join(_stat_file(file) for file in (path, log_of(path)))


def _stat_file(file: Path) -> str:
    try:
        state = file.stat()
    except OSError:
        return ""
    return f"{state.st_ino}-{state.st_size}-{state.st_mtime_ns}"


def _set_aside(orphan: Path) -> None:
    # DuckDB refuses to open a new file beside the log of another one.
    names = (orphan.with_name(f"{orphan.name}.lost-{number}") for number in itertools.count(1))
    renamed = next(file for file in names if not file.exists())
    with contextlib.suppress(FileNotFoundError):
        orphan.rename(renamed)
        log.warning("%s was removed without its log, which is kept as %s", orphan.stem, renamed.name)


@contextlib.contextmanager
def _lock_folder(folder: Path) -> Iterator[None]:
    """One process and thread at a time: the log of a file that another one has just created must not be renamed."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


_LOG_ATTRIBUTE = "user.aisbench.log"


def note_log(path: Path) -> None:
    """Store the size of the log; no other process may have the file open."""
    with contextlib.suppress(OSError, AttributeError):
        os.setxattr(path, _LOG_ATTRIBUTE, f"{path.stat().st_mtime_ns} {_log_size(log_of(path))}".encode())


def check_log(path: Path) -> None:
    """Raises WarehouseError if the log was deleted or truncated since; no other process may be writing."""
    noted = size = 0
    with contextlib.suppress(OSError, AttributeError, ValueError):
        changed, noted = map(int, os.getxattr(path, _LOG_ATTRIBUTE).split())
        size = _log_size(log_of(path)) if changed == path.stat().st_mtime_ns else noted
    if size < noted:
        raise WarehouseError(
            Message(
                "the log {log} was deleted or cut: it held {noted} bytes, and holds {size}",
                log=log_of(path),
                noted=noted,
                size=size,
            ),
            Message("bring it back, or run `aisbench warehouse rebuild`: every run is kept as text in data/runs"),
        )


def forget_log(path: Path) -> None:
    """Accept the log as it is: a rebuild stores every run again."""
    with contextlib.suppress(OSError, AttributeError):
        os.removexattr(path, _LOG_ATTRIBUTE)


def _log_size(log: Path) -> int:
    try:
        return log.stat().st_size
    except FileNotFoundError:
        return 0


# --- errors -------------------------------------------------------------------------------------------

# DuckDB's errors if file, disk or memory fail; its other errors are bugs of ours, which are not translated.
BROKEN = (
    duckdb.IOException,
    duckdb.FatalException,
    duckdb.InternalException,
    duckdb.SerializationException,
    duckdb.OutOfMemoryException,
)


def make_busy_error(path: Path, holder: str = "") -> WarehouseBusy:
    """Our error for a file that another process holds. `holder`: its number, if known."""
    process = Message("process {number}", number=holder) if holder else Message("somebody else")
    return WarehouseBusy(
        Message("the warehouse {path} is in use by {who}", path=path, who=process), Message("try again in a moment")
    )


def other_writers(location: object) -> WarehouseBusy:
    """Our error when other writers were first again and again."""
    return WarehouseBusy(Message("other writers keep the warehouse {path} busy", path=location), Message("try again"))


def translate_error(path: Path, error: Exception) -> WarehouseError:
    """Our error for one of DuckDB's or the system's."""
    text = str(error)
    if "Could not set lock" in text:
        holder = re.search(r"PID (\d+)", text)
        return make_busy_error(path, holder.group(1) if holder else "")
    if "Unique file handle conflict" in text:  # another engine of this process
        return make_busy_error(path, str(os.getpid()))
    reason = text.strip().splitlines()[0] if text.strip() else type(error).__name__
    return WarehouseError(
        Message("the warehouse {path} cannot be used: {reason}", path=path, reason=reason), _choose_hint(text)
    )


_NO_SPACE = ("No space left", "File too large", "quota exceeded", "Out of Memory", "could not allocate")


def _choose_hint(text: str) -> Message:
    if any(sign in text for sign in ("Permission denied", "Read-only", "read-only", "Cannot open file")):
        return Message("make the file and its directory writable for this user")
    if any(sign in text for sign in _NO_SPACE):
        return Message("free space and try again; nothing was stored")
    if "WAL does not match" in text:
        return Message(
            "its .wal file belongs to another copy of it: bring both files of one copy back, or move the .wal file away"
        )
    if "version number" in text:
        return Message(
            "it was written by a newer DuckDB: update this installation (schema {version}), or move the file away",
            version=LATEST,
        )
    return REBUILD
