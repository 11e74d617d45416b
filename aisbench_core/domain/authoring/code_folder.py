"""The size of a code directory, measured no further than the cloud's limits."""

import os
from dataclasses import dataclass, replace
from pathlib import Path

from aisbench_core.base.messages.file_names import is_utf8

# ModelArts refuses larger code directories with 2759, 2761 and 2760.
MOST_ENTRIES = 1_000
MOST_BYTES = 5 * 1024**3
MOST_LEVELS = 32
# Names that are never uploaded and do not count: leftovers of tools, and files with keys.
NEVER_UPLOADED = frozenset(
    {"__pycache__", ".git", ".DS_Store", ".ipynb_checkpoints", "credentials.yaml", "secrets.toml", ".huaweicloud"}
)


@dataclass(frozen=True, slots=True)
class CodeFolder:
    """Files and directories, bytes and levels of a code directory; the first entry that is unreadable, whose name is
    not UTF-8, and the first link to a directory.

    The numbers are lower bounds once `over_limit` is true."""

    entries: int = 0
    size: int = 0
    levels: int = 0
    unreadable: str = ""
    misnamed: str = ""
    linked: str = ""

    @property
    def over_limit(self) -> bool:
        """Whether a limit is exceeded."""
        return self.entries > MOST_ENTRIES or self.size > MOST_BYTES or self.levels > MOST_LEVELS


def measure_folder(folder: Path) -> CodeFolder:
    """Walk a directory until a limit is exceeded. Links to directories are not followed: the upload ignores them."""
    total = CodeFolder()
    pending = [(folder, 1)]
    # Preflight runs at every change of a form and must take < 50 ms, also for a home directory given by mistake.
    while pending and not total.over_limit:
        directory, level = pending.pop()
        try:
            with os.scandir(directory) as entries:
                for entry in entries:
                    if entry.name in NEVER_UPLOADED:
                        continue
                    total = _add_entry(total, entry, level)
                    if total.over_limit:
                        break
                    if entry.is_dir(follow_symlinks=False):
                        pending.append((Path(entry.path), level + 1))
        except OSError as error:
            total = replace(total, unreadable=total.unreadable or f"{directory}: {error.strerror}")
    return total


def _add_entry(total: CodeFolder, entry: os.DirEntry[str], level: int) -> CodeFolder:
    misnamed = total.misnamed or ("" if is_utf8(entry.name) else entry.path)  # OBS stores names in UTF-8
    total = replace(total, misnamed=misnamed)
    if entry.is_dir(follow_symlinks=False):
        return replace(total, entries=total.entries + 1, levels=max(total.levels, level))
    if entry.is_dir():
        return replace(total, linked=total.linked or entry.path)
    try:
        size = entry.stat().st_size
        readable = os.access(entry.path, os.R_OK)
    except OSError:
        size, readable = 0, False
    unreadable = total.unreadable or ("" if readable else entry.path)
    return replace(total, entries=total.entries + 1, size=total.size + size, unreadable=unreadable)
