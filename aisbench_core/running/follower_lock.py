"""The lock that decides which process follows; nobody holds it while the data folder is read-only."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from aisbench_core.private_files import is_read_only

LOCK_SECONDS = 0.5


class FollowerLock:
    """The lock in the data folder."""

    def __init__(self, file: Path) -> None:
        self._folder = file.parent
        self._lock = FileLock(file)

    @contextmanager
    def attempt(self, stop: threading.Event) -> Iterator[bool]:
        """Try for LOCK_SECONDS to hold the lock for the duration of the context. Yields whether it is held."""
        if not self._acquire(stop):
            yield False
            return
        try:
            yield True
        finally:
            self._lock.release()

    def _acquire(self, stop: threading.Event) -> bool:
        if is_read_only(self._folder):
            stop.wait(LOCK_SECONDS)
            return False
        try:
            self._lock.acquire(LOCK_SECONDS)
        except Timeout:
            return False
        return True
