"""Opens the ledger's file for one operation; reading needs no free disk space.

In a read-only folder a copy is read: SQLite creates files beside a WAL database even to read it. `immutable=1` needs no
copy, but silently ignores what only the WAL holds, and assumes that nobody writes, while a folder that is read-only
here may be mounted writable elsewhere.
"""

import fcntl
import os
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from aisbench_core.base.errors import AisbenchError, DamagedLedger, DiskError, LedgerBusy, disk_error, full_disks_named
from aisbench_core.base.messages import Message, make_verbatim
from aisbench_core.base.private_files import is_read_only, make_private_file, make_private_folder, require_writable
from aisbench_core.store.ledger.database.leases import FileLeases
from aisbench_core.store.ledger.database.ledger_schema import (
    RELEASED,
    SQLITE,
    UPGRADE,
    VERSION,
    prepare_tables,
)

BUSY_SECONDS = 30.0
LOCK_POLL_S = 0.002
COPY_SECONDS = 10.0
COPY_POLL_S = 0.01
TICK_NS = 50_000_000  # several ticks of the coarsest clock that Linux is built with, 100 Hz
# The low byte of SQLite's extended result codes is the primary code (sqlite.org/rescode.html).
PRIMARY = 0xFF

# Where an SQLite file has `pragma user_version` (sqlite.org/fileformat.html).
_MAGIC, _HEADER_BYTES, _USER_VERSION = b"SQLite format 3\0", 100, slice(60, 64)

_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class LedgerFile:
    """A ledger's file (a LedgerStore); a connection lasts for one operation."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def revision(self) -> str | None:
        """A text that changes with every change; None for a moment after one. The file is not opened for it."""
        return get_revision(self._path)

    def clock_ahead(self) -> timedelta:
        """Never: who shares a file shares its host."""
        return timedelta()

    def leases(self, lock: Path, *, substitute: bool) -> FileLeases:  # noqa: ARG002  # one follows all
        """Decides who follows, by a lock on that file."""
        return FileLeases(lock)

    @contextmanager
    def connection(self) -> Iterator[sqlite3.Connection]:
        """For reading. Raises AisbenchError when the file cannot be used, and DamagedLedger when it is damaged."""
        with open_connection(self._path) as con:
            prepare_tables(con)
            yield con

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """For reading, at one moment. Raises as `connection` does."""
        with self.connection() as con:
            con.execute("begin")
            yield con
            con.execute("commit")

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """A transaction for writing. Raises as `connection` does, and ReadOnlyFolder."""
        require_writable(self._path.parent)
        with self.connection() as con:
            con.execute("begin immediate")
            try:
                yield con
            except BaseException:
                if con.in_transaction:  # on a full disk SQLite has rolled back already
                    con.execute("rollback")
                raise
            con.execute("commit")


def get_revision(path: Path) -> str | None:
    """A text that changes with every commit; None where the file has just been written.

    A file's time is not finer than a tick of the kernel's clock: a second commit within one would go unnoticed."""
    states = _stat_file(path), _stat_file(_get_wal_path(path))
    newest = max((state[2] for state in states if state), default=0)
    return None if abs(time.time_ns() - newest) < TICK_NS else repr(states)


@contextmanager
def open_connection(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a new connection. Raises AisbenchError when the file cannot be used, DamagedLedger if it is damaged."""
    _check_log(path)
    try:
        with _connect_file(path) as con:
            yield con
    except sqlite3.Error as error:
        # Errors raised by Python's sqlite3 itself have no code.
        code = getattr(error, "sqlite_errorcode", 0) & PRIMARY
        if code in _DAMAGED:
            raise _make_damage_error(path, make_verbatim(error)) from error
        if code == sqlite3.SQLITE_BUSY:
            raise _make_busy_error() from error
        kind = DiskError if isinstance(error, sqlite3.OperationalError) else AisbenchError
        raise kind(
            Message("the ledger {path} cannot be used: {reason}", path=path.name, reason=error),
            _choose_hint(str(error)),
        ) from error


def ledger_version(path: Path) -> int:
    """The schema of a ledger's file; 0 if there is none. Raises as `open_connection` does."""
    if not _get_size(path):
        return 0
    with open_connection(path) as con:
        return SQLITE.version(con)


def require_known_schema(path: Path) -> None:
    """Raise AisbenchError if another version wrote a ledger, without opening it: its other files may differ, too."""
    with suppress(OSError), path.open("rb") as file:
        header = file.read(_HEADER_BYTES)
        found = int.from_bytes(header[_USER_VERSION])
        if header.startswith(_MAGIC) and found > VERSION:
            raise AisbenchError(
                Message(
                    "the data folder {folder} was written by a newer version: its ledger has schema {found}, and this"
                    " one knows schemas up to {known}",
                    folder=path.parent, found=found, known=VERSION,
                ),
                Message("update this console, or restore a backup from before"),
            )  # fmt: skip
        if (
            header.startswith(_MAGIC) and 0 < found < RELEASED and not _get_size(_get_wal_path(path))
        ):  # the log may have a newer one
            raise AisbenchError(
                Message(
                    "the data folder {folder} is of a development version: its ledger has schema {found}",
                    folder=path.parent, found=found,
                ),
                UPGRADE,
            )  # fmt: skip


def copy_database(path: Path, target: Path) -> None:
    """Copy a database that is in use, as it is at one moment. Raises as `open_connection` does."""
    with open_connection(path) as source, closing(_make_connection(target)) as copy:
        source.backup(copy)


def check_database(path: Path) -> None:
    """Raise DamagedLedger if a database is damaged."""
    with open_connection(path) as con:
        found = con.execute("pragma integrity_check(1)").fetchone()[0]
    if found != "ok":
        raise _make_damage_error(path, make_verbatim(found))


def _check_log(path: Path) -> None:
    """Refuse a missing or empty file with a WAL: SQLite would delete the WAL, and the changes that only it holds."""
    log = _get_wal_path(path)
    if _get_size(log) and not _get_size(path):  # in this order: a new ledger's file is written before its WAL
        raise _make_damage_error(path, Message("it is missing or empty, but its log {log} is not", log=log.name))


def _make_damage_error(path: Path, why: Message) -> DamagedLedger:
    return DamagedLedger(
        Message("the ledger {path} cannot be used: {reason}", path=path, reason=why),
        Message(
            "stop the console and the follower, move {file} with its -wal and -shm files to another folder, and "
            "start again: recorded results are in the warehouse; runs that had not ended are no longer followed, find "
            "their jobs by name with `aisbench jobs list`",
            file=path.name,
        ),
    )


def _make_busy_error() -> LedgerBusy:
    return LedgerBusy(Message("the ledger is in use by other processes"), Message("try again"))


def _get_size(file: Path) -> int:
    return (_stat_file(file) or (0,))[0]


def _get_wal_path(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _stat_file(file: Path) -> tuple[int, int, int] | None:
    try:
        stat = file.stat()
    except OSError:
        return None
    return stat.st_size, stat.st_ino, stat.st_mtime_ns


@contextmanager
def _connect_file(path: Path) -> Iterator[sqlite3.Connection]:
    if is_read_only(path.parent):
        with temporary_copy(path) as copy, closing(_make_connection(copy)) as con:
            yield con
        return
    with suppress(OSError):  # SQLite's own message is clearer
        make_private_folder(path.parent)
        make_private_file(path)
    try:
        con = _make_connection(path)
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & PRIMARY not in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL):
            raise
        with _lock_folder(path.parent), closing(_make_connection(path, exclusive=True)) as con:
            yield con
        return
    with closing(con):
        yield con


@contextmanager
def temporary_copy(path: Path) -> Iterator[Path]:
    """A consistent copy of the file and its WAL for the duration of the context; no file if there is none.

    Raises AisbenchError when they cannot be read, and DiskError when there is no room for the copy."""
    with full_disks_named():
        folder = TemporaryDirectory(prefix="aisbench-ledger-")
    with folder as name:
        copy = Path(name) / path.name
        _copy_unchanged(path, copy)
        yield copy


def _copy_unchanged(path: Path, copy: Path) -> None:
    """Copy both, again until neither has changed while they were copied."""
    deadline = time.monotonic() + COPY_SECONDS
    while True:
        before = _stat_file(path), _stat_file(_get_wal_path(path))
        try:
            _copy_file(path, copy)
            _copy_file(_get_wal_path(path), _get_wal_path(copy))
        except OSError as error:
            refused = AisbenchError(
                Message("the ledger {path} cannot be read: {reason}", path=path, reason=error.strerror),
                Message("make it readable for this user"),
            )
            raise disk_error(error, copy) or refused from error
        if before == (_stat_file(path), _stat_file(_get_wal_path(path))):
            return
        _wait_until(deadline, COPY_POLL_S)


def _copy_file(source: Path, target: Path) -> None:
    target.unlink(missing_ok=True)
    with suppress(FileNotFoundError):
        shutil.copyfile(source, target)


def _make_connection(path: Path, *, exclusive: bool = False) -> sqlite3.Connection:
    """`exclusive`: keep the WAL index in memory instead of in a shared -shm file, which needs free disk space."""
    con = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        con.row_factory = sqlite3.Row
        if exclusive:
            con.execute("pragma locking_mode = exclusive")
        # Opens the file; and a launch must survive a power cut, because its job costs money.
        con.execute("pragma synchronous = full")
    except BaseException:
        con.close()
        raise
    return con


@contextmanager
def _lock_folder(folder: Path) -> Iterator[None]:
    """One process and thread at a time: two connections in exclusive mode block each other."""
    handle, deadline = os.open(folder, os.O_RDONLY), time.monotonic() + BUSY_SECONDS
    try:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                _wait_until(deadline, LOCK_POLL_S)
        yield
    finally:
        os.close(handle)


def _wait_until(deadline: float, seconds: float) -> None:
    if time.monotonic() > deadline:
        raise _make_busy_error()
    time.sleep(seconds)


def _choose_hint(reason: str) -> Message:
    if "readonly" in reason or "unable to open" in reason:
        return Message("make the file and its folder writable for this user")
    if "full" in reason or "disk I/O" in reason:
        return Message("free space and try again; nothing that was stored is lost")
    return Message("check the disk and the file's owner")
