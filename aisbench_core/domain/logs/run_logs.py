"""The logs of a run: what pages and commands read."""

from collections.abc import Callable, Collection, Generator, Hashable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from aisbench_core.domain.logs import first_errors, searching, views
from aisbench_core.domain.logs.additions import Added, read_added
from aisbench_core.domain.logs.lines import Line, LineFilter
from aisbench_core.domain.logs.moments import moment_of
from aisbench_core.domain.logs.patterns import LogPattern
from aisbench_core.domain.logs.reading import size_of, state_of

EVERYTHING = LineFilter()


@dataclass(frozen=True, slots=True)
class RunLogs:
    """The logs of all runs. `files` gives those of one run by node; every method raises RunNotFound.

    `nodes`: which ones; None for all that have a log."""

    files: Callable[[str], Mapping[int, Path]]

    def sizes(self, run_id: str, nodes: Collection[int] | None = None) -> dict[int, int]:
        """The bytes of each log so far."""
        return {node: size_of(file) for node, file in self._select_files(run_id, nodes).items()}

    def revision(self, run_id: str, nodes: Collection[int] | None = None) -> Hashable:
        """Changes with every change of a log."""
        return tuple((node, *state_of(file)) for node, file in sorted(self._select_files(run_id, nodes).items()))

    def last(
        self, run_id: str, count: int, nodes: Collection[int] | None = None, wanted: LineFilter = EVERYTHING
    ) -> views.LogView:
        """The last lines, of several nodes by time where lines carry one."""
        return views.view_last(self._select_files(run_id, nodes), count, wanted)

    def around(self, run_id: str, node: int, offset: int, count: int, wanted: LineFilter = EVERYTHING) -> views.LogView:
        """Lines around a byte of one node's log."""
        return views.view_around(self._select_files(run_id, [node]), {node: offset}, count, wanted)

    def at(
        self,
        run_id: str,
        at: datetime,
        count: int,
        nodes: Collection[int] | None = None,
        wanted: LineFilter = EVERYTHING,
    ) -> views.LogView | None:
        """Lines around a time, as the lines write it; None if no line of these nodes has one."""
        logs = self._select_files(run_id, nodes)
        offsets = views.offsets_at(logs, at)
        if not offsets:
            return None
        return views.view_around({node: logs[node] for node in offsets}, offsets, count, wanted)

    def whole(
        self,
        run_id: str,
        nodes: Collection[int] | None = None,
        wanted: LineFilter = EVERYTHING,
        since: datetime | None = None,
    ) -> Iterator[Line]:
        """All lines, or those from a time on of the nodes whose lines carry one; read while they are taken."""
        logs = self._select_files(run_id, nodes)
        if since is None:
            return views.iterate_whole(logs, {}, wanted)
        offsets = views.offsets_at(logs, since)
        return views.iterate_whole({node: logs[node] for node in offsets}, offsets, wanted)

    def read_added(
        self, run_id: str, positions: Mapping[int, int], nodes: Collection[int] | None = None, *, ended: bool = False
    ) -> Added:
        """What was added behind these positions, by node; `ended`: nobody writes any more."""
        return read_added(self._select_files(run_id, nodes), positions, ended=ended)

    def moment(self, run_id: str, text: str, nodes: Collection[int] | None = None) -> datetime:
        """The time that a person names. Raises LogTimeError."""
        return moment_of(text, views.latest_time(self._select_files(run_id, nodes)))

    def search(
        self,
        run_id: str,
        pattern: LogPattern,
        nodes: Collection[int] | None = None,
        wanted: LineFilter = EVERYTHING,
        seconds: float | None = None,
        most_lines: int = searching.MOST_LINES,
    ) -> Generator[searching.NodeHits, None, None]:
        """What is found, as it is found; ends after `seconds`."""
        return searching.search_logs(self._select_files(run_id, nodes), pattern, wanted, seconds, most_lines)

    def first_errors(self, run_id: str, seconds: float | None = None) -> dict[int, first_errors.NodeErrors]:
        """The first errors of each node's log; nodes that were not read in time are missing."""
        return {found.node: found for found in first_errors.first_errors(self.files(run_id), seconds)}

    def _select_files(self, run_id: str, nodes: Collection[int] | None) -> dict[int, Path]:
        return {node: file for node, file in self.files(run_id).items() if nodes is None or node in nodes}
