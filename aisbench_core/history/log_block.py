"""The text of one block train_result_info while a log is being read, from its first brace to its last."""

from datetime import tzinfo
from functools import lru_cache

from aisbench_core.history.lines import plain
from aisbench_core.results.train_result_info import KEYS, ReadBlock, read

MOST_LINES = 400
MOST_CHARACTERS = 64 * 1024
"""Far more than a block has, also when other programs print between its lines."""


class Block:
    """A block that grows line by line.

    `before` is what stands before it in its first line. A headless one began before the log does, or is a file."""

    def __init__(self, before: str, *, is_headless: bool = False) -> None:
        self.before, self.is_headless = before, is_headless
        self._parts: list[str] = []
        self._depth = self._lines = self._size = 0
        self.is_complete = self.is_over = False

    def take(self, line: str) -> str:
        """Take a line, and return what stands behind the block's end in it."""
        start = 0 if self._parts or self.is_headless else line.find("{")
        if start < 0:
            self._count(line)
            return ""
        if self.is_headless and not self._parts and not line.startswith("{"):
            self._depth = 1  # its first brace is before the log begins, or in a line that told nothing
        for place in range(start, len(line)):
            if line[place] in "{}":
                self._depth += 1 if line[place] == "{" else -1
                if self._depth == 0:
                    self._parts.append(line[start : place + 1])
                    self.is_complete = self.is_over = True
                    return line[place + 1 :]
        self._parts.append(line[start:])
        self._count(line)
        return ""

    @property
    def raw(self) -> str:
        """The block's text as the log has it."""
        return "".join(self._parts)

    def read(self, zone: tzinfo) -> ReadBlock:
        """What the block says."""
        return _read(self.raw, zone)

    def is_result(self, zone: tzinfo) -> bool:
        """Whether it says anything; without its header, only what nothing else looks like counts."""
        told = self.read(zone).told.keys() & KEYS
        return bool(told) and (not self.is_headless or "throughput_ratio" in told or len(told) > 2)

    def _count(self, line: str) -> None:
        self._lines += 1
        self._size += len(line)
        self.is_over = self._lines >= MOST_LINES or self._size >= MOST_CHARACTERS


@lru_cache(maxsize=1)
def _read(raw: str, zone: tzinfo) -> ReadBlock:
    return read(plain(raw), zone)
