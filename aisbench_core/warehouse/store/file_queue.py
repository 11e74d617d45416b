"""The queue in front of the warehouse file: processes open it in the order of their arrival.

DuckDB does not wait for its lock, so that of many processes that retry, an unlucky one may wait for minutes. Here only
the first in the queue tries. A ticket is one byte of the queue file, locked by the kernel: it is first if no byte
before it is locked, and the kernel removes the ticket of a process that dies.
"""

import contextlib
import fcntl
import os
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from aisbench_core.base.errors import WarehouseBusy
from aisbench_core.base.private_files import is_read_only, open_private

RETRY_S = 0.005

# The share of its patience for which a process queues; after that it tries anyway, as one before may be suspended.
IN_QUEUE = 2 / 3

_COUNTER = struct.Struct("<q")
# The kernel numbers bytes with 63 bits; a larger counter is damaged.
_HIGHEST = 2**62

# `struct flock` of fcntl(2): type, whence, start, length, process.
_LOCK = struct.Struct("@hhqqi")


def queue_of(path: Path) -> Path:
    """The queue file of a warehouse file. It may be removed at any time, which loses the order once."""
    return path.with_name(f"{path.name}.queue")


def try_in_turn(path: Path, deadline: float, attempt: Callable[[], None]) -> None:
    """Attempt to open the file, when it is our turn, until others release it.

    Raises WarehouseBusy after the deadline, and any other error of the attempt."""
    patient_until = time.monotonic() + IN_QUEUE * (deadline - time.monotonic())
    with _draw_ticket(path, patient_until) as is_first:
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
def _draw_ticket(path: Path, deadline: float) -> Iterator[Callable[[], bool]]:
    """A ticket of the queue, as a function that says whether it is the first one. Without a queue file every ticket is
    first, and so is one that could not be had before the deadline."""
    handle = _open_queue(path)
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
            _lock_range(handle, fcntl.F_UNLCK, 0, 0)  # closing alone does not unlock it if a fork has the handle
        os.close(handle)


def _open_queue(path: Path) -> int | None:
    if not hasattr(fcntl, "F_OFD_SETLK"):  # only on Linux locks can belong to a handle instead of a process
        return None
    if is_read_only(path.parent):  # its queue file might be writable nevertheless
        return None
    with contextlib.suppress(OSError):  # no permission to write, or no such folder yet
        return open_private(queue_of(path), os.O_RDWR | os.O_NOFOLLOW)
    return None


def _next_number(handle: int, deadline: float) -> int:
    """Lock the byte after the last ticket; 0 if that was not possible before the deadline.

    Byte 0 is locked meanwhile, so that nobody gets the same; a process that is suspended just then keeps it."""
    while not _try_lock(handle, 0):
        if time.monotonic() > deadline:
            return 0
        time.sleep(RETRY_S / 10)
    try:
        content = os.pread(handle, _COUNTER.size, 0)
        last = int(_COUNTER.unpack(content)[0]) if len(content) == _COUNTER.size else 0
        number = max(last + 1, 2) if last < _HIGHEST else 2
        while not _try_lock(handle, number):  # the file was truncated, and the counter with it
            number += 1
        os.pwrite(handle, _COUNTER.pack(number), 0)
        return number
    finally:
        _lock_range(handle, fcntl.F_UNLCK, 0, 1)


def _try_lock(handle: int, byte: int) -> bool:
    try:
        _lock_range(handle, fcntl.F_WRLCK, byte, 1)
    except BlockingIOError:
        return False
    return True


def _lock_range(handle: int, kind: int, start: int, length: int) -> None:
    fcntl.fcntl(handle, fcntl.F_OFD_SETLK, _LOCK.pack(kind, os.SEEK_SET, start, length, 0))


def _is_free(handle: int, start: int, length: int) -> bool:
    """Whether nobody else has locked any of these bytes."""
    try:
        answer = fcntl.fcntl(handle, fcntl.F_OFD_GETLK, _LOCK.pack(fcntl.F_RDLCK, os.SEEK_SET, start, length, 0))
    except OSError:  # on a network share, if another machine has deleted the file
        return True
    return bool(_LOCK.unpack(answer[: _LOCK.size])[0] == fcntl.F_UNLCK)
