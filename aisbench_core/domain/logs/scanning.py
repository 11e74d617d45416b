"""Reads whole logs, two at a time, in parts of whole lines, until the work is done or its time is over."""

import os
import queue
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeVar

from aisbench_core.domain.logs.lines import Line, line_of
from aisbench_core.domain.logs.reading import safe_cut

WORKERS = 2
CHUNK_BYTES = 1024 * 1024
SMALL_CHUNK_BYTES = 32 * 1024
# A part that took longer is followed by a smaller one, so that nobody waits long for the end of a scan.
CHUNK_SECONDS = 0.05
# A match that spans two parts of a line without an end is found up to this length.
OVERLAP_BYTES = 1024


class NodeResult(Protocol):
    """What was found in one log so far."""

    @property
    def node(self) -> int: ...
    @property
    def is_done(self) -> bool: ...


R = TypeVar("R", bound=NodeResult)
Report = Callable[[R], None]


@dataclass(slots=True)
class Chunk:
    """Whole lines of a log: the first `size` bytes of a buffer that the next chunk overwrites.

    Of a line without an end it is a part, which begins with the end of the part before it."""

    node: int
    offset: int
    buffer: bytearray
    size: int

    def lines(self) -> list[Line]:
        """The lines, decoded; this takes a hundred times as long as reading them."""
        lines, offset = [], self.offset
        for raw in bytes(memoryview(self.buffer)[: self.size]).splitlines(keepends=True):
            lines.append(line_of(self.node, offset, raw))
            offset += len(raw)
        return lines


@dataclass(slots=True)
class LogScan:
    """The chunks of one log. Their size follows the time that each took."""

    node: int
    file: Path
    stop: threading.Event
    _size: int = SMALL_CHUNK_BYTES
    _buffer: bytearray = field(default_factory=bytearray)

    def __iter__(self) -> Iterator[Chunk]:
        self._buffer = bytearray(CHUNK_BYTES + 2 * SMALL_CHUNK_BYTES)  # not before: many logs wait for their turn
        offset = held = covered = 0
        with self.file.open("rb", buffering=0) as log:
            while not self.stop.is_set():
                with memoryview(self._buffer) as view:
                    read = os.preadv(log.fileno(), [view[held : held + self._size]], offset + held)
                held += read
                end, following = self._find_borders(held) if read else (held, held)
                if read and not end:
                    continue
                if offset + end <= covered:
                    return
                start = time.monotonic()
                yield Chunk(self.node, offset, self._buffer, end)
                self._adapt_size(time.monotonic() - start)
                covered = offset + end
                self._buffer[: held - following] = self._buffer[following:held]
                offset, held = offset + following, held - following

    def _find_borders(self, held: int) -> tuple[int, int]:
        """Where this chunk ends and where the next one begins: after the last whole line. 0: more has to be read."""
        end = self._buffer.rfind(b"\n", 0, held) + 1
        if end or held < CHUNK_BYTES:
            return end, end
        end = safe_cut(self._buffer, max(1, held - OVERLAP_BYTES), held)
        return end, max(1, end - OVERLAP_BYTES)

    def _adapt_size(self, seconds: float) -> None:
        if seconds < CHUNK_SECONDS:
            self._size = min(CHUNK_BYTES, self._size * 4)
        else:
            self._size = max(SMALL_CHUNK_BYTES, self._size // 4)


def scan_all(
    logs: Mapping[int, Path], scan: Callable[[LogScan, Report[R]], None], seconds: float | None
) -> Generator[R, None, None]:
    """The results that `scan` reports for each log, as they come; the last one of a log is done.

    Ends after `seconds`, or when the iterator is closed; logs without a last result were not read to their end."""
    stop, results = threading.Event(), queue.SimpleQueue[R | Exception]()
    end = None if seconds is None else time.monotonic() + seconds
    pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="log-scan")
    try:
        for node, file in sorted(logs.items()):
            pool.submit(_scan_one, LogScan(node, file, stop), scan, results)
        unfinished = set(logs)
        while unfinished:
            try:
                found = results.get(timeout=None if end is None else max(0.0, end - time.monotonic()))
            except queue.Empty:
                return
            if isinstance(found, Exception):
                raise found
            unfinished -= {found.node} if found.is_done else set()
            yield found
    finally:
        stop.set()
        pool.shutdown(wait=False, cancel_futures=True)


def _scan_one(
    log: LogScan, scan: Callable[[LogScan, Report[R]], None], results: "queue.SimpleQueue[R | Exception]"
) -> None:
    try:
        scan(log, results.put)
    except Exception as error:  # noqa: BLE001, RUF100  # raised again where the answer is awaited
        results.put(error)
