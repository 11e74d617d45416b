"""Lists the files of a folder tree."""

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import BinaryIO

from aisbench_core.importing.readers.names import is_hidden
from aisbench_core.importing.readers.results import InputFile, Unread
from aisbench_core.importing.readers.sources import MOST_FILES
from aisbench_core.messages import Message

MOST_DEPTH = 32
MOST_LINKS = 20  # symbolic links that are reported by name; the others are counted

LINK = Message("it is a symbolic link, which is not followed")


def walk(folder: Path) -> Iterator[InputFile | Unread]:
    """The files of a folder, sorted by name, at most MOST_FILES. Links are not followed, hidden files ignored."""
    pending = [(folder, "", 0)]
    count = links = 0
    while pending:
        directory, name, depth = pending.pop()
        try:
            with os.scandir(directory) as listing:
                listed = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            yield Unread(name or folder.name, Message("it cannot be listed: {reason}", reason=error.strerror))
            continue
        count += len(listed)
        if count > MOST_FILES:
            message = Message("it contains more than {number:,} files: choose a smaller folder", number=MOST_FILES)
            yield Unread(folder.name, message)
            return
        entries = [entry for entry in listed if not is_hidden(entry.name)]
        for entry in entries:
            if entry.is_symlink():
                links += 1
                if links <= MOST_LINKS:
                    yield Unread(name + entry.name, LINK)
            elif entry.is_file(follow_symlinks=False):
                yield InputFile(name + entry.name, None, partial(_open, Path(entry.path)))
        folders = [entry for entry in entries if entry.is_dir(follow_symlinks=False)]
        if folders and depth == MOST_DEPTH:
            yield Unread(name, Message("its folders are nested more than {number} deep", number=MOST_DEPTH))
            continue
        pending += [(Path(entry.path), f"{name}{entry.name}/", depth + 1) for entry in reversed(folders)]
    if links > MOST_LINKS:
        message = Message("symbolic links that are not followed either: {count}", count=links - MOST_LINKS)
        yield Unread(folder.name, message)


def _open(path: Path) -> BinaryIO:
    return path.open("rb")
