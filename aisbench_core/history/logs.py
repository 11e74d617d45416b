"""Results in logs of ais-bench-stubs and train_modelarts.py: one for each run, in one pass, whatever the log's size.

Upstream prints what it read (the report), says in which directory it runs, and ends with the block train_result_info. A
log may hold any of these, for several runs, in the order in which buffers were flushed.
"""

import re
from collections.abc import Generator, Iterator
from dataclasses import replace
from datetime import tzinfo

from aisbench_core.history.found import FoundResult, Unread
from aisbench_core.history.lines import MOST_LINE, Readable, decoded, line_at, line_start, plain, windows
from aisbench_core.history.log_block import Block
from aisbench_core.history.log_result import from_block, from_report
from aisbench_core.history.log_run import LogRun, is_told
from aisbench_core.messages import Message

NOTHING = Message("it holds no line train_result_info and no report of upstream's tool")
"""Why a log is an Unread that has nothing to do with results."""

MOST_UNREAD = 20
"""Runs without a result that are worth naming in one log."""

MOST_BLOCKS_ON_A_LINE = 16

Taking = Generator[FoundResult | Unread, None, str]
"""What a piece of a line completes, and in the end what is left of the line."""

_WORDS = (
    b"train_result_info",
    b"throughput",
    b"accuracy",
    b"job_",
    b"workpath:",
    b"ConfigInfo",
    b"AISBench sandbox",
)
"""Each line that means something holds one of these. Finding them is far quicker than looking at every line."""

_SANDBOX = "[ModelArts Service Log][init] AISBench sandbox"
"""How the sandbox begins the log of every job: what such a log tells is a rehearsal."""

_HEADER = re.compile(r"train_result_info\s*:")
_KEY = re.compile(
    r"(?:\{|(?<![ \t]))[ \t]*+"  # blanks are read from their first one on only
    r'"(?:accuracy|throughput_ratio|(?:average|max)_power|(?:dataload|prepare|proc|total)_\w+_time)"[ \t]*:'
)


def read_log(file: Readable, source: str, zone: tzinfo) -> Iterator[FoundResult | Unread]:
    """Every run that a log tells of. A log without any is one Unread; so is a run that has no result."""
    unread, told = 0, False
    for each in _all(file, source, zone):
        told = True
        unread += isinstance(each, Unread)
        if isinstance(each, FoundResult) or unread <= MOST_UNREAD:
            yield each
    if not told:
        yield Unread(source, NOTHING, is_foreign=True)


def _all(file: Readable, source: str, zone: tzinfo) -> Iterator[FoundResult | Unread]:
    reading = _LogReading(source, zone)
    for line in _telling_lines(file, reading):
        yield from _stamped(reading.take(line), reading)
    yield from _stamped(reading.end(), reading)


def _stamped(found: Iterator[FoundResult | Unread], reading: "_LogReading") -> Iterator[FoundResult | Unread]:
    for each in found:
        yield replace(each, rehearsal=True) if isinstance(each, FoundResult) and reading.is_rehearsal else each


class _LogReading:
    """One log while it is being read: the run that its lines speak of, and the block that they are in."""

    def __init__(self, source: str, zone: tzinfo) -> None:
        self._source, self._zone = source, zone
        self._run = LogRun(zone)
        self.block: Block | None = None
        self._count = 0
        self.is_rehearsal = False

    def take(self, line: str) -> Iterator[FoundResult | Unread]:
        """Take a line, with its end. Yields the results that are complete now."""
        self.is_rehearsal = self.is_rehearsal or _SANDBOX in line
        rest = yield from self._take(line)
        for _ in range(MOST_BLOCKS_ON_A_LINE):
            if not rest.strip():
                return
            rest = yield from self._take(rest)

    def _take(self, line: str) -> Taking:
        text = plain(line)
        if self.block:
            if not self._breaks_off(text):
                return (yield from self._grow(self.block, line))
            yield from self._close(self.block)
        if "train_result_info" in line and (header := _HEADER.search(line)):
            return (yield from self._grow(Block(line[: header.start()]), line[header.end() :]))
        if self._run.is_over_at(text):
            yield from self._flush()
        if not self._run.take(text) and (key := _KEY.search(text)):
            return (yield from self._grow(Block("", is_headless=True), text[key.start() :]))
        return ""

    def end(self) -> Iterator[FoundResult | Unread]:
        """The log has ended. Yields what is left."""
        if self.block:
            yield from self._close(self.block)
        yield from self._flush()

    def _breaks_off(self, text: str) -> bool:
        return not text.lstrip().startswith('"') and (bool(_HEADER.search(text)) or is_told(text))

    def _grow(self, block: Block, line: str) -> Taking:
        rest = block.take(line)
        self.block = None if block.is_over else block
        if block.is_over:
            yield from self._close(block)
        return rest

    def _close(self, block: Block) -> Iterator[FoundResult | Unread]:
        self.block = None
        if not block.is_result(self._zone):
            if not block.is_headless:
                yield Unread(
                    self._source, Message("a line train_result_info is followed by no values: the log is cut off")
                )
            return
        self._count += 1
        yield from_block(block, self._run, self._source, self._count)
        self._run = LogRun(self._zone)

    def _flush(self) -> Iterator[FoundResult | Unread]:
        """The run has no block: its report is its result, if there is one."""
        run, self._run = self._run, LogRun(self._zone)
        if run.is_measured:
            self._count += 1
            yield from_report(run, self._source, self._count)
        elif run.has_begun:
            which = Message("job {job}", job=run.job) if run.job_id else Message("a run")
            yield Unread(self._source, Message("{run} has no result here: it failed, or the log is cut off", run=which))


def _telling_lines(file: Readable, reading: _LogReading) -> Iterator[str]:
    """The lines that hold one of the words, and, while a block is being read, every line."""
    for window in windows(file):
        words, place = _Words(window), 0
        while place < len(window):
            if not reading.block:
                hit = words.next(place)
                start = line_start(window, hit, place) if hit < len(window) else len(window)
                if hit - start > MOST_LINE:
                    place = line_at(window, start)[1]
                    continue
                place = start
                if place == len(window):
                    break
            line, place = line_at(window, place)
            yield decoded(line)


class _Words:
    """Where in a window the words stand; each is looked for only as far as needed."""

    def __init__(self, window: bytes) -> None:
        self._window = window
        self._next = dict.fromkeys(_WORDS, -1)

    def next(self, start: int) -> int:
        """Where the first of the words begins, from `start` on; the window's length if there is none."""
        for word, place in self._next.items():
            if place < start:
                found = self._window.find(word, start)
                self._next[word] = found if found >= 0 else len(self._window)
        return min(self._next.values())
