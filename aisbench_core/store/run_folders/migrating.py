"""The way of run folders that are here already onto OBS: each can be repeated, and sends what is not there yet."""

from dataclasses import dataclass

from aisbench_core.base.errors import ConfigError
from aisbench_core.base.messages import Message
from aisbench_core.cloud.ports import OnProgress
from aisbench_core.domain.access import permitted
from aisbench_core.domain.access.changes import log_change
from aisbench_core.model import Actor
from aisbench_core.store.run_folders.folders import RunFolders


@dataclass(frozen=True, slots=True)
class FolderPublishing:
    """Publishes all folders of this machine."""

    folders: RunFolders

    @permitted
    def publish(self, on_progress: OnProgress, actor: Actor) -> int:
        """Publish every run folder of this machine; returns their number. After an interruption, call it again.

        A file of which another version is published is replaced by that. Raises CloudError and ConfigError."""
        if not self.folders.are_published:
            hint = Message("set run_folders to obs://bucket/prefix, and ledger to postgresql://user@host/database")
            raise ConfigError(Message("run folders stay on this machine"), hint)
        log_change(actor, "publication of all run folders")
        runs_dir = self.folders.runs_dir
        run_ids = sorted(folder.name for folder in runs_dir.iterdir() if folder.is_dir()) if runs_dir.is_dir() else []
        for done, run_id in enumerate(run_ids, start=1):
            for error in self.folders.fetch(run_id):
                raise error
            self.folders.publish(run_id)
            on_progress(done, len(run_ids))
        return len(run_ids)
