"""Where run folders are: on this machine only, or published on OBS, with the folder here as a copy.

Readers name what they need, and get a folder that was brought up to date at most REFRESH_SECONDS ago; without a
connection they get what is here, and `problem` says why it may be old. Writers change the folder, then publish."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from secrets import randbelow
from time import monotonic, sleep
from typing import TypeVar

from aisbench_core.base.errors import AisbenchError, CloudUnavailable, ResultError
from aisbench_core.base.messages import Message
from aisbench_core.store.run_folders.ledger import RUNS_AT_ONCE, StaleFile
from aisbench_core.store.run_folders.parts import FolderPart
from aisbench_core.store.run_folders.pieces import PublishedFile
from aisbench_core.store.run_folders.published import PublishedFiles, make_busy_error
from aisbench_core.store.run_folders.run_paths import RunFolder
from aisbench_core.store.run_folders.transfers import at_once

REFRESH_SECONDS = 2.0
# While OBS does not answer, pages wait for it only once in so long.
PAUSE_SECONDS = 15.0
WRITE_TRIES = 20
LONGEST_WAIT = 1.0
REMEMBERED = 5000

T = TypeVar("T")


class RunFolders:
    """The folders of all runs. Threads may share it."""

    def __init__(self, runs_dir: Path, published: PublishedFiles | None = None) -> None:
        self.runs_dir = runs_dir
        self._published = published
        # When each was brought up to date, and whether there was a folder afterwards.
        self._fresh: OrderedDict[tuple[str, FolderPart], tuple[float, bool]] = OrderedDict()
        self._problems: OrderedDict[tuple[str, FolderPart], Message] = OrderedDict()
        self._unreachable: tuple[float, Message] | None = None
        self._guard = threading.Lock()

    @property
    def are_published(self) -> bool:
        """Whether the folders here are copies of published ones."""
        return self._published is not None

    def path(self, run_id: str) -> RunFolder:
        """A run's folder as it is here."""
        return RunFolder(self.runs_dir / Path(run_id).name)

    def read(self, run_id: str, *parts: FolderPart) -> RunFolder:
        """A run's folder for reading these parts of it (without any: what describes the run)."""
        for part in parts or (FolderPart.RECORD,):
            self.refresh([Path(run_id).name], part)
        return self.path(run_id)

    def refresh(self, run_ids: Collection[str], part: FolderPart) -> None:
        """Bring a part of these runs' folders up to date, unless that was done just now; one query for all of them.

        Errors of fetching become a `problem`; errors of the ledger are raised."""
        if self._published is None:
            return
        due = [run_id for run_id in dict.fromkeys(run_ids) if self._is_due(run_id, part)]
        for begin in range(0, len(due), RUNS_AT_ONCE):
            batch = due[begin : begin + RUNS_AT_ONCE]
            rows = self._published.rows.of(batch, part)
            for run_id in batch:
                self._refresh_part(self._published, run_id, rows.get(run_id, []), part)

    def problem(self, run_id: str, part: FolderPart = FolderPart.RECORD) -> Message | None:
        """Why what is here of a part of a run may be old or incomplete; None while nothing is wrong."""
        with self._guard:
            return self._problems.get((run_id, part))

    def fetch(self, run_id: str, part: FolderPart = FolderPart.ALL) -> list[ResultError]:
        """Bring a part of a run's folder up to date now; returns the errors of damaged files.

        Raises CloudError and ConfigError."""
        if self._published is None:
            return []
        return _filter_damaged(self._fetch_files(self._published, run_id, part.holds, part))

    def fetch_all(self) -> Iterator[tuple[str, ResultError]]:
        """Bring what describes each published run up to date, also of runs that only the bucket has; yields what is
        damaged. Raises CloudError and ConfigError."""
        if self._published is None:
            return
        published = self._published
        published.find()
        for page in published.rows.pages():
            rows = published.rows.of(page, FolderPart.RECORD)

            def fetch(run_id: str, rows: dict[str, list[PublishedFile]] = rows) -> list[Exception]:
                return published.fetch(run_id, rows.get(run_id, []), FolderPart.RECORD.holds)

            for run_id, errors in at_once(fetch, page):
                for error in errors if isinstance(errors, list) else [errors]:
                    if not isinstance(error, ResultError):
                        raise error
                    yield run_id, error

    def publish(self, run_id: str) -> None:
        """Publish what was changed here. Raises StaleFile, CloudError and ConfigError; it can be repeated."""
        if self._published is not None:
            self._published.send(run_id)

    def update(self, run_id: str, names: Collection[str], write: Callable[[], T]) -> T:
        """Change files of a run of these names by `write`, on what is published now, and publish them.

        `write` is called again if somebody else published another version meanwhile. Raises CloudError and ConfigError:
        what was written stays here then, and is published with the next change."""
        published = self._published
        if published is None:
            return write()
        self.require_access()
        with published.locks.turn(run_id) as ours:
            if not ours:
                raise make_busy_error(run_id)
            for attempt in range(WRITE_TRIES):
                for error in self._fetch_files(published, run_id, names.__contains__, FolderPart.RECORD):
                    raise error
                result = write()
                try:
                    published.send(run_id, names)
                except StaleFile:
                    sleep(LONGEST_WAIT * attempt / WRITE_TRIES * randbelow(100) / 100)  # so that two do not meet again
                else:
                    return result
        raise StaleFile(Message("run {run_id} changes too often", run_id=run_id), Message("try again"))

    def remove(self, run_id: str, names: Collection[str]) -> None:
        """Remove files of a run that were removed here. Raises CloudError."""
        if self._published is not None and names:
            self._published.remove(run_id, names)

    def remove_run(self, run_id: str) -> None:
        """Remove everything that is published of a run. Raises CloudError."""
        if self._published is not None:
            self._published.remove_run(run_id)

    def clear(self, run_id: str) -> None:
        """Delete what killed writers left on OBS of a run that has ended. Raises CloudError."""
        if self._published is not None:
            self._published.clear(run_id)

    def removable(self, run_id: str, is_part: Callable[[str], bool]) -> dict[str, int]:
        """Published files, by name with their bytes, that are part of something."""
        if self._published is None:
            return {}
        return {
            file.name: file.size for file in self._published.rows.of([run_id]).get(run_id, []) if is_part(file.name)
        }

    def find_damaged(self, run_id: str, names: Collection[str]) -> set[str]:
        """Those of a run's files whose objects are missing or damaged. Raises CloudError and ConfigError."""
        return self._published.find_damaged(run_id, names) if self._published is not None and names else set()

    def has(self, run_id: str, name: str) -> bool:
        """Whether this file of a run is published."""
        return bool(self.removable(run_id, lambda each: each == name))

    def require_access(self) -> None:
        """Raises ConfigError, before anything is changed, where folders are published and there are no keys for it."""
        if self._published is not None:
            self._published.objects()

    def versions(self, run_id: str) -> dict[str, int]:
        """The published version of each file that describes a run."""
        if self._published is None:
            return {}
        rows = self._published.rows.of([run_id], FolderPart.RECORD).get(run_id, [])
        return {file.name: file.version for file in rows}

    def check(self) -> None:
        """Whether files can be published. Raises CloudError and ConfigError."""
        if self._published is not None:
            self._published.check()

    def _fetch_files(
        self, published: PublishedFiles, run_id: str, is_part: Callable[[str], bool], part: FolderPart
    ) -> list[Exception]:
        rows = published.rows.of([run_id], part).get(run_id, [])
        return published.fetch(run_id, [file for file in rows if is_part(file.name)], is_part)

    def _is_due(self, run_id: str, part: FolderPart) -> bool:
        now = monotonic()
        with self._guard:
            if self._unreachable and now - self._unreachable[0] < PAUSE_SECONDS:
                self._note_problem(run_id, part, self._unreachable[1])
                return False
            last = self._fresh.get((run_id, part))
            # The copy may be deleted at any time, and the page of an ended run reads it only once. All parts are due
            # then: the first that is fetched brings the folder back, not what the others hold.
            if last is not None and last[1] and not self._is_here(run_id):
                last = None
                for each in FolderPart:
                    self._fresh.pop((run_id, each), None)
            if last is not None and now - last[0] < REFRESH_SECONDS:
                return False
            self._fresh[run_id, part] = now, False
            self._fresh.move_to_end((run_id, part))
            while len(self._fresh) > REMEMBERED:
                self._fresh.popitem(last=False)
            return True

    def _refresh_part(
        self, published: PublishedFiles, run_id: str, rows: list[PublishedFile], part: FolderPart
    ) -> None:
        errors = published.fetch(run_id, rows, part.holds, wait=False)
        with self._guard:
            if (run_id, part) in self._fresh:
                self._fresh[run_id, part] = self._fresh[run_id, part][0], self._is_here(run_id)
            if not errors:
                self._unreachable = None
                self._problems.pop((run_id, part), None)
            for error in errors[:1]:
                if not isinstance(error, AisbenchError):
                    raise error
                if isinstance(error, CloudUnavailable):
                    self._unreachable = monotonic(), error.sentence
                self._note_problem(run_id, part, error.sentence)

    def _is_here(self, run_id: str) -> bool:
        return self.path(run_id).path.is_dir()

    def _note_problem(self, run_id: str, part: FolderPart, problem: Message) -> None:
        self._problems[run_id, part] = problem
        while len(self._problems) > REMEMBERED:
            self._problems.popitem(last=False)


def _filter_damaged(errors: Sequence[Exception]) -> list[ResultError]:
    """The errors of damaged files; the first other one is raised."""
    damaged = [error for error in errors if isinstance(error, ResultError)]
    for error in errors:
        if not isinstance(error, ResultError):
            raise error
    return damaged
