"""Launches under way: a run's folder is filled before its run is stored, and goes if it never is."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from aisbench_core.base.errors import AisbenchError
from aisbench_core.base.private_files import (
    draft_of,
    find_abandoned,
    is_read_only,
    make_private_file,
    make_private_folder,
)
from aisbench_core.store.run_folders.folders import RunFolders


@dataclass(frozen=True, slots=True)
class Launches:
    """Folders of runs that are being launched: a launch that fails or is killed leaves no folder behind.

    A folder is marked as unfinished until its run is in the ledger; `is_run`: whether a run's id is in there.
    `left`: markers of this process whose folders could not be deleted yet, for instance because a full disk closes the
    ledger, too."""

    markers: Path
    folders: RunFolders
    is_run: Callable[[str], bool]
    left: set[Path] = field(default_factory=set, compare=False)

    @contextmanager
    def prepare_run(self, run_id: str) -> Iterator[None]:
        """A context in which the folder is filled and the run is stored; without a run the folder is deleted."""
        self.clear()
        make_private_folder(self.markers)
        marker = draft_of(self.markers / run_id)
        make_private_file(marker)
        try:
            yield
        finally:
            self._end_launch(marker, run_id)

    def clear(self) -> None:
        """Delete what killed and refused launches left, unless the data folder is read-only."""
        if is_read_only(self.markers):
            return
        for marker in {*find_abandoned(self.markers), *self.left}:
            self._end_launch(marker, marker.name.split(".")[1])

    def _end_launch(self, marker: Path, run_id: str) -> None:
        self.left.add(marker)
        if not self.is_run(run_id):
            shutil.rmtree(self.folders.path(run_id).path, ignore_errors=True)
            try:
                self.folders.remove_run(run_id)
            except AisbenchError:  # the next launch tries again
                return
        marker.unlink(missing_ok=True)
        self.left.discard(marker)
