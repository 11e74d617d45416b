"""The first error of each rank: where a failure begins, before it spreads to the others."""

from collections.abc import Generator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from aisbench_core.logs.lines import ERROR_PATTERN, LATEST, Line, LogLevel, rank_of
from aisbench_core.logs.patterns import LogPattern
from aisbench_core.logs.scanning import LogScan, Report, scan_all

# Behind a node's first error: the other ranks of a node fail soon after the first one.
AFTER_BYTES = 8 * 1024 * 1024

_TRACEBACK = "Traceback (most recent call last)"


@dataclass(frozen=True, slots=True)
class RankError:
    """The first error of a rank; of a whole node where lines name no rank.

    `line` is where it begins. `cause` is the exception that ends a traceback, otherwise the line's own text."""

    line: Line
    rank: int | None
    cause: str


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
    """All errors, the earliest first; those without a time at the end, by node."""
    errors = [error for node in found.values() for error in node.errors]
    return sorted(errors, key=lambda error: (error.line.at or LATEST, error.line.node, error.line.offset))


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
                lines = [line for line in chunk.lines() if line.level is LogLevel.ERROR]
                _add([line for line in lines if not line.is_system], found)
                _add([line for line in lines if line.is_system], system)
            if found and end is None:
                end = chunk.offset + AFTER_BYTES
    except FileNotFoundError:  # the log was removed meanwhile
        pass
    report(NodeErrors(log.node, tuple((found or system).values())))


def _add(lines: list[Line], found: dict[int | None, RankError]) -> None:
    for line in lines:
        rank = rank_of(line.text)
        known = found.get(rank)
        if known is None:
            found[rank] = RankError(line, rank, line.text)
        elif _TRACEBACK in known.cause and _TRACEBACK not in line.text:
            found[rank] = replace(known, cause=line.text)
