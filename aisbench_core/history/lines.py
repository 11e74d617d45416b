"""Lines of text from bytes of any size: whatever the encoding, the line ends and the colours, in constant memory."""

import codecs
import re
from collections.abc import Iterator
from typing import Protocol

CHUNK = 1024 * 1024
MOST_LINE = 64 * 1024
"""What is kept of a line, in bytes: far more than any line that is understood here has."""

STEP = 8 * 1024
"""How far one kind of line end is looked for before the other: many files have only one of them."""

_UTF16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_CONTROL = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
)


class Readable(Protocol):
    """What lines are read from; it need not be able to seek."""

    def read(self, size: int, /) -> bytes:
        """Up to `size` bytes; nothing at the end."""


def windows(file: Readable, chunk: int = CHUNK) -> Iterator[bytes]:
    """The file in parts that end where lines end; a line that is longer than MOST_LINE may be cut short already.

    A line ends with \\n, with \\r\\n, or with \\r, which is how progress bars begin anew. UTF-16, which some shells
    write, becomes UTF-8."""
    carry, skipping = b"", False
    for read in _as_utf8(file, chunk):
        part = read
        if skipping:
            end = _end(part, 0)
            if end < 0:
                continue
            part, skipping = part[end:], False
        part = carry + part
        whole = max(part.rfind(b"\n"), part.rfind(b"\r", 0, len(part) - 1)) + 1  # a \r at the end may be half of \r\n
        if whole:
            yield part[:whole]
        carry, skipping = _shortened(part[whole:])
    if carry:
        yield carry


def line_at(window: bytes, start: int) -> tuple[bytes, int]:
    """The line that begins at `start`, its line end included, and where the next one begins.

    Of a line longer than MOST_LINE, its beginning and its line end are kept."""
    end = _end(window, start)
    if end < 0:
        return window[start : start + MOST_LINE], len(window)
    after = end + (2 if window.startswith(b"\r\n", end) else 1)
    if end - start > MOST_LINE:
        return window[start : start + MOST_LINE] + window[end:after], after
    return window[start:after], after


def line_start(window: bytes, inside: int, after: int) -> int:
    """Where the line begins that this position lies in; `after` is where a line before it, or it, begins.

    What lies before that is not read again: a window without any of the two line ends would be, once for every line."""
    return max(window.rfind(b"\n", after, inside), window.rfind(b"\r", after, inside), after - 1) + 1


def lines(file: Readable) -> Iterator[str]:
    """Every line as text, with its end; a byte order mark at the beginning is left out."""
    start = len(codecs.BOM_UTF8)
    for window in windows(file):
        if not window.startswith(codecs.BOM_UTF8):
            start = 0
        while start < len(window):
            line, start = line_at(window, start)
            yield decoded(line)
        start = 0


def decoded(line: bytes) -> str:
    """A line as text. Lines are told apart one by one, because a log can hold those of several programs."""
    try:
        return codecs.utf_8_decode(line, "strict", False)[0]  # a file may end in the middle of a character
    except UnicodeDecodeError:
        return line.decode("gb18030", "replace")  # holds all of GBK


def plain(text: str) -> str:
    """The text without colours and other commands to a terminal."""
    return text if text.rstrip("\r\n").isprintable() else _CONTROL.sub("", text)


def _end(window: bytes, start: int) -> int:
    """Where the first line end is, from `start` on; -1 if there is none."""
    for step in range(start, len(window), STEP):
        newline = window.find(b"\n", step, step + STEP)
        before = window.find(b"\r", step, newline if newline >= 0 else step + STEP)
        if before >= 0 or newline >= 0:
            return before if before >= 0 else newline
    return -1


def _shortened(line: bytes) -> tuple[bytes, bool]:
    """What is kept of a line that has no end yet, and whether its rest is to be skipped."""
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
        yield from _chunks(file, head, chunk)
        return
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    for part in _chunks(file, head[2:], chunk):
        yield decoder.decode(part).encode("utf-8", "replace")


def _chunks(file: Readable, head: bytes, chunk: int) -> Iterator[bytes]:
    if head:
        yield head
    while part := file.read(chunk):
        yield part
