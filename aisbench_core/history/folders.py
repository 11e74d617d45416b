"""The files of a folder and of those in it."""

import os
from collections.abc import Iterator
from pathlib import Path

from aisbench_core.history.found import InputFile, Unread
from aisbench_core.history.names import is_hidden
from aisbench_core.history.opened import MOST_FILES

MOST_DEPTH = 32


def walk(folder: Path) -> Iterator[InputFile | Unread]:
    """The files of a folder, sorted by name; symbolic links and hidden files are left alone; the cost is bounded."""
    waiting = [(folder, "", 0)]
    seen = 0
    while waiting:
        place, name, depth = waiting.pop()
        try:
            with os.scandir(place) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            yield Unread(name or folder.name, f"it cannot be listed: {error.strerror}")
            continue
        seen += len(entries)
        if seen > MOST_FILES:
            yield Unread(folder.name, f"it holds more than {MOST_FILES:,} files: name a smaller folder")
            return
        yield from (_file(entry, name) for entry in entries if entry.is_file(follow_symlinks=False) and _is_seen(entry))
        below = [entry for entry in entries if entry.is_dir(follow_symlinks=False) and _is_seen(entry)]
        if below and depth == MOST_DEPTH:
            yield Unread(name, f"its folders lie more than {MOST_DEPTH} deep")
            continue
        waiting += [(Path(entry.path), f"{name}{entry.name}/", depth + 1) for entry in reversed(below)]


def _is_seen(entry: os.DirEntry[str]) -> bool:
    return not is_hidden(entry.name)


def _file(entry: os.DirEntry[str], folder: str) -> InputFile:
    path = Path(entry.path)
    return InputFile(folder + entry.name, None, lambda: path.open("rb"))
