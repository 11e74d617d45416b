"""How large a code directory is; the walk ends as soon as the cloud's limits are passed."""

import os
from dataclasses import dataclass, replace
from pathlib import Path

MOST_ENTRIES = 1_000
MOST_BYTES = 5 * 1024**3
MOST_LEVELS = 32
LEFT_OUT = frozenset(
    {"__pycache__", ".git", ".DS_Store", ".ipynb_checkpoints", "credentials.yaml", "secrets.toml", ".huaweicloud"}
)
"""What is never uploaded: leftovers of tools, and the files that keys are kept in."""
"""Names that are never uploaded, so they do not count."""


@dataclass(frozen=True, slots=True)
class CodeFolder:
    """What a walk has seen: files and directories, bytes, levels of directories, the first place that it could
    not read, and the first link to a directory.

    When a limit is passed the walk stops there, so the numbers are then only lower bounds."""

    entries: int = 0
    size: int = 0
    levels: int = 0
    unreadable: str = ""
    linked: str = ""

    @property
    def over_limit(self) -> bool:
        """Whether one of the limits is passed."""
        return self.entries > MOST_ENTRIES or self.size > MOST_BYTES or self.levels > MOST_LEVELS


def measure(folder: Path) -> CodeFolder:
    """Walk a directory. Links to directories are not followed, as the upload does not follow them either."""
    seen = CodeFolder()
    waiting = [(folder, 1)]
    while waiting and not seen.over_limit:
        here, level = waiting.pop()
        try:
            with os.scandir(here) as entries:
                for entry in entries:
                    if entry.name in LEFT_OUT:
                        continue
                    seen = _counted(seen, entry, level)
                    if seen.over_limit:
                        break
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append((Path(entry.path), level + 1))
        except OSError as error:
            seen = replace(seen, unreadable=seen.unreadable or f"{here}: {error.strerror}")
    return seen


def _counted(seen: CodeFolder, entry: os.DirEntry[str], level: int) -> CodeFolder:
    if entry.is_dir(follow_symlinks=False):
        return replace(seen, entries=seen.entries + 1, levels=max(seen.levels, level))
    if entry.is_dir():
        return replace(seen, linked=seen.linked or entry.path)
    try:
        entry.name.encode()  # OBS stores names in UTF-8
        size = entry.stat().st_size
        readable = os.access(entry.path, os.R_OK)
    except (OSError, UnicodeEncodeError):
        size, readable = 0, False
    unreadable = seen.unreadable or ("" if readable else entry.path.encode(errors="backslashreplace").decode())
    return replace(seen, entries=seen.entries + 1, size=seen.size + size, unreadable=unreadable)
