"""Tasks in threads: none of them twice at the same time, each belonging to a profile or to the follower as a whole."""

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial

LOG = logging.getLogger(__name__)

EVERYTHING = ""
"""Owner of what is not about the runs of one profile."""


class Tasks:
    """Threads and what they are doing. Steps that move many bytes have threads of their own, so that no stop waits for
    an upload; so have notifications, because a recipient that does not answer takes a thread for seconds."""

    def __init__(self, threads: int) -> None:
        self.quick = ThreadPoolExecutor(threads, "step")
        self.slow = ThreadPoolExecutor(threads, "slow-step")
        self.notifying = ThreadPoolExecutor(1, "notify")
        self._guard = threading.Lock()
        self._owners: dict[str, str] = {}
        self._futures: set[Future[None]] = set()

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
        future.add_done_callback(partial(self._end, task))

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
        for pool in (self.quick, self.slow, self.notifying):
            pool.shutdown()

    def _end(self, task: str, future: Future[None]) -> None:
        with self._guard:
            self._futures.discard(future)
            self._owners.pop(task, None)
        error = future.exception()
        if error is not None:
            LOG.error("%s: the outcome could not be stored", task, exc_info=error)
