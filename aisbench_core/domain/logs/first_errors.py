"""The first error of each rank: where a failure begins, before it spreads to the others."""

from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from aisbench_core.domain.logs.lines import ERROR_PATTERN, LATEST, Line, LogLevel, rank_of
from aisbench_core.domain.logs.patterns import LogPattern
from aisbench_core.domain.logs.scanning import Chunk, LogScan, Report, scan_all
from aisbench_core.domain.logs.views import last_time

# Behind a node's first error: the other ranks of a node fail soon after the first one.
AFTER_BYTES = 8 * 1024 * 1024

_TRACEBACK = "Traceback (most recent call last)"


@dataclass(frozen=True, slots=True)
class RankError:
    """The first error of a rank; of a whole node where lines name no rank.

    `line` is where it begins. `cause` is the exception that ends a traceback, otherwise the line's own text. `at` is
    the line's time, or the last one before it: tracebacks carry none."""

    line: Line
    rank: int | None
    cause: str
    at: datetime | None


@dataclass(frozen=True, slots=True)
class NodeErrors:
    """The first errors in a node's log."""

    node: int
    errors: tuple[RankError, ...] = ()
    is_done: bool = True


def first_errors(logs: Mapping[int, Path], seconds: float | None = None) -> Generator[NodeErrors, None, None]:
    """The first errors of each log, as they are found."""
    return scan_all(logs, _scan_one, seconds)


def in_order(found: Mapping[int, NodeErrors]) -> list[RankError]:
    """All errors, the earliest first; those without a time at the end, by node.

    The platform's lines come last: it ends the nodes that did not fail, too."""
    errors = [error for node in found.values() for error in node.errors]
    return sorted(
        errors, key=lambda error: (error.line.is_system, error.at or LATEST, error.line.node, error.line.offset)
    )


def _scan_one(log: LogScan, report: Report[NodeErrors]) -> None:
    pattern = LogPattern(ERROR_PATTERN, is_regex=True)
    found: dict[int | None, RankError] = {}
    system: dict[int | None, RankError] = {}
    end = None
    try:
        for chunk in log:
            if end is not None and chunk.offset > end:
                break
            if pattern.may_match(chunk.buffer, chunk.size):
                for error in _iterate_errors(log.file, chunk):
                    _add_error(error, system if error.line.is_system else found)
            if found and end is None:
                end = chunk.offset + AFTER_BYTES
    except FileNotFoundError:  # the log was removed meanwhile
        pass
    report(NodeErrors(log.node, tuple((found or system).values())))


def _iterate_errors(file: Path, chunk: Chunk) -> Iterator[RankError]:
    at = last_time(file, chunk.offset)
    for line in chunk.lines():
        at = line.at or at
        if line.level is LogLevel.ERROR:
            yield RankError(line, rank_of(line.text), line.text, at)


def _add_error(error: RankError, found: dict[int | None, RankError]) -> None:
    known = found.setdefault(error.rank, error)
    if _TRACEBACK in known.cause and _TRACEBACK not in error.cause:
        found[error.rank] = replace(known, cause=error.cause)
