"""Collects the text of one block train_result_info from the lines of a log."""

from datetime import tzinfo
from functools import lru_cache

from aisbench_core.importing.readers.lines import plain
from aisbench_core.results.train_result_info import KEYS, ReadBlock, read

# Far more than a block has, even with lines of other programs in between.
MOST_LINES = 400
MOST_CHARACTERS = 64 * 1024


class Block:
    """A block that grows line by line.

    `before`: the text before it in its first line. A headless block starts before the log does, or is a whole file."""

    def __init__(self, before: str, *, is_headless: bool = False) -> None:
        self.before, self.is_headless = before, is_headless
        self._parts: list[str] = []
        self._depth = self._lines = self._size = 0
        self.is_complete = self.is_over = False

    def add(self, line: str) -> str:
        """Add a line, and return the rest of it behind the end of the block."""
        start = 0 if self._parts or self.is_headless else line.find("{")
        if start < 0:
            self._count(line)
            return ""
        if self.is_headless and not self._parts and not line.startswith("{"):
            self._depth = 1  # its first brace is before the log, or in a line that was not recognized
        for position in range(start, len(line)):
            if line[position] in "{}":
                self._depth += 1 if line[position] == "{" else -1
                if self._depth == 0:
                    self._parts.append(line[start : position + 1])
                    self.is_complete = self.is_over = True
                    return line[position + 1 :]
        self._parts.append(line[start:])
        self._count(line)
        return ""

    @property
    def raw(self) -> str:
        """The block's text as in the log."""
        return "".join(self._parts)

    def read(self, zone: tzinfo) -> ReadBlock:
        """The parsed block."""
        return _parsed(self.raw, zone)

    def is_result(self, zone: tzinfo) -> bool:
        """Whether it has values. Without a header, other JSON could have one or two of its keys by chance."""
        keys = self.read(zone).texts.keys() & KEYS
        return bool(keys) and (not self.is_headless or "throughput_ratio" in keys or len(keys) > 2)

    def _count(self, line: str) -> None:
        self._lines += 1
        self._size += len(line)
        self.is_over = self._lines >= MOST_LINES or self._size >= MOST_CHARACTERS


@lru_cache(maxsize=1)  # every block is parsed twice: to see whether it is one, and for its result
def _parsed(raw: str, zone: tzinfo) -> ReadBlock:
    return read(plain(raw), zone)
