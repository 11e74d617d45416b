"""Parses logs of ais-bench-stubs and train_modelarts.py: one result per run, in one pass.

Upstream prints the directory that it runs in, its report of the results, and the block train_result_info at the end. A
log may contain any of these, of several runs, in the order in which buffers were flushed.
"""

import re
from collections.abc import Generator, Iterator
from dataclasses import replace
from datetime import tzinfo
from itertools import chain

from aisbench_core.base.messages import Message
from aisbench_core.exchange.readers.framework_logs import FrameworkLog
from aisbench_core.exchange.readers.lines import (
    MOST_LINE,
    Readable,
    decode_line,
    iter_windows,
    line_at,
    line_start,
    strip_control_codes,
)
from aisbench_core.exchange.readers.log_run import Block, LogRun, from_block, from_report, is_upstream_line
from aisbench_core.exchange.readers.mllog import MARK, MlperfLog
from aisbench_core.exchange.readers.results import ParsedResult, Results, Unread

# The reason of an Unread for a log that is not about results.
NOTHING = Message("it contains neither a line train_result_info nor a report of ais-bench-stubs or MLPerf")

MOST_UNREAD = 20  # runs without a result that are reported per log
MOST_BLOCKS_ON_A_LINE = 16

# The results that a part of a line completes, and the rest of the line as return value.
ResultsAndRest = Generator[ParsedResult | Unread, None, str]

# Every relevant line contains one of these. Searching for them is far faster than splitting all lines.
_WORDS = (
    b"train_result_info",
    b"throughput",
    b"accuracy",
    b"job_",
    b"workpath:",
    b"ConfigInfo",
    b"AISBench sandbox",
    b":::MLLOG ",
)

# The first line of every log of a sandbox, whose results are rehearsals.
_SANDBOX = "[ModelArts Service Log][init] AISBench sandbox"

_HEADER = re.compile(r"train_result_info\s*:")
_KEY = re.compile(
    r"(?:\{|(?<![ \t]))[ \t]*+"  # possessive and anchored at the first blank: linear time
    r'"(?:accuracy|throughput_ratio|(?:average|max)_power|(?:dataload|prepare|proc|total)_\w+_time)"[ \t]*:'
)


def read_log(file: Readable, source: str, zone: tzinfo) -> Results:
    """Every run in a log. A run without a result is an Unread, and so is a log without runs."""
    unread, is_empty, printed = 0, True, FrameworkLog()
    for result in _iter_results(file, source, zone, printed):
        is_empty = False
        unread += isinstance(result, Unread)
        if isinstance(result, ParsedResult) or unread <= MOST_UNREAD:
            yield result
    if is_empty:
        yield printed.build_result(source) or Unread(source, NOTHING, is_foreign=True)


def _iter_results(file: Readable, source: str, zone: tzinfo, printed: FrameworkLog) -> Results:
    parser = _LogParser(source, zone)
    completed = (result for line in _relevant_lines(file, parser, printed) for result in parser.read(line))
    for result in chain(completed, parser.end()):
        yield replace(result, rehearsal=True) if isinstance(result, ParsedResult) and parser.is_rehearsal else result


class _LogParser:
    """The state of parsing one log: the run that its lines are about, and the block that they are in."""

    def __init__(self, source: str, zone: tzinfo) -> None:
        self._source, self._zone = source, zone
        self._run = LogRun(zone)
        self._mlperf = MlperfLog(source)
        self.block: Block | None = None
        self._count = 0
        self.is_rehearsal = False

    @property
    def is_untouched(self) -> bool:
        """Whether there was no line of ais-bench-stubs or MLPerf."""
        return not (self._count or self.block or self._run.has_begun or self._run.is_measured or self._mlperf.has_begun)

    def read(self, line: str) -> Results:
        """Read a line, with its end. Yields the results that it completes."""
        self.is_rehearsal = self.is_rehearsal or _SANDBOX in line
        if MARK in line:
            yield from self._mlperf.read(line)
            return
        rest = yield from self._read_line(line)
        # Lines of several processes may be joined, so that a block ends and the next one starts in one line.
        for _ in range(MOST_BLOCKS_ON_A_LINE):
            if not rest.strip():
                return
            rest = yield from self._read_line(rest)

    def _read_line(self, line: str) -> ResultsAndRest:
        text = strip_control_codes(line)
        if self.block:
            # Only the strings of a block could look like another line of upstream's.
            is_inside = text.lstrip().startswith('"') or not (_HEADER.search(text) or is_upstream_line(text))
            if is_inside:
                return (yield from self._extend_block(self.block, line))
            yield from self._close_block(self.block)
        if "train_result_info" in line and (header := _HEADER.search(line)):
            return (yield from self._extend_block(Block(line[: header.start()]), line[header.end() :]))
        if self._run.ends_before(text):
            yield from self._flush_run()
        if not self._run.read(text) and (key := _KEY.search(text)):
            return (yield from self._extend_block(Block("", is_headless=True), text[key.start() :]))
        return ""

    def end(self) -> Results:
        """Yields the results that the end of the log completes."""
        if self.block:
            yield from self._close_block(self.block)
        yield from self._flush_run()
        yield from self._mlperf.end()

    def _extend_block(self, block: Block, line: str) -> ResultsAndRest:
        rest = block.add(line)
        self.block = None if block.is_over else block
        if block.is_over:
            yield from self._close_block(block)
        return rest

    def _close_block(self, block: Block) -> Results:
        self.block = None
        if not block.is_result(self._zone):
            if not block.is_headless:
                message = Message("a line train_result_info is followed by no values: the log is truncated")
                yield Unread(self._source, message)
            return
        self._count += 1
        yield from_block(block, self._run, self._source, self._count)
        self._run = LogRun(self._zone)

    def _flush_run(self) -> Results:
        """Ends a run without a block: its report is its result, if it has one."""
        run, self._run = self._run, LogRun(self._zone)
        if run.is_measured:
            self._count += 1
            yield from_report(run, self._source, self._count)
        elif run.has_begun:
            which = Message("job {job}", job=run.job) if run.job_id else Message("a run")
            message = Message("{run} has no result here: it failed, or the log is truncated", run=which)
            yield Unread(self._source, message)


def _relevant_lines(file: Readable, parser: _LogParser, printed: FrameworkLog) -> Iterator[str]:
    """The lines that contain one of the words, and all lines of a block. Without these, what is printed may count."""
    for window in iter_windows(file):
        if parser.is_untouched:
            printed.add(window)
        words, position = _WordSearch(window), 0
        while position < len(window):
            if not parser.block:
                hit = words.next(position)
                start = line_start(window, hit, position) if hit < len(window) else len(window)
                if hit - start > MOST_LINE:  # the word is behind the part of the line that is kept
                    position = line_at(window, start)[1]
                    continue
                position = start
                if position == len(window):
                    break
            line, position = line_at(window, position)
            yield decode_line(line)


class _WordSearch:
    """Finds the words in a window. Each is searched for again only once its last hit is passed."""

    def __init__(self, window: bytes) -> None:
        self._window = window
        self._next = dict.fromkeys(_WORDS, -1)

    def next(self, start: int) -> int:
        """The position of the first word from `start` on; the window's length if there is none."""
        for word, position in self._next.items():
            if position < start:
                hit = self._window.find(word, start)
                self._next[word] = hit if hit >= 0 else len(self._window)
        return min(self._next.values())
