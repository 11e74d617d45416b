"""Files around a follower's step: those of the follower before it are fetched first, and its own published after it.

So whoever goes on after a kill finds what was written before the outcome that it reads in the ledger."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from aisbench_core.base.errors import AisbenchError, CloudUnavailable, StaleRun
from aisbench_core.base.messages import Message
from aisbench_core.model import Run, RunState
from aisbench_core.store.run_folders.folders import RunFolders
from aisbench_core.store.run_folders.ledger import StaleFile
from aisbench_core.store.run_folders.parts import STATED_FILES, FolderPart

LOG = logging.getLogger(__name__)

OF_PEOPLE = (FolderPart.NOTES, *STATED_FILES)
"""Files that people change on any machine, and that a run's record holds."""


@dataclass(slots=True)
class FollowedFolders:
    """Of a follower and one profile, until another follows its runs. Threads may share it, each for runs of its own."""

    folders: RunFolders
    _followed: set[str] = field(default_factory=set)
    _late: set[str] = field(default_factory=set)

    def step(self, run: Run, step: Callable[[], Run]) -> Run:
        """The outcome of a step, whose files are published when it may be stored.

        While OBS does not answer, only the last step waits for it: what the others wrote is published with the next
        one, and could be fetched again. Raises StaleRun if somebody else published another version of a file."""
        if not self.folders.are_published:
            return step()
        before = self.folders.versions(run.run_id) if run.state is RunState.COLLECTING else {}
        self._fetch_once(run)
        try:
            after = step()
        except AisbenchError:
            self._publish_late(run)
            raise
        self._publish_run(run, after)
        if after.state.is_terminal:
            self._end_run(run, before)
        return after

    def _fetch_once(self, run: Run) -> None:
        if run.run_id in self._followed and run.state is not RunState.COLLECTING:
            return
        for error in self.folders.fetch(run.run_id):
            LOG.warning("run %s: %s", run.run_id, error)
        self._followed.add(run.run_id)

    def _publish_run(self, run: Run, after: Run) -> None:
        try:
            self.folders.publish(run.run_id)
        except StaleFile:
            self._followed.discard(run.run_id)
            raise
        except CloudUnavailable as error:
            if after.state.is_terminal:
                raise
            if run.run_id not in self._late:
                LOG.warning("run %s: its files are published later: %s", run.run_id, error)
            self._late.add(run.run_id)
        else:
            self._late.discard(run.run_id)

    def _publish_late(self, run: Run) -> None:
        try:
            self.folders.publish(run.run_id)
        except StaleFile:
            self._followed.discard(run.run_id)
        except AisbenchError as error:
            LOG.info("run %s: its files are published later: %s", run.run_id, error)

    def _end_run(self, run: Run, before: dict[str, int]) -> None:
        """Repeat the collecting if somebody changed what the record holds meanwhile."""
        after = self.folders.versions(run.run_id)
        if any(before.get(name) != after.get(name) for name in OF_PEOPLE):
            raise StaleRun(Message("run {run_id} was given up by this follower", run_id=run.run_id))
        self._followed.discard(run.run_id)
        try:
            self.folders.clear(run.run_id)
        except AisbenchError as error:
            LOG.info("run %s: left objects stay: %s", run.run_id, error)
