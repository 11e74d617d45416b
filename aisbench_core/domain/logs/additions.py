"""What was added to logs since they were read last."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from aisbench_core.domain.logs.lines import EARLIEST, Line, line_of
from aisbench_core.domain.logs.reading import PIECE_BYTES, ReadBudget, read_forward, size_of

# Of one log at a time; what is left comes with the next call.
MOST_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Added:
    """The new lines, by time where they carry one, and where to go on reading, by node."""

    lines: tuple[Line, ...]
    positions: Mapping[int, int]


def read_added(logs: Mapping[int, Path], positions: Mapping[int, int], *, ended: bool = False) -> Added:
    """The lines that begin behind these positions. A log that is shorter was begun anew, and is read anew.

    A line without an end is still being written, unless the run has `ended`."""
    lines: list[Line] = []
    after = dict(positions)
    for node, file in logs.items():
        size = size_of(file)
        position = positions.get(node, 0) if positions.get(node, 0) <= size else 0
        for offset, raw in read_forward(file, position, ReadBudget(MOST_BYTES)):
            position = offset + len(raw)
            if position >= size and not (raw.endswith(b"\n") or ended or len(raw) >= PIECE_BYTES // 2):
                position = offset
                break
            lines.append(line_of(node, offset, raw))
        after[node] = position
    return Added(tuple(_by_time(lines)), after)


def _by_time(lines: list[Line]) -> list[Line]:
    latest: dict[int, tuple[object, ...]] = {}

    def key(line: Line) -> tuple[object, ...]:
        # Lines without a time stay behind the one before them.
        latest[line.node] = max(latest.get(line.node, (EARLIEST, line.node)), (line.at or EARLIEST, line.node))
        return latest[line.node]

    return sorted(lines, key=key)
