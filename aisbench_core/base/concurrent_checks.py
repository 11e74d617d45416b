"""Runs checks at the same time, and drops those that take too long."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from queue import Empty, SimpleQueue
from typing import TypeVar

T = TypeVar("T")


def run_concurrently(checks: Mapping[str, Callable[[], T]], seconds: float) -> Iterator[tuple[str, T | BaseException]]:
    """The name of each check with its result, or with what it raised, as they finish; without those that take longer.

    Threads that are still running are abandoned: name resolution of the system cannot be interrupted, and an executor
    would wait for it at the end of the process."""
    done: SimpleQueue[tuple[str, T | BaseException]] = SimpleQueue()

    def run(name: str, check: Callable[[], T]) -> None:
        try:
            done.put((name, check()))
        except BaseException as error:  # raised by whoever reads the result
            done.put((name, error))

    for name, check in checks.items():
        threading.Thread(target=run, args=(name, check), name=name, daemon=True).start()
    end = time.monotonic() + seconds
    for _ in checks:
        try:
            yield done.get(timeout=max(0.0, end - time.monotonic()))
        except Empty:
            return
