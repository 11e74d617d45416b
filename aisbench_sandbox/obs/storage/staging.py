"""Staging of an object's bytes: received into a file of their own and hashed on the way."""

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from hashlib import md5
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

Source = bytes | Path | BinaryIO

_BLOCK = 1 << 20


class StagedObject:
    """A file outside of all listings. Used in a `with` statement; unless it is moved inside, it is removed at the
    end."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = 0
        self._moved = False
        self._file: BinaryIO | None = None  # opened at the first byte: most requests have none
        self._md5 = md5(usedforsecurity=False)  # an ETag is an MD5

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file:
            with suppress(OSError):  # the disk is full: the incomplete file is removed
                self._file.close()
            if not self._moved:
                self.path.unlink(missing_ok=True)

    @property
    def md5(self) -> str:
        return self._md5.hexdigest()

    def write(self, data: bytes) -> None:
        self._open_output().write(data)
        self._md5.update(data)
        self.size += len(data)

    def fill(self, source: Source) -> None:
        """Write the whole source: bytes, a file's path, or an open file from its current position."""
        if isinstance(source, bytes):
            self.write(source)
        elif isinstance(source, Path):
            with source.open("rb") as file:
                self.fill(file)
        else:
            for block in iterate_blocks(source):
                self.write(block)

    def join(self, files: Iterable[Path]) -> None:
        """Write all of the files without hashing them: `md5` is invalid afterwards."""
        # The ETag of a multipart upload is not the MD5 of its bytes, so hashing them again would be for nothing.
        for path in files:
            with path.open("rb") as file:
                shutil.copyfileobj(file, self._open_output(), _BLOCK)

    def open_reader(self) -> BinaryIO:
        """What was written so far, for reading."""
        # Reading goes through another file handle, which does not see what is buffered here.
        self._open_output().flush()
        return self.path.open("rb")

    def finish(self, instant: int) -> None:
        """Close the file and set its modification time, in nanoseconds since 1970."""
        self._open_output().close()
        # After the last write, which would set the time again.
        os.utime(self.path, ns=(instant, instant))

    def move_to(self, path: Path | str) -> None:
        """Move the finished file to this path, replacing an existing one."""
        self.path.replace(path)
        self._moved = True

    def _open_output(self) -> BinaryIO:
        if self._file is None:
            self._file = self.path.open("wb")
        return self._file


def iterate_blocks(file: BinaryIO) -> Iterator[bytes]:
    while block := file.read(_BLOCK):
        yield block


def md5_of(file: BinaryIO) -> str:
    """The MD5 of the rest of the file."""
    digest = md5(usedforsecurity=False)
    for block in iterate_blocks(file):
        digest.update(block)
    return digest.hexdigest()
