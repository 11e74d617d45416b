"""Open files, wherever they are, the files of a folder tree, and limits for untrusted archives."""

import io
import os
import shutil
import struct
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import BinaryIO, cast

from aisbench_core.errors import ResultError
from aisbench_core.importing.readers.lines import Readable
from aisbench_core.importing.readers.names import is_hidden
from aisbench_core.importing.readers.results import InputFile, Unread
from aisbench_core.messages import Message

MOST_FILES = 200_000
MOST_BYTES = 16 * 1024**3
MOST_IN_MEMORY = 16 * 1024**2  # larger copies go to a temporary file
HEAD = 512  # contains the magic of tar

DAMAGED = (OSError, EOFError, zlib.error, zipfile.BadZipFile, tarfile.TarError)  # the errors of reading a damaged file

# The errors of opening an archive that is damaged, encrypted or crafted.
EXOTIC = (*DAMAGED, NotImplementedError, RuntimeError, ValueError, struct.error)


class TooMuchError(Exception):
    """An archive unpacks to more than MOST_BYTES or MOST_FILES; the rest of it is not read."""

    def __init__(self, sentence: Message) -> None:
        super().__init__(sentence)
        self.sentence = sentence


@dataclass(slots=True)
class Budget:
    """The remaining limits of one archive, including those inside it."""

    bytes_left: int = MOST_BYTES
    files_left: int = MOST_FILES

    def spend(self, size: int, files: int = 0) -> None:
        """Count unpacked bytes and files. Raises TooMuchError."""
        self.bytes_left -= size
        self.files_left -= files
        if self.bytes_left < 0:
            raise TooMuchError(Message("it unpacks to more than {number} GiB", number=MOST_BYTES // 1024**3))
        if self.files_left < 0:
            raise TooMuchError(Message("it contains more than {number:,} files", number=MOST_FILES))


@dataclass(slots=True)
class Opened:
    """An open file with its first bytes; valid until the next file is requested."""

    name: str
    head: bytes
    _file: Readable
    _rest: bytes = field(default=b"")

    @classmethod
    def begin(cls, name: str, file: Readable) -> "Opened":
        """Read the head of a file."""
        head = b""
        while len(head) < HEAD and (part := file.read(HEAD - len(head))):
            head += part
        return cls(name, head, file, head)

    def read(self, size: int, /) -> bytes:
        """Up to `size` bytes; empty at the end. Raises ResultError if the file is damaged."""
        part, self._rest = self._rest[:size], self._rest[size:]
        if len(part) == size:
            return part
        try:
            return part + self._file.read(size - len(part))
        except DAMAGED as error:
            raise ResultError(unreadable(error)) from error

    def whole(self, most: int) -> bytes | None:
        """The rest of the file; None if that is more than `most` bytes."""
        content = b""
        while part := self.read(most + 1 - len(content)):
            content += part
            if len(content) > most:
                return None
        return content

    @contextmanager
    def seekable(self) -> Iterator[BinaryIO]:
        """The file from its first byte as a seekable file, copied to a temporary one if necessary."""
        if isinstance(self._file, io.IOBase) and self._file.seekable():
            self._file.seek(0)
            yield cast("BinaryIO", self._file)
            return
        with tempfile.SpooledTemporaryFile(MOST_IN_MEMORY) as copy:
            while part := self.read(MOST_IN_MEMORY):
                copy.write(part)
            copy.seek(0)
            yield cast("BinaryIO", copy)

    @contextmanager
    def on_disk(self) -> Iterator[Path]:
        """The path of the file, copied to a temporary one if necessary, for libraries that need a path."""
        name = getattr(self._file, "name", None)
        if isinstance(self._file, io.BufferedReader) and isinstance(name, (str, Path)) and Path(name).is_file():
            yield Path(name)
            return
        with self.seekable() as content, tempfile.NamedTemporaryFile(prefix="aisbench-import-") as copy:
            shutil.copyfileobj(content, copy)
            copy.flush()
            yield Path(copy.name)


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that was not opened because of its name."""

    name: str


def unreadable(error: Exception) -> Message:
    """Why a file cannot be read."""
    if isinstance(error, ResultError | TooMuchError):
        return error.sentence
    why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return Message("it cannot be read: {reason}", reason=why or Message("it is damaged"))


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
