"""Questions that are asked at once, and answered within a time or not at all."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from queue import Empty, SimpleQueue
from typing import TypeVar

Answer = TypeVar("Answer")


def answers(
    questions: Mapping[str, Callable[[], Answer]], seconds: float
) -> Iterator[tuple[str, Answer | BaseException]]:
    """Each question's name with its answer, or with what it raised, as they come; those that take longer are missing.

    The threads are left behind when the time is up: the system's name resolution cannot be interrupted, and an
    executor would wait for it at the end of the process."""
    done: SimpleQueue[tuple[str, Answer | BaseException]] = SimpleQueue()
    for name, ask in questions.items():
        threading.Thread(target=_answer, args=(name, ask, done), name=name, daemon=True).start()
    end = time.monotonic() + seconds
    for _ in questions:
        try:
            yield done.get(timeout=max(0.0, end - time.monotonic()))
        except Empty:
            return


def _answer(name: str, ask: Callable[[], Answer], done: "SimpleQueue[tuple[str, Answer | BaseException]]") -> None:
    try:
        done.put((name, ask()))
    except BaseException as error:  # raised where the answer is read
        done.put((name, error))
