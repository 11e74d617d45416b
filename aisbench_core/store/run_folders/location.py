"""Where the settings want run folders: in the data folder, or on OBS with the rows in a team's ledger."""

from functools import partial

from aisbench_core.base.errors import ConfigError
from aisbench_core.base.messages import Message
from aisbench_core.cloud.ports import Connect, ObjectStore
from aisbench_core.config.settings import Settings
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.store.run_folders.cache import CacheLocks
from aisbench_core.store.run_folders.folders import RunFolders
from aisbench_core.store.run_folders.ledger import FileLedger
from aisbench_core.store.run_folders.published import PublishedFiles

SCHEME = "obs://"
RUNS = "runs/"


def run_folders(settings: Settings, ledger: Ledger, connect: Connect) -> RunFolders:
    """The folders of all runs. Raises ConfigError when the settings do not fit together; nothing is sent yet."""
    if not settings.run_folders:
        return RunFolders(settings.runs_dir)
    if not settings.has_team_ledger:
        raise ConfigError(
            Message("run_folders is {found}, but the ledger is a file", found=settings.run_folders),
            Message("set ledger to postgresql://user@host/database for all machines, or remove run_folders"),
        )
    objects = partial(_connect_objects, settings.run_folders_profile or settings.profile, connect)
    locks = CacheLocks(settings.data_dir / "publishing")
    published = PublishedFiles(settings.runs_dir, directory_of(settings), FileLedger(ledger), objects, locks)
    return RunFolders(settings.runs_dir, published)


def directory_of(settings: Settings) -> str:
    """The directory of all run folders: /bucket/prefix/runs/"""
    return f"/{settings.run_folders.removeprefix(SCHEME).strip('/')}/{RUNS}"


def _connect_objects(profile: str, connect: Connect) -> ObjectStore:
    try:
        return connect(profile).objects
    except ConfigError as error:
        message = Message("run folders on OBS cannot be reached with profile {profile}: {reason}", profile=profile,
                          reason=error.message)  # fmt: skip
        raise ConfigError(message, error.hint) from error
