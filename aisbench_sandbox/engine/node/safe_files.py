"""Opens files in a job's directories without following any link of the job to other files of this machine."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from aisbench_sandbox.files import write_atomically

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK  # opening a FIFO must not block


@contextmanager
def open_file(root: Path, file: Path) -> Iterator[BinaryIO]:
    """Open a file below `root` for reading. Raises OSError if there is a link on the path."""
    with _open_folder(root, file.parent) as folder:
        number = os.open(file.name, _FILE, dir_fd=folder)
    with os.fdopen(number, "rb") as stream:
        yield stream


def write(root: Path, file: Path, content: str, mode: int = 0o644) -> None:
    """Write a file below `root` atomically; an existing link is replaced, a link among its parents is an OSError."""
    with _open_folder(root, file.parent) as folder:
        # The open directory under a path that the job cannot redirect; only Linux has one.
        numbered = Path(f"/proc/self/fd/{folder}")
        write_atomically(numbered / file.name if numbered.exists() else file, content.encode(), mode)


@contextmanager
def _open_folder(root: Path, folder: Path) -> Iterator[int]:
    number = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        # O_NOFOLLOW minds the last name of a path only, so each directory is opened by itself.
        for name in folder.relative_to(root).parts:
            below = os.open(name, _FOLDER, dir_fd=number)
            os.close(number)
            number = below
        yield number
    finally:
        os.close(number)
