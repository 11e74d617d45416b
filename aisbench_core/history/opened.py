"""A file that is being read, wherever it lies, and how much may come out of what strangers made."""

import io
import shutil
import struct
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, cast

from aisbench_core.errors import ResultError
from aisbench_core.history.lines import Readable
from aisbench_core.messages import Message

MOST_FILES = 200_000
MOST_BYTES = 16 * 1024**3
MOST_IN_MEMORY = 16 * 1024**2
HEAD = 512

DAMAGED = (OSError, EOFError, zlib.error, zipfile.BadZipFile, tarfile.TarError)
"""What reading a damaged file raises."""

EXOTIC = (*DAMAGED, NotImplementedError, RuntimeError, ValueError, struct.error)
"""What looking into an archive raises that is damaged, encrypted, or made by nobody's packer."""


class TooMuchError(Exception):
    """An archive unpacks to more than anybody's results; reading the rest of it makes no sense."""

    def __init__(self, sentence: Message) -> None:
        super().__init__(sentence)
        self.sentence = sentence


@dataclass(slots=True)
class Budget:
    """What may still come out of one archive, those inside it included."""

    bytes_left: int = MOST_BYTES
    files_left: int = MOST_FILES

    def spend(self, size: int, files: int = 0) -> None:
        """Count what came out. Raises TooMuchError."""
        self.bytes_left -= size
        self.files_left -= files
        if self.bytes_left < 0:
            raise TooMuchError(Message("it unpacks to more than {number} GiB", number=MOST_BYTES // 1024**3))
        if self.files_left < 0:
            raise TooMuchError(Message("it holds more than {number:,} files", number=MOST_FILES))


@dataclass(slots=True)
class Opened:
    """A file that is being read, with its first bytes; it is closed when the next one is asked for."""

    name: str
    head: bytes
    _file: Readable
    _rest: bytes = field(default=b"")

    @classmethod
    def begin(cls, name: str, file: Readable) -> "Opened":
        """The file with its head read."""
        head = b""
        while len(head) < HEAD and (part := file.read(HEAD - len(head))):
            head += part
        return cls(name, head, file, head)

    def read(self, size: int, /) -> bytes:
        """Up to `size` bytes; nothing at the end. Raises ResultError when the file is damaged."""
        part, self._rest = self._rest[:size], self._rest[size:]
        if len(part) == size:
            return part
        try:
            return part + self._file.read(size - len(part))
        except DAMAGED as error:
            raise ResultError(unreadable(error)) from error

    def whole(self, most: int) -> bytes | None:
        """All that is left of it; None when that is more than `most` bytes."""
        content = b""
        while part := self.read(most + 1 - len(content)):
            content += part
            if len(content) > most:
                return None
        return content

    @contextmanager
    def seekable(self) -> Iterator[BinaryIO]:
        """The same from its first byte, so that one can seek in it; what cannot is copied to a temporary file."""
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
        """The same as a file with a path, for what is opened by path only."""
        name = getattr(self._file, "name", None)
        if isinstance(self._file, io.BufferedReader) and isinstance(name, (str, Path)) and Path(name).is_file():
            yield Path(name)
            return
        with self.seekable() as content, tempfile.NamedTemporaryFile(prefix="aisbench-import-") as copy:
            shutil.copyfileobj(content, copy)
            copy.flush()
            yield Path(copy.name)


@dataclass(frozen=True, slots=True)
class Passed:
    """A file that was not opened, because its name says that it holds no result."""

    name: str


def unreadable(error: Exception) -> Message:
    """Why a file cannot be read, as the end of a sentence about it."""
    if isinstance(error, ResultError | TooMuchError):
        return error.sentence
    why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return Message("it cannot be read: {reason}", reason=why or Message("it is damaged"))
