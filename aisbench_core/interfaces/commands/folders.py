"""Folders for the files of commands, of which a killed server leaves none behind for long."""

import os
import re
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

_NAME = re.compile(r"aisbench-command-(\d+)-\w+")


def new_folder() -> Path:
    """An empty folder for its owner only. Those of killed servers are removed first."""
    temporary = Path(tempfile.gettempdir())
    for folder in temporary.glob("aisbench-command-*"):
        match = _NAME.fullmatch(folder.name)
        if match and not _is_alive(int(match[1])):
            remove_folder(folder)
    return Path(tempfile.mkdtemp(prefix=f"aisbench-command-{os.getpid()}-"))


def remove_folder(folder: Path) -> None:
    """Remove a folder, if it is there."""
    with suppress(OSError, RecursionError):
        shutil.rmtree(folder)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OverflowError, PermissionError):  # another user's
        return True
    return True
