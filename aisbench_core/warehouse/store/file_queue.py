"""The queue in front of the warehouse file: processes open it in the order in which they came.

DuckDB refuses its lock instead of waiting for it, so of many that try again whoever is lucky gets it, and somebody
else may wait for minutes. Here only the first in the queue tries. A ticket is one byte of the queue file, locked by the
kernel: it is first when no byte before it is locked, and that of a process that dies is gone.
"""

import contextlib
import fcntl
import os
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from aisbench_core.errors import WarehouseBusy
from aisbench_core.private_files import FILE_MODE
from aisbench_core.read_only import is_read_only

RETRY_S = 0.005

IN_QUEUE = 2 / 3
"""The share of its patience for which a process queues: one that is suspended in front of it holds nothing."""

_COUNTER = struct.Struct("<q")
_HIGHEST = 2**62
"""The kernel numbers bytes with 63 bits; whoever gets past this began with a counter that is not one."""

_LOCK = struct.Struct("@hhqqi")
"""`struct flock` of fcntl(2): type, whence, start, length, process."""


def queue_of(path: Path) -> Path:
    """The queue file of a warehouse file. It may be removed at any time; then the order is lost once."""
    return path.with_name(f"{path.name}.queue")


def try_in_turn(path: Path, deadline: float, attempt: Callable[[], None]) -> None:
    """Attempt to open the file until others let go of it, and not before those who came earlier have it or gave up.

    Raises WarehouseBusy after the deadline, and whatever else the attempt raises."""
    patient_until = time.monotonic() + IN_QUEUE * (deadline - time.monotonic())
    with _ticket(path, patient_until) as is_first:
        while not is_first() and time.monotonic() < patient_until:
            time.sleep(RETRY_S)
        while True:
            try:
                attempt()
            except WarehouseBusy:
                if time.monotonic() > deadline:
                    raise
            else:
                return
            time.sleep(RETRY_S)


@contextlib.contextmanager
def _ticket(path: Path, deadline: float) -> Iterator[Callable[[], bool]]:
    """A place in the queue, which tells whether it is the first one. Without a file to queue in everybody is first, and
    so is who got no place before the deadline."""
    handle = _open(path)
    if handle is None:
        yield lambda: True
        return
    number = 0
    try:
        with contextlib.suppress(OSError):  # a full disk, or a file system without locks
            number = _next_number(handle, deadline)
        yield lambda: not number or _is_free(handle, 1, number - 1)
    finally:
        with contextlib.suppress(OSError):
            _lock(handle, fcntl.F_UNLCK, 0, 0)  # a process that was forked meanwhile has the handle, too
        os.close(handle)


def _open(path: Path) -> int | None:
    if not hasattr(fcntl, "F_OFD_SETLK"):  # only Linux has locks that belong to a handle instead of a process
        return None
    if is_read_only(path.parent):  # a queue file that is there might be writable nevertheless
        return None
    with contextlib.suppress(OSError):  # somebody who may only read, or a folder that is not there yet
        return os.open(queue_of(path), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, FILE_MODE)
    return None


def _next_number(handle: int, deadline: float) -> int:
    """Lock the byte after the last one that was given out; 0 when that was not possible before the deadline.

    Byte 0 is locked meanwhile, so that nobody gets the same, and whoever is suspended just then keeps it."""
    while not _try_lock(handle, 0):
        if time.monotonic() > deadline:
            return 0
        time.sleep(RETRY_S / 10)
    try:
        return _locked_number(handle)
    finally:
        _lock(handle, fcntl.F_UNLCK, 0, 1)


def _locked_number(handle: int) -> int:
    number = max(_last_number(handle) + 1, 2)
    while not _try_lock(handle, number):  # the counter was lost with the file's content
        number += 1
    os.pwrite(handle, _COUNTER.pack(number), 0)
    return number


def _last_number(handle: int) -> int:
    content = os.pread(handle, _COUNTER.size, 0)
    number = int(_COUNTER.unpack(content)[0]) if len(content) == _COUNTER.size else 0
    return number if number < _HIGHEST else 0


def _try_lock(handle: int, byte: int) -> bool:
    try:
        _lock(handle, fcntl.F_WRLCK, byte, 1)
    except BlockingIOError:
        return False
    return True


def _lock(handle: int, kind: int, start: int, length: int) -> None:
    fcntl.fcntl(handle, fcntl.F_OFD_SETLK, _LOCK.pack(kind, os.SEEK_SET, start, length, 0))


def _is_free(handle: int, start: int, length: int) -> bool:
    """Whether nobody else has locked any of these bytes, as far as the file system still tells."""
    try:
        answer = fcntl.fcntl(handle, fcntl.F_OFD_GETLK, _LOCK.pack(fcntl.F_RDLCK, os.SEEK_SET, start, length, 0))
    except OSError:  # a share whose file was deleted elsewhere
        return True
    return bool(_LOCK.unpack(answer[: _LOCK.size])[0] == fcntl.F_UNLCK)
