"""The files in run folders: logs, metrics, and the record."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from aisbench_core.errors import DamagedLedger, ResultError
from aisbench_core.model import MetricSample, RunRecord
from aisbench_core.results.record import Unread, read_annotations, read_record, read_samples, read_stated
from aisbench_core.running import logs
from aisbench_core.running.ledger import Ledger
from aisbench_core.running.run_paths import RunFolder


class RunFiles:
    """The folders of all runs. Every method about one run raises RunNotFound."""

    def __init__(self, runs_dir: Path, ledger: Ledger) -> None:
        self._runs_dir = runs_dir
        self._ledger = ledger

    def nodes(self, run_id: str) -> list[int]:
        """The nodes that have a log."""
        return logs.nodes(self._folder(run_id))

    def log_tail(self, run_id: str, node: int, lines: int = 200) -> str:
        """The last lines of a node's log."""
        return logs.tail(self._folder(run_id).log(node), lines)

    def log_read(self, run_id: str, node: int, start: int) -> tuple[str, int]:
        """A node's log from byte `start` on (at most 1 MB), and the offset of the next read."""
        return logs.read(self._folder(run_id).log(node), start)

    def samples(self, run_id: str) -> list[MetricSample]:
        """The metrics sampled so far."""
        return read_samples(self._folder(run_id).metrics)

    def record(self, run_id: str) -> RunRecord | None:
        """The run's record, or None before it was collected. Raises ResultError when the files are damaged."""
        folder = self._folder(run_id)
        if not folder.record.exists():
            return None
        return _record(folder)

    def records(self, unread: Unread | None = None) -> Iterator[RunRecord]:
        """Every record under data/runs/, by run id; no ledger is needed, so the warehouse survives a lost one.

        `unread` is called with the folder and the error of each damaged one; without it, ResultError is raised."""
        for path in sorted(self._runs_dir.glob("*/record.json")):
            try:
                yield _record(RunFolder(path.parent))
            except ResultError as error:
                if unread is None:
                    raise
                unread(path.parent.name, error)

    def _folder(self, run_id: str) -> RunFolder:
        try:
            name = self._ledger.get(run_id).run_id
        except DamagedLedger:
            if not (self._runs_dir / Path(run_id).name).is_dir():
                raise
            name = run_id
        return RunFolder(self._runs_dir / Path(name).name)


def _record(folder: RunFolder) -> RunRecord:
    stored = read_record(folder.record, folder.metrics, folder.events)
    return replace(stored, described=read_stated(folder.path), remarks=read_annotations(folder.path))
