"""Splits files of any size, encoding and line end into lines, in constant memory."""

import codecs
import re
from collections.abc import Iterator
from typing import Protocol

CHUNK = 1024 * 1024
MOST_LINE = 64 * 1024  # bytes; longer lines are cut, none of which is one of upstream's
# Bytes to search for one kind of line end before the other: many files have only one of them, and searching the whole
# window for the other kind would make every line cost a window.
STEP = 8 * 1024

_UTF16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_CONTROL = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
)


class Readable(Protocol):
    """A file, which need not be seekable."""

    def read(self, size: int, /) -> bytes:
        """Up to `size` bytes; empty at the end."""


def iter_windows(file: Readable, chunk: int = CHUNK) -> Iterator[bytes]:
    """The file in parts that end at line ends; lines longer than MOST_LINE may be cut.

    A line ends with \\n, \\r\\n, or \\r, with which progress bars start over. UTF-16, which PowerShell writes, becomes
    UTF-8."""
    carry, skipping = b"", False
    for chunk_read in _as_utf8(file, chunk):
        part = chunk_read
        if skipping:
            end = _find_line_end(part, 0)
            if end < 0:
                continue
            part, skipping = part[end:], False
        part = carry + part
        whole = max(part.rfind(b"\n"), part.rfind(b"\r", 0, len(part) - 1)) + 1  # a \r at the end may be half of \r\n
        if whole:
            yield part[:whole]
        carry, skipping = _shorten_line(part[whole:])
    if carry:
        yield carry


def line_at(window: bytes, start: int) -> tuple[bytes, int]:
    """The line that starts at `start`, with its line end, and the start of the next one.

    A line longer than MOST_LINE is cut, but keeps its line end."""
    end = _find_line_end(window, start)
    if end < 0:
        return window[start : start + MOST_LINE], len(window)
    after = end + (2 if window.startswith(b"\r\n", end) else 1)
    if end - start > MOST_LINE:
        return window[start : start + MOST_LINE] + window[end:after], after
    return window[start:after], after


def line_start(window: bytes, inside: int, after: int) -> int:
    """The start of the line that contains the position `inside`; `after` is the start of it or of an earlier line.

    Searching further back than `after` would read a window that lacks one kind of line end once per line."""
    return max(window.rfind(b"\n", after, inside), window.rfind(b"\r", after, inside), after - 1) + 1


def iter_lines(file: Readable) -> Iterator[str]:
    """Every line as text, with its end, without a byte order mark at the beginning."""
    start = len(codecs.BOM_UTF8)
    for window in iter_windows(file):
        if not window.startswith(codecs.BOM_UTF8):
            start = 0
        while start < len(window):
            line, start = line_at(window, start)
            yield decode_line(line)
        start = 0


def decode_line(line: bytes) -> str:
    """A line as text. The encoding is detected per line, because a log can contain lines of several programs."""
    try:
        return codecs.utf_8_decode(line, "strict", False)[0]  # not final: a file may end within a character
    except UnicodeDecodeError:
        return line.decode("gb18030", "replace")  # includes GBK


def strip_control_codes(text: str) -> str:
    """The text without colours and other terminal control sequences."""
    return text if text.rstrip("\r\n").isprintable() else _CONTROL.sub("", text)


def _find_line_end(window: bytes, start: int) -> int:
    """The position of the first line end from `start` on; -1 if there is none."""
    for step in range(start, len(window), STEP):
        newline = window.find(b"\n", step, step + STEP)
        before = window.find(b"\r", step, newline if newline >= 0 else step + STEP)
        if before >= 0 or newline >= 0:
            return before if before >= 0 else newline
    return -1


def _shorten_line(line: bytes) -> tuple[bytes, bool]:
    """The beginning of a line whose end is not read yet, and whether the rest of it is to be skipped."""
    text = line.removesuffix(b"\r")
    if len(text) <= MOST_LINE:
        return line, False
    return text[:MOST_LINE] + line[len(text) :], len(text) == len(line)


def _as_utf8(file: Readable, chunk: int) -> Iterator[bytes]:
    head = file.read(chunk)
    while 0 < len(head) < 2:
        more = file.read(chunk)
        if not more:
            break
        head += more
    encoding = _UTF16.get(head[:2])
    if not encoding:
        yield from _iter_chunks(file, head, chunk)
        return
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    for part in _iter_chunks(file, head[2:], chunk):
        yield decoder.decode(part).encode("utf-8", "replace")


def _iter_chunks(file: Readable, head: bytes, chunk: int) -> Iterator[bytes]:
    if head:
        yield head
    while part := file.read(chunk):
        yield part
