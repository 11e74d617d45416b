"""Parts of a log by line number, from 1."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

# A log may have lines without an end, such as progress bars.
MAX_LINE_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines in the requested order; `start` and `end` are the numbers of the first and the last one."""

    start: int
    end: int
    texts: tuple[str, ...]


def newest_first(log: Path, base: int | None, count: int) -> Lines:
    """At most `count` lines before line `base`, or before the end, newest first."""
    # A deque of fixed length keeps the last lines while the file passes through, whatever its size.
    numbered = deque(_number_lines(log, None if base is None else base - 1), maxlen=count)
    return _to_lines(tuple(reversed(numbered)))


def oldest_first(log: Path, base: int | None, count: int) -> Lines:
    """At most `count` lines after line `base`, or from the beginning, oldest first."""
    return _to_lines(tuple(islice((line for line in _number_lines(log, None) if line[0] > (base or 0)), count)))


def _number_lines(log: Path, last: int | None) -> Iterator[tuple[int, str]]:
    with log.open("rb") as stream:
        for number, line in enumerate(islice(stream, last), 1):
            yield number, line[:MAX_LINE_BYTES].decode("utf-8", "replace").rstrip("\r\n")


def _to_lines(numbered: tuple[tuple[int, str], ...]) -> Lines:
    if not numbered:
        return Lines(0, 0, ())
    return Lines(numbered[0][0], numbered[-1][0], tuple(text for _, text in numbered))
