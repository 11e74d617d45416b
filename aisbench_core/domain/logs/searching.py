"""Searches the logs of all nodes for a pattern, and counts the lines that match."""

from collections.abc import Generator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from aisbench_core.domain.logs.lines import Line, LineFilter
from aisbench_core.domain.logs.patterns import LogPattern
from aisbench_core.domain.logs.scanning import Chunk, LogScan, Report, scan_all

# Per node. What is found more often is no answer, and counting 10 GB of it takes minutes.
MOST_COUNTED = 10_000
MOST_LINES = 100


@dataclass(frozen=True, slots=True)
class NodeHits:
    """What was found in a node's log so far: how many lines, and the first of them.

    `is_done`: the log was searched to its end, or until there were MOST_COUNTED."""

    node: int
    count: int = 0
    lines: tuple[Line, ...] = ()
    is_done: bool = False

    @property
    def has_more(self) -> bool:
        """Whether the log may have more hits than were counted."""
        return self.count >= MOST_COUNTED


def search_logs(
    logs: Mapping[int, Path],
    pattern: LogPattern,
    wanted: LineFilter,
    seconds: float | None = None,
    most_lines: int = MOST_LINES,
) -> Generator[NodeHits, None, None]:
    """What is found, node after node: at once when a log has its first hit, and again when it is done."""
    return scan_all(logs, partial(_search_one, pattern, wanted, most_lines), seconds)


def _search_one(
    pattern: LogPattern, wanted: LineFilter, most_lines: int, log: LogScan, report: Report[NodeHits]
) -> None:
    hits = NodeHits(log.node)
    try:
        for chunk in log:
            found = _with_hits(hits, chunk, pattern, wanted, most_lines)
            if found.count and not hits.count:
                report(found)
            hits = found
            if hits.has_more:
                break
    except FileNotFoundError:  # the log was removed meanwhile
        pass
    report(replace(hits, is_done=True))


def _with_hits(hits: NodeHits, chunk: Chunk, pattern: LogPattern, wanted: LineFilter, most_lines: int) -> NodeHits:
    if not pattern.may_match(chunk.buffer, chunk.size):
        return hits
    lines = [line for line in chunk.lines() if wanted.accepts(line)]
    matching = pattern.find_matching([line.text for line in lines])
    first = tuple(lines[index] for index in matching[: most_lines - len(hits.lines)])
    return replace(hits, count=hits.count + len(matching), lines=hits.lines + first)
