"""Read-only folders: whether one is, and the error of everything that would store there."""

import os
from pathlib import Path

from aisbench_core.errors import ReadOnlyFolder
from aisbench_core.messages import Message


def is_read_only(folder: Path) -> bool:
    """Whether the folder exists and nothing can be stored in it. Never cached: mounts change."""
    return os.path.isdir(folder) and not os.access(folder, os.W_OK | os.X_OK)  # noqa: PTH112  # is_dir raises where this is False


def require_writable(folder: Path) -> None:
    """Raises ReadOnlyFolder, before anything is written."""
    if is_read_only(folder):
        raise ReadOnlyFolder(
            Message(
                "the folder {folder} is read-only: what it holds can be read, but nothing can be stored in it",
                folder=folder,
            ),
            Message("make it writable for this user, or copy it and set AISBENCH_DATA_DIR to the copy"),
        )
