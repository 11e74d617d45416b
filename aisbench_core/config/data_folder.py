"""The data folder: created for one user and closed to others, or made by an administrator for a group."""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from aisbench_core.base.errors import ConfigError
from aisbench_core.base.messages import Message
from aisbench_core.base.private_files import is_open_to_others, is_shared, make_private_folder, restrict_access
from aisbench_core.config.settings import SECRETS_FILE, Settings


def prepare_data_folder(settings: Settings) -> None:
    """Create the folder, and remove other users' rights that an older version left. Raises ConfigError.

    A read-only folder is accepted; code that stores something calls `require_writable`."""
    folder = settings.data_dir
    _require_usable_name(settings)
    try:
        make_private_folder(folder)
    except OSError as error:
        raise ConfigError(
            Message("{folder} cannot be used as the data folder: {why}", folder=folder, why=error.strerror),
            Message("set AISBENCH_DATA_DIR to another one"),
        ) from error
    if not os.access(folder, os.R_OK | os.X_OK):
        raise ConfigError(
            Message("the data folder {folder} cannot be read", folder=folder),
            Message("make it readable for this user, or set AISBENCH_DATA_DIR"),
        )
    if not _is_for_a_group(folder):
        _restrict_access(folder)
    restrict_access(_own_paths(settings))


def open_paths(settings: Settings, secrets: Path = SECRETS_FILE) -> list[Path]:
    """Paths of data and keys that other users can access. `secrets`: Streamlit's file of secrets."""
    paths = [settings.data_dir, secrets]
    if not settings.has_team_warehouse and settings.warehouse_path.parent != settings.data_dir:
        paths.insert(1, settings.warehouse_path)  # a file in another folder stays as its owner made it
    return [path for path in paths if is_open_to_others(path)]


def closed_paths(settings: Settings) -> list[Path]:
    """Paths in a shared data folder that the other accounts of its group cannot write to."""
    if not is_shared(settings.data_dir):
        return []
    needed = stat.S_IRGRP | stat.S_IWGRP
    return [path for path in _own_paths(settings) if path.exists() and path.stat().st_mode & needed != needed]


def _require_usable_name(settings: Settings) -> None:
    """DuckDB takes a question mark for the beginning of a URL's query, and looks for its log in another folder."""
    file = settings.warehouse_path.absolute()
    if "?" in str(file) and not settings.has_team_warehouse:
        raise ConfigError(
            Message("the warehouse {file} cannot be used: DuckDB allows no ? in a path", file=file),
            Message("rename the folder, or name another one in AISBENCH_DATA_DIR"),
        )


def _is_for_a_group(folder: Path) -> bool:
    """Somebody else made it so: in a group's directory, one's own folder gets these rights by chance."""
    return is_shared(folder) and (os.geteuid() == 0 or folder.stat().st_uid != os.geteuid())


def _restrict_access(folder: Path) -> None:
    # Not a shared folder that was configured by mistake: /tmp, the root, a home directory.
    facts = folder.stat()
    ours = facts.st_uid == os.geteuid() and folder not in (Path.home(), Path(folder.anchor))
    if ours and not facts.st_mode & stat.S_ISVTX:
        with suppress(OSError):  # a read-only file system
            folder.chmod(stat.S_IMODE(facts.st_mode) & ~(stat.S_IRWXG | stat.S_IRWXO))


def _own_paths(settings: Settings) -> Iterator[Path]:
    """The files and folders that we create in the folder; those deeper are protected by their folders."""
    folder = settings.data_dir
    named = ("ledger.sqlite3*", "console.log*", "warehouse.duckdb*")
    yield from (file for name in named for file in folder.glob(name))
    yield from (settings.runs_dir, settings.series_dir, settings.systems_dir)
    yield from (settings.profiles_dir, settings.rulesets_dir, folder / "sandbox")
