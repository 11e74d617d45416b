"""Collects the output of a node's processes into the node's log, with bounded disk use."""

import os
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

# How many bytes of a node's log are kept from its beginning; a quarter of that for one process' own file.
LOG_LIMIT = 100 << 20
# How many of the newest bytes beyond the limit are kept; they are appended at the end.
TAIL = 1 << 20
_READ = 1 << 20
_MAX_LINE = 1 << 16


class ProcessOutput:
    """The output file of one process, which appends to it while it runs.

    What was read beyond the limit is truncated, which the process does not notice."""

    def __init__(self, file: Path, limit: int) -> None:
        self._file = file
        self._limit = limit
        self._done = 0
        self._omitted = 0
        self._tail = b""
        self.skipped = 0
        self._head = file.with_name(f".{file.name}.head")

    def read_new(self, *, final: bool, is_full: Callable[[], bool]) -> Iterator[bytes]:
        """The whole lines added since the last call; an incomplete line waits for its end, or for the final call.

        Once the log `is_full`, only the newest of them."""
        if not _is_own(self._file):
            return
        with self._file.open("rb") as stream:
            # Only up to the current end: a process that prints faster than we read must not block us here.
            end = os.fstat(stream.fileno()).st_size
            while self._done < end:
                if is_full() and end - self._done > TAIL:
                    self.skipped += end - TAIL - self._done
                    self._done = end - TAIL
                stream.seek(self._done)
                chunk = stream.read(min(_READ, end - self._done))
                is_last = self._done + len(chunk) == end
                complete_file = chunk if final and is_last else _whole_lines(chunk)
                if not complete_file:
                    break
                self._done += len(complete_file)
                # Logs are sent as JSON. Whole lines only, so no character is cut in two.
                yield complete_file.decode("utf-8", "replace").encode()

    def trim(self) -> None:
        """Truncate what was read if it exceeds the limit; the beginning and the newest part are kept."""
        if self._done <= (self._limit if not self._omitted else TAIL) or not _is_own(self._file):
            return
        with self._file.open("rb") as stream:
            if not self._omitted:
                self._head.unlink(missing_ok=True)  # whatever the job has put there
                self._head.write_bytes(stream.read(self._limit))
            stream.seek(max(0, self._done - TAIL))
            self._tail = stream.read(TAIL)
        self._omitted += self._done
        # The process has opened the file for appending, so it goes on at the new end and leaves no gap.
        os.truncate(self._file, 0)
        self._done = 0

    def complete_file(self) -> Path:
        """The file to show when the process has ended: complete, or its beginning and its newest part."""
        if not self._omitted or not _is_own(self._file):
            return self._file
        rest = self._tail + self._file.read_bytes()
        with self._head.open("ab") as stream:
            stream.write(
                _describe_gap(self._omitted + self._file.stat().st_size - self._head.stat().st_size) + rest[-TAIL:]
            )
        self._omitted = 0
        return self._head.replace(self._file)


class BoundedLog:
    """A node's log in `file`: whole lines of all of its processes, and the platform's own."""

    def __init__(self, file: Path, limit: int = LOG_LIMIT) -> None:
        self._file = file
        self._limit = limit
        file.touch()
        self._size = file.stat().st_size  # a job that runs again continues its log
        self._is_mid_line = False
        self._omitted = 0
        self._tail = b""
        self._printed: dict[Path, ProcessOutput] = {}

    @property
    def size(self) -> int:
        """The file's size in bytes."""
        return self._size

    def add_line(self, text: str) -> None:
        """Add a line of the platform."""
        self._write_line(f"[ModelArts Service Log]{text}")

    def report(self, at: datetime, text: str, command: str) -> None:
        """Add a line of the platform's toolkit, in the other of its two formats; `at` is timezone-aware."""
        # The second format of platform lines in the training guide, 4.4.2; `add_line` writes the first.
        time = at.isoformat(timespec="seconds")
        origin = f'file="{command.partition("/")[2]}.go:46" Command={command}'
        owner = "Component=ma-training-toolkit Platform=ModelArts-Service"
        self._write_line(f'time="{time}" level=info msg="{text}" {origin} {owner}')

    def gather(self, outputs: Sequence[Path], *, final: bool = False) -> None:
        """Append what the node's processes have printed since the last call."""
        for output in outputs:
            printed = self._printed.setdefault(output, ProcessOutput(output, self._limit // 4))
            for lines in printed.read_new(final=final, is_full=self._is_full):
                self._add_lines(lines)
            if self._is_full():
                printed.trim()
        if final and self._omitted:
            skipped = sum(printed.skipped for printed in self._printed.values())
            self._write_content(_describe_gap(self._omitted + skipped - len(self._tail)) + self._tail)
            self._omitted, self._tail = 0, b""

    def complete_file(self, output: Path) -> Path:
        """The file to show of one process that has ended."""
        return self._printed[output].complete_file() if output in self._printed else output

    def _is_full(self) -> bool:
        return self._size >= self._limit

    def _add_lines(self, lines: bytes) -> None:
        if not self._is_full():
            self._write_content(lines)
            if self._is_full():
                self.add_line(f"the log has {self._size} bytes: of what follows, the newest part is added at the end")
            return
        self._omitted += len(lines)
        # In memory: the file already has as many bytes as it may.
        self._tail = (self._tail + lines)[-TAIL:]

    def _write_line(self, line: str) -> None:
        self._write_content(b"\n" * self._is_mid_line + line.encode() + b"\n")

    def _write_content(self, content: bytes) -> None:
        with self._file.open("ab") as stream:
            stream.write(content)
        self._size += len(content)
        self._is_mid_line = not content.endswith(b"\n")


def _is_own(file: Path) -> bool:
    """Whether it is the process' output file, and not a link that the job has put there."""
    return file.is_file() and not file.is_symlink()


def _describe_gap(size: int) -> bytes:
    return f"\n[ModelArts Service Log]{max(size, 0)} bytes are left out here\n".encode()


def _whole_lines(chunk: bytes) -> bytes:
    end = chunk.rfind(b"\n") + 1
    # A line without an end, such as a progress bar, must not be held back for ever.
    return chunk[:end] if end or len(chunk) < _MAX_LINE else chunk
