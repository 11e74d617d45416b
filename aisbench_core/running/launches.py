"""Folders of runs that are being launched: a launch that fails or is killed leaves no folder behind."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from aisbench_core.private_files import abandoned, draft_of, is_read_only, make_private_file, make_private_folder


class Launches:
    """Marks a folder as unfinished until its run is in the ledger. `is_run`: whether a run's id is in there."""

    def __init__(self, markers: Path, runs: Path, is_run: Callable[[str], bool]) -> None:
        self._markers = markers
        self._runs = runs
        self._is_run = is_run

    @contextmanager
    def unfinished(self, run_id: str) -> Iterator[None]:
        """A context in which the folder is filled and the run is stored; without a run the folder is deleted."""
        self.clear()
        make_private_folder(self._markers)
        marker = draft_of(self._markers / run_id)
        make_private_file(marker)
        try:
            yield
        finally:
            self._end(marker, run_id)

    def clear(self) -> None:
        """Delete the folders of killed launches, unless the data folder is read-only."""
        if is_read_only(self._markers):
            return
        for marker in abandoned(self._markers):
            self._end(marker, marker.name.split(".")[1])

    def _end(self, marker: Path, run_id: str) -> None:
        if not self._is_run(run_id):
            shutil.rmtree(self._runs / run_id, ignore_errors=True)
        marker.unlink(missing_ok=True)
