"""Bounded concurrency for requests."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def spread(work: Callable[[Item], Result], items: Sequence[Item], at_once: int) -> Iterator[Result]:
    """The results of `work` on each item, in order of completion, from at most `at_once` threads.

    After a failure no more work is started; the failure is raised once the running work has ended."""
    with ThreadPoolExecutor(max(1, min(at_once, len(items))), thread_name_prefix="transfer") as pool:
        try:
            for future in as_completed([pool.submit(work, item) for item in items]):
                yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)
