"""Opens the ledger's file for one operation; reading needs no free disk space."""

import fcntl
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from aisbench_core.errors import AisbenchError, DamagedLedger, DiskError
from aisbench_core.messages import Message, verbatim
from aisbench_core.private_files import is_read_only, make_private_file, make_private_folder
from aisbench_core.running.ledger_copy import temporary_copy

BUSY_SECONDS = 30.0
LOOK_AGAIN_S = 0.002
# The low byte of SQLite's extended result codes is the primary code (sqlite.org/rescode.html).
PRIMARY = 0xFF

_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a new connection. Raises AisbenchError when the file cannot be used, DamagedLedger if it is damaged."""
    _check_log(path)
    try:
        with _connected(path) as con:
            yield con
    except sqlite3.Error as error:
        if (
            getattr(error, "sqlite_errorcode", 0) & PRIMARY in _DAMAGED
        ):  # errors raised by Python's sqlite3 itself have no code
            raise _damaged(path, verbatim(error)) from error
        kind = DiskError if isinstance(error, sqlite3.OperationalError) else AisbenchError
        raise kind(
            Message("the ledger {path} cannot be used: {reason}", path=path.name, reason=error), _advice(str(error))
        ) from error


def _check_log(path: Path) -> None:
    """Refuse a missing or empty file with a WAL: SQLite would delete the WAL, and the changes that only it holds."""
    log = path.with_name(f"{path.name}-wal")
    if _size(log) and not _size(path):  # in this order: a new ledger's file is written before its WAL
        raise _damaged(path, Message("it is missing or empty, but its log {log} is not", log=log.name))


def _damaged(path: Path, why: Message) -> DamagedLedger:
    return DamagedLedger(
        Message("the ledger {path} cannot be used: {reason}", path=path, reason=why),
        Message(
            "stop the console and the follower, move {file} with its -wal and -shm files to another folder, and "
            "start again: recorded results are in the warehouse; runs that had not ended are no longer followed, find "
            "their jobs by name with `aisbench jobs list`",
            file=path.name,
        ),
    )


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0


@contextmanager
def _connected(path: Path) -> Iterator[sqlite3.Connection]:
    if is_read_only(path.parent):
        with temporary_copy(path) as copy, closing(_connection(copy)) as con:
            yield con
        return
    with suppress(OSError):  # SQLite's own message is clearer
        make_private_folder(path.parent)
        make_private_file(path)
    try:
        con = _connection(path)
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & PRIMARY not in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL):
            raise
        with _alone(path.parent), closing(_connection(path, exclusive=True)) as con:
            yield con
        return
    with closing(con):
        yield con


def _connection(path: Path, *, exclusive: bool = False) -> sqlite3.Connection:
    """`exclusive`: keep the WAL index in memory instead of in a shared -shm file, which needs free disk space."""
    con = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        con.row_factory = sqlite3.Row
        if exclusive:
            con.execute("pragma locking_mode = exclusive")
        con.execute(
            "pragma synchronous = full"
        )  # opens the file; and a launch must survive a power cut, because its job costs money
    except BaseException:
        con.close()
        raise
    return con


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One process and thread at a time: two connections in exclusive mode block each other."""
    handle, deadline = os.open(folder, os.O_RDONLY), time.monotonic() + BUSY_SECONDS
    try:
        while not _locked(handle):
            if time.monotonic() > deadline:
                raise AisbenchError(Message("the ledger is in use by other processes"), Message("try again"))
            time.sleep(LOOK_AGAIN_S)
        yield
    finally:
        os.close(handle)


def _locked(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _advice(reason: str) -> Message:
    if "readonly" in reason or "unable to open" in reason:
        return Message("make the file and its folder writable for this user")
    if "full" in reason or "disk I/O" in reason:
        return Message("free space and try again; nothing that was stored is lost")
    return Message("check the disk and the file's owner")
