"""From an archive or a folder to an intake: read once from start to end, links and devices refused, bytes counted."""

import gzip
import os
import stat
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from aisbench_core.authoring.packages.intake import (
    BLOCK,
    CODE,
    CONFIG,
    CONFIG_FILES,
    LIMITS,
    LINK,
    UNSAFE,
    Intake,
    PackageLimits,
    refused,
)
from aisbench_core.errors import ConfigError
from aisbench_core.messages import Message

BROKEN = (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError, ValueError)
"""What the standard library says about an archive that is none, or is cut off, or was made to confuse it."""


def unpack(packed: IO[bytes], intake: Intake, limits: PackageLimits = LIMITS) -> None:
    """Take every entry of a .tar.gz. Raises ConfigError for one that cannot be read, or that goes too far."""
    packed.seek(0)
    try:
        with gzip.GzipFile(fileobj=packed) as plain:
            measured: Any = _Measured(plain, packed, limits)
            with tarfile.open(fileobj=measured, mode="r:", encoding="utf-8", errors="surrogateescape") as archive:
                for member in archive:
                    _take(member, archive, intake)
            measured.finish()
    except BROKEN as error:
        raise ConfigError(
            Message("it is no .tar.gz archive that can be read, or it is cut off ({kind})", kind=type(error).__name__),
            Message("fetch it again, or unpack it and import the folder"),
        ) from None


def take_folder(base: Path, intake: Intake) -> None:
    """Take code and configuration of an unpacked package. Raises ConfigError for links and what cannot be read."""
    _no_link(base / CODE[0], CODE[0])
    for directory, name in _walk(base / "/".join(CODE), "/".join(CODE)):
        if directory:
            intake.directory(name)
        else:
            _take_file(base, name, intake)
    if (base / "/".join(CONFIG)).exists():
        _no_link(base / "/".join(CONFIG), "/".join(CONFIG))
        for name in ("/".join((*CONFIG, file)) for file in CONFIG_FILES):
            if os.path.lexists(base / name):
                _take_file(base, name, intake)


class _Measured:
    """The unpacked bytes of an archive as tarfile reads them: forwards only, counted, and in small pieces."""

    def __init__(self, plain: IO[bytes] | gzip.GzipFile, packed: IO[bytes], limits: PackageLimits) -> None:
        self._plain = plain
        self._packed = packed
        self._limits = limits
        self._at = 0

    def read(self, size: int) -> bytes:
        """The next bytes. A header that would fill the memory is refused before it is read."""
        if not 0 <= size <= self._limits.header_bytes:
            raise ConfigError(Message("an entry is described in {size:,} bytes", size=size), UNSAFE)
        block: bytes = self._plain.read(size)
        self._at += len(block)
        if self._at > self._limits.total_bytes:
            raise ConfigError(Message("it unpacks to more than {most:,} bytes", most=self._limits.total_bytes), UNSAFE)
        if self._at > self._limits.free_bytes and self._at > self._limits.ratio * self._packed.tell():
            raise ConfigError(
                Message("it unpacks to more than {ratio} times its size", ratio=self._limits.ratio), UNSAFE
            )
        return block

    def seek(self, position: int) -> int:
        """Read on to a position."""
        if position < self._at:
            raise tarfile.ReadError("an archive is read forwards")
        while self._at < position and self.read(min(BLOCK, position - self._at)):
            pass
        return self._at

    def tell(self) -> int:
        """How many bytes were read."""
        return self._at

    def finish(self) -> None:
        """Read what follows the last entry: its end holds the archive's checksum."""
        while self.read(BLOCK):
            pass


def _take(member: tarfile.TarInfo, archive: tarfile.TarFile, intake: Intake) -> None:
    if member.issym() or member.islnk():
        raise refused(member.name, Message("is a link"), LINK)
    if member.isdir():
        intake.directory(member.name)
        return
    content = archive.extractfile(member) if member.isreg() and not member.issparse() else None
    if content is None:
        raise refused(member.name, Message("is neither a file nor a directory"))
    intake.file(member.name, member.size, content)


def _walk(folder: Path, name: str) -> Iterator[tuple[bool, str]]:
    """Every entry below a folder: whether it is a directory, and its path."""
    _no_link(folder, name)
    waiting = [(folder, name)]
    while waiting:
        here, above = waiting.pop()
        with os.scandir(here) as entries:
            for entry in sorted(entries, key=lambda each: each.name):
                path = f"{above}/{entry.name}"
                if entry.is_symlink():
                    raise refused(path, Message("is a link"), LINK)
                if entry.is_dir():
                    waiting.append((Path(entry.path), path))
                yield entry.is_dir(), path


def _take_file(base: Path, name: str, intake: Intake) -> None:
    # Neither a link nor a pipe put there in the meantime is followed or waited for.
    _no_link(base / name, name)
    handle = os.open(base / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(handle, "rb") as content:
        facts = os.fstat(handle)
        if not stat.S_ISREG(facts.st_mode):
            raise refused(name, Message("is neither a file nor a directory"))
        intake.file(name, facts.st_size, content)


def _no_link(place: Path, name: str) -> None:
    if place.is_symlink():
        raise refused(name, Message("is a link"), LINK)
