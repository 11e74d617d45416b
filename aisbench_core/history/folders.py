"""The files of a folder and of those in it."""

import os
from collections.abc import Iterator
from pathlib import Path

from aisbench_core.history.found import InputFile, Unread
from aisbench_core.history.names import is_hidden
from aisbench_core.history.opened import MOST_FILES
from aisbench_core.messages import Message

MOST_DEPTH = 32
MOST_LINKS = 20
"""Symbolic links of one folder tree that are named; the others are counted."""

LINK = Message("it is a symbolic link, which is not followed")


def walk(folder: Path) -> Iterator[InputFile | Unread]:
    """The files of a folder, sorted by name; links are named and not followed, hidden files left alone.

    The cost is bounded."""
    waiting = [(folder, "", 0)]
    seen = links = 0
    while waiting:
        place, name, depth = waiting.pop()
        try:
            with os.scandir(place) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            yield Unread(name or folder.name, Message("it cannot be listed: {reason}", reason=error.strerror))
            continue
        seen += len(entries)
        if seen > MOST_FILES:
            yield Unread(
                folder.name, Message("it holds more than {number:,} files: name a smaller folder", number=MOST_FILES)
            )
            return
        for entry in filter(_is_seen, entries):
            if entry.is_symlink():
                links += 1
                if links <= MOST_LINKS:
                    yield Unread(name + entry.name, LINK)
            elif entry.is_file(follow_symlinks=False):
                yield _file(entry, name)
        below = [entry for entry in entries if entry.is_dir(follow_symlinks=False) and _is_seen(entry)]
        if below and depth == MOST_DEPTH:
            yield Unread(name, Message("its folders lie more than {number} deep", number=MOST_DEPTH))
            continue
        waiting += [(Path(entry.path), f"{name}{entry.name}/", depth + 1) for entry in reversed(below)]
    if links > MOST_LINKS:
        yield Unread(
            folder.name, Message("symbolic links that are not followed either: {count}", count=links - MOST_LINKS)
        )


def _is_seen(entry: os.DirEntry[str]) -> bool:
    return not is_hidden(entry.name)


def _file(entry: os.DirEntry[str], folder: str) -> InputFile:
    path = Path(entry.path)
    return InputFile(folder + entry.name, None, lambda: path.open("rb"))
