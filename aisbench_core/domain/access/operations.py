"""Limits how many exports, reports and imports each person has under way, over all processes of a machine."""

import fcntl
import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from aisbench_core.base.errors import TooManyOperations, full_disks_named
from aisbench_core.base.messages import Message
from aisbench_core.base.private_files import is_read_only, make_private_folder, open_private

POLL_S = 0.1


class Operations:
    """A person has as many slots as the limit says, each a file; an operation holds the lock of one.

    The system frees the locks of a process that ends, however it ends."""

    def __init__(self, data_dir: Path, most: int) -> None:
        """`most`: for each person; 0: no limit. In a read-only data folder, where no files can be, there is none."""
        self._data_dir = data_dir
        self._most = most

    @contextmanager
    def count_operation(self, who: str, wait_seconds: float = 0.0) -> Iterator[None]:
        """A context in which an operation of this person counts.

        Raises TooManyOperations if no other one ends within `wait_seconds`."""
        if not self._most or is_read_only(self._data_dir):
            yield
            return
        handle = self._acquire_slot(who, time.monotonic() + wait_seconds)
        try:
            yield
        finally:
            os.close(handle)  # which frees the lock

    def require_room(self, who: str) -> None:
        """Raises TooManyOperations if this person could not start one now."""
        with self.count_operation(who):
            pass

    def _acquire_slot(self, who: str, end: float) -> int:
        while (handle := self._free_slot(who)) is None:
            if time.monotonic() >= end:
                raise self._make_refusal(who)
            time.sleep(POLL_S)
        return handle

    def _make_refusal(self, who: str) -> TooManyOperations:
        message = Message(
            "{who} has as many exports, reports and imports under way as `operations_at_once` allows ({limit})",
            who=who,
            limit=self._most,
        )
        return TooManyOperations(message, Message("try again when one of them has ended"))

    def _free_slot(self, who: str) -> int | None:
        folder = self._data_dir / "operations"
        name = hashlib.sha256(who.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        with full_disks_named():
            make_private_folder(folder)
            handles = (_try_lock(folder / f"{name}-{number}.lock") for number in range(self._most))
            return next((handle for handle in handles if handle is not None), None)


def _try_lock(file: Path) -> int | None:
    handle = open_private(file, os.O_RDWR)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    return handle
