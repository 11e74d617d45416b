"""Reads logs from any byte on, forwards and backwards, in bounded memory: a line may have no end, and a file 10 GB.

Files are opened for each read: a view of 512 nodes holds no descriptors, and a log that is begun anew is read anew.
Never mapped into memory, because a mapped file that shrinks ends the process."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

BLOCK_BYTES = 64 * 1024
# The first blocks are smaller: of each of 512 nodes, a few lines are needed.
FIRST_BYTES = 8 * 1024
# Longer lines come in pieces.
PIECE_BYTES = 64 * 1024

# Bytes below this one are never part of a character of several bytes, neither in UTF-8 nor in GBK.
_LONE = 0x40
_CUT_WINDOW = 4096
_ANSI_BYTES = 64

RawLine = tuple[int, bytes]
"""The offset of the first byte, and the bytes with the end of the line."""


@dataclass(slots=True)
class ReadBudget:
    """How many bytes may still be read for one answer."""

    left: int

    def take(self, size: int) -> bool:
        """Whether that many may be read; from the first refusal on, nothing may."""
        self.left = self.left - size if self.left >= size else 0
        return self.left > 0


def size_of(file: Path) -> int:
    """The size of a file; 0 if there is none."""
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0


def state_of(file: Path) -> tuple[int, int, int]:
    """Changes when the file is written, or replaced; zeros if there is none."""
    try:
        stat = file.stat()
    except FileNotFoundError:
        return 0, 0, 0
    return stat.st_ino, stat.st_mtime_ns, stat.st_size


def read_at(file: Path, start: int, size: int) -> bytes:
    """At most `size` bytes from an offset on; nothing behind the end, or if there is no file."""
    try:
        with file.open("rb", buffering=0) as log:
            return os.pread(log.fileno(), size, start)
    except FileNotFoundError:
        return b""


def read_forward(file: Path, start: int, budget: ReadBudget | None = None) -> Iterator[RawLine]:
    """The lines from byte `start` on, which is taken for the beginning of one."""
    offset, rest, size = start, b"", FIRST_BYTES
    while block := read_at(file, offset + len(rest), size):
        if budget and not budget.take(len(block)):
            return
        size = min(2 * size, BLOCK_BYTES)
        *lines, rest = (rest + block).splitlines(keepends=True)  # the end of the last one may be still to come
        for line in lines:
            yield offset, line
            offset += len(line)
        if len(rest) >= PIECE_BYTES:
            cut = safe_cut(rest, len(rest) - _CUT_WINDOW, len(rest))
            yield offset, rest[:cut]
            offset, rest = offset + cut, rest[cut:]
    if rest:
        yield offset, rest


def read_backward(file: Path, end: int | None = None, budget: ReadBudget | None = None) -> Iterator[RawLine]:
    """The lines before byte `end` (of the file's end), the last one first."""
    offset, rest, size = size_of(file) if end is None else end, b"", FIRST_BYTES
    while offset > 0:
        size = min(size, offset)
        if budget and not budget.take(size):
            return
        block = read_at(file, offset - size, size)
        if len(block) < size:  # the log was begun anew meanwhile
            return
        offset, size = offset - size, min(2 * size, BLOCK_BYTES)
        rest, *lines = (block + rest).splitlines(keepends=True)  # the beginning of the first one is still to come
        position = offset + len(rest) + sum(map(len, lines))
        for line in reversed(lines):
            position -= len(line)
            yield position, line
        if len(rest) >= PIECE_BYTES:
            cut = safe_cut(rest, 1, _CUT_WINDOW)
            yield offset + cut, rest[cut:]
            rest = rest[:cut]
    if rest:
        yield offset, rest


def line_start(file: Path, offset: int) -> int:
    """Where the line begins that has this byte; not far before it if the line has no end."""
    offset = min(max(offset, 0), size_of(file))
    for reach in (_CUT_WINDOW, PIECE_BYTES):
        begin = max(0, offset - reach)
        before = read_at(file, begin, offset - begin)
        newline = max(before.rfind(b"\n"), before.rfind(b"\r"))
        if newline >= 0 or not begin:
            return begin + newline + 1
    return begin + safe_cut(before, 1, _CUT_WINDOW)


def safe_cut(part: bytes | bytearray, low: int, high: int) -> int:
    """An index from `low` to `high` that splits neither a character nor a colour sequence, if there is one."""
    escape = part.rfind(b"\x1b", low, high)
    if escape > 0:
        return escape
    # The first bytes may be the rest of a sequence.
    lone = (index for index in range(high, min(low + _ANSI_BYTES, high), -1) if part[index - 1] < _LONE)
    starts = (index for index in range(high, low, -1) if index == len(part) or part[index] & 0xC0 != 0x80)
    return next(chain(lone, starts), high)
