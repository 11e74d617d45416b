"""Tasks in threads: none of them twice at the same time, each belonging to a profile or to the follower as a whole."""

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial

from aisbench_core.base.errors import DiskError

LOG = logging.getLogger(__name__)

EVERYTHING = ""
"""Owner of what is not about the runs of one profile."""

DISK_LOG_SECONDS = 600


class Tasks:
    """Threads and what they are doing. Steps that move many bytes have threads of their own, so that no stop waits for
    an upload, and no result for the data of many launches to be listed; so have notifications, because a recipient that
    does not answer takes a thread for seconds."""

    def __init__(self, threads: int) -> None:
        self.quick = ThreadPoolExecutor(threads, "step")
        self.uploading = ThreadPoolExecutor(threads, "upload")
        self.collecting = ThreadPoolExecutor(threads, "collect")
        self.notifying = ThreadPoolExecutor(1, "notify")
        self._guard = threading.Lock()
        self._owners: dict[str, str] = {}
        self._futures: set[Future[None]] = set()
        self._log_from = 0.0

    def busy(self) -> frozenset[str]:
        """The tasks that have not ended."""
        with self._guard:
            return frozenset(self._owners)

    def is_idle(self, owner: str) -> bool:
        """Whether no task of a profile is running."""
        with self._guard:
            return owner not in self._owners.values()

    def start(self, owner: str, task: str, work: Callable[[], None], pool: ThreadPoolExecutor) -> None:
        """Run the work in a thread, unless the same task is still running."""
        with self._guard:
            if task in self._owners:
                return
            self._owners[task] = owner
            future = pool.submit(work)
            self._futures.add(future)
        future.add_done_callback(partial(self._end_task, task))

    def settle(self) -> None:
        """Wait until all started tasks have ended."""
        while True:
            with self._guard:
                started = set(self._futures)
            if not started:
                return
            wait(started)

    def shut_down(self) -> None:
        """Wait for all tasks, and end the threads."""
        self.settle()
        for pool in (self.quick, self.uploading, self.collecting, self.notifying):
            pool.shutdown()

    def _end_task(self, task: str, future: Future[None]) -> None:
        with self._guard:
            self._futures.discard(future)
            self._owners.pop(task, None)
        error = future.exception()
        if isinstance(error, DiskError):
            self._log_full_disk(task, error)
        elif error is not None:
            LOG.error("%s: the outcome could not be stored", task, exc_info=error)

    def _log_full_disk(self, task: str, error: DiskError) -> None:
        """Once in a while: each task fails anew every few seconds, and the entries would take what room there is."""
        now = time.monotonic()
        with self._guard:
            is_new = now >= self._log_from
            if is_new:
                self._log_from = now + DISK_LOG_SECONDS
        if is_new:
            LOG.error("%s: the outcome could not be stored, nor may those of other tasks", task, exc_info=error)
