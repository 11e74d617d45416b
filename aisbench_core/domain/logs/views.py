"""What is shown of the logs of one or several nodes: the last lines, or those around a time or an offset."""

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain, islice
from pathlib import Path

from aisbench_core.domain.logs.lines import EARLIEST, LATEST, Line, LineFilter, LogLevel, is_continuation, line_of
from aisbench_core.domain.logs.reading import ReadBudget, line_start, read_backward, read_forward, size_of

# What one view reads at most, of all nodes together. Without a filter it needs a few blocks of each node.
BUDGET_BYTES = 8 * 1024 * 1024
# Lines without a time that belong to the one before them.
MOST_CONTINUED = 500

_PROBE_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class LogView:
    """Lines in order. `by_time`: nodes are merged; otherwise they follow each other.

    `older`, `newer`: whether there is more. `is_complete`: false if the budget ended before there were enough lines."""

    lines: tuple[Line, ...]
    by_time: bool
    older: bool
    newer: bool
    is_complete: bool = True


Logs = Mapping[int, Path]
Entry = tuple[datetime, list[Line]]
"""A line with a time and those that belong to it."""


def view_last(logs: Logs, count: int, wanted: LineFilter) -> LogView:
    """The last lines of all these logs."""
    return _build_view(logs, {node: size_of(file) for node, file in logs.items()}, count, 0, wanted)


def view_around(logs: Logs, offsets: Mapping[int, int], count: int, wanted: LineFilter) -> LogView:
    """Lines around a byte of each log: a half of them before it."""
    starts = {node: line_start(file, offsets.get(node, 0)) for node, file in logs.items()}
    return _build_view(logs, starts, count // 2, count - count // 2, wanted)


def iterate_whole(logs: Logs, starts: Mapping[int, int], wanted: LineFilter) -> Iterator[Line]:
    """All lines from these offsets on, by time or node after node, without ever holding many of them."""
    streams = [_iterate_forward(node, file, starts.get(node, 0), wanted, None) for node, file in sorted(logs.items())]
    by_time = len(logs) > 1 and all(_has_times(file, 0) for file in logs.values())
    entries = heapq.merge(*streams, key=_get_time) if by_time else chain.from_iterable(streams)
    return (line for _, lines in entries for line in lines)


def latest_time(logs: Logs) -> datetime | None:
    """The last time that a line carries, as far as the last block of each log shows."""
    return max(filter(None, map(last_time, logs.values())), default=None)


def offsets_at(logs: Logs, at: datetime) -> dict[int, int]:
    """Where each log comes to a time; logs without times are left out. Reads a few blocks of each."""
    found = {node: _offset_at(file, at) for node, file in logs.items()}
    return {node: offset for node, offset in found.items() if offset is not None}


def _build_view(logs: Logs, starts: Mapping[int, int], before: int, after: int, wanted: LineFilter) -> LogView:
    by_time = len(logs) > 1 and all(_has_times(file, starts[node]) for node, file in logs.items())
    groups = [logs] if by_time or len(logs) < 2 else [{node: file} for node, file in logs.items()]
    share = len(groups)
    parts = [
        _build_part(group, starts, -(-before // share), -(-after // share), wanted, ReadBudget(BUDGET_BYTES // share))
        for group in groups
    ]
    return LogView(
        tuple(line for part in parts for line in part.lines),
        by_time,
        any(part.older for part in parts),
        any(part.newer for part in parts),
        all(part.is_complete for part in parts),
    )


def _build_part(
    logs: Logs, starts: Mapping[int, int], before: int, after: int, wanted: LineFilter, budget: ReadBudget
) -> LogView:
    streams = [
        _iterate_backward(node, file, starts[node], wanted, budget) for node, file in sorted(logs.items(), reverse=True)
    ]
    merged = (line for _, lines in heapq.merge(*streams, key=_get_time, reverse=True) for line in reversed(lines))
    head = list(islice(merged, before + 1))
    tail: list[Line] = []
    if after:
        ahead = [_iterate_forward(node, file, starts[node], wanted, budget) for node, file in sorted(logs.items())]
        tail = list(islice((line for _, lines in heapq.merge(*ahead, key=_get_time) for line in lines), after + 1))
    shown = (*reversed(head[:before]), *tail[:after])
    return LogView(shown, len(logs) > 1, len(head) > before, len(tail) > after, budget.left > 0)


def _get_time(entry: Entry) -> datetime:
    return entry[0]


def _iterate_backward(node: int, file: Path, end: int, wanted: LineFilter, budget: ReadBudget) -> Iterator[Entry]:
    latest = LATEST
    pending: list[Line] = []
    for offset, raw in read_backward(file, end, budget):
        line = line_of(node, offset, raw)
        pending.append(line)
        if line.at or len(pending) >= MOST_CONTINUED:
            latest = min(line.at or latest, latest)  # a clock may have been set; the order of a log is never changed
            yield latest, _filter_accepted(pending[::-1], wanted)
            pending = []
    if pending:
        yield latest, _filter_accepted(pending[::-1], wanted)


def _iterate_forward(
    node: int, file: Path, start: int, wanted: LineFilter, budget: ReadBudget | None
) -> Iterator[Entry]:
    latest = EARLIEST
    pending: list[Line] = []
    for offset, raw in read_forward(file, start, budget):
        line = line_of(node, offset, raw)
        if pending and (line.at or len(pending) >= MOST_CONTINUED):
            yield latest, _filter_accepted(pending, wanted)
            pending = []
        latest = max(line.at or latest, latest)
        pending.append(line)
    if pending:
        yield latest, _filter_accepted(pending, wanted)


def _filter_accepted(lines: Sequence[Line], wanted: LineFilter) -> list[Line]:
    return [line for line in with_continued_levels(lines) if wanted.accepts(line)]


def with_continued_levels(lines: Iterable[Line]) -> Iterator[Line]:
    """The frames of a traceback have the level of its first line."""
    level = LogLevel.NONE
    for line in lines:
        if is_continuation(line) and level.severity:
            yield replace(line, level=level)
        else:
            level = line.level
            yield line


def _has_times(file: Path, near: int) -> bool:
    """Whether the lines before an offset (at the beginning of the file: the last ones) carry times.

    Those of the platform alone do not count: all that the job writes would seem to happen at one time."""
    raw_lines = islice(read_backward(file, near or None, ReadBudget(2 * _PROBE_BYTES)), MOST_CONTINUED)
    lines = (line_of(0, offset, raw) for offset, raw in raw_lines)
    return any(line.at and not line.is_system for line in lines)


def last_time(file: Path, end: int | None = None) -> datetime | None:
    """The last time that a line carries before byte `end` (of the file's end), within a few blocks."""
    lines = (line_of(0, offset, raw) for offset, raw in read_backward(file, end, ReadBudget(2 * _PROBE_BYTES)))
    return next((line.at for line in lines if line.at), None)


def _offset_at(file: Path, at: datetime) -> int | None:
    """The first line that is not before a time, by bisection: times of a log grow. None for a log without times."""
    if _next_time(file, 0) is None:
        return None
    low, high = 0, size_of(file)
    while high - low > _PROBE_BYTES:
        middle = (low + high) // 2
        found = _next_time(file, line_start(file, middle))
        if found is None or found[0] >= high or found[1] >= at:
            high = middle
        else:
            low = found[0]
    lines = (line_of(0, offset, raw) for offset, raw in read_forward(file, low, ReadBudget(4 * _PROBE_BYTES)))
    return next((line.offset for line in lines if line.at and line.at >= at), high)


def _next_time(file: Path, start: int) -> tuple[int, datetime] | None:
    """The next line with a time, within a few blocks."""
    lines = (line_of(0, offset, raw) for offset, raw in read_forward(file, start, ReadBudget(4 * _PROBE_BYTES)))
    return next(((line.offset, line.at) for line in lines if line.at), None)
