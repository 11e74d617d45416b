"""Reads the entries of an archive or a folder; refuses links and devices, and limits the unpacked size."""

import gzip
import os
import stat
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from aisbench_core.errors import ConfigError
from aisbench_core.messages import Message
from aisbench_core.upstream.packages.entries import (
    BLOCK,
    CODE,
    CONFIG,
    CONFIG_FILES,
    LIMITS,
    LINK,
    UNSAFE,
    PackageEntries,
    PackageLimits,
    refused,
)

# What the standard library raises for invalid, truncated and malicious archives.
BROKEN = (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError, ValueError)


def unpack(packed: IO[bytes], entries: PackageEntries, limits: PackageLimits = LIMITS) -> None:
    """Add every entry of a .tar.gz. Raises ConfigError if the archive is unreadable or exceeds a limit."""
    packed.seek(0)
    try:
        with gzip.GzipFile(fileobj=packed) as plain:
            measured: Any = _Measured(plain, packed, limits)
            with tarfile.open(fileobj=measured, mode="r:", encoding="utf-8", errors="surrogateescape") as archive:
                for member in archive:
                    _add(member, archive, entries)
            measured.finish()
    except BROKEN as error:
        raise ConfigError(
            Message("it is not a readable .tar.gz archive, or it is truncated ({kind})", kind=type(error).__name__),
            Message("download it again, or unpack it and import the folder"),
        ) from None


def read_folder(base: Path, entries: PackageEntries) -> None:
    """Add code and configuration of an unpacked package. Raises ConfigError for links and unreadable files."""
    _no_link(base / CODE[0], CODE[0])
    for is_directory, name in _walk(base / "/".join(CODE), "/".join(CODE)):
        if is_directory:
            entries.directory(name)
        else:
            _add_file(base, name, entries)
    if (base / "/".join(CONFIG)).exists():
        _no_link(base / "/".join(CONFIG), "/".join(CONFIG))
        for name in ("/".join((*CONFIG, file)) for file in CONFIG_FILES):
            if os.path.lexists(base / name):
                _add_file(base, name, entries)


class _Measured:
    """The unpacked stream of an archive for tarfile: forward only, with limits on header size, total size and ratio."""

    def __init__(self, plain: IO[bytes] | gzip.GzipFile, packed: IO[bytes], limits: PackageLimits) -> None:
        self._plain = plain
        self._packed = packed
        self._limits = limits
        self._at = 0

    def read(self, size: int) -> bytes:
        # tarfile reads a header of any declared length into memory at once, so the length is checked before.
        if not 0 <= size <= self._limits.header_bytes:
            raise ConfigError(Message("an entry has a header of {size:,} bytes", size=size), UNSAFE)
        block: bytes = self._plain.read(size)
        self._at += len(block)
        if self._at > self._limits.total_bytes:
            raise ConfigError(Message("it unpacks to more than {most:,} bytes", most=self._limits.total_bytes), UNSAFE)
        if self._at > self._limits.free_bytes and self._at > self._limits.ratio * self._packed.tell():
            message = Message("it unpacks to more than {ratio} times its size", ratio=self._limits.ratio)
            raise ConfigError(message, UNSAFE)
        return block

    def seek(self, position: int) -> int:
        """Read forward to a position."""
        if position < self._at:
            raise tarfile.ReadError("an archive is read forwards")
        while self._at < position and self.read(min(BLOCK, position - self._at)):
            pass
        return self._at

    def tell(self) -> int:
        """The number of bytes read."""
        return self._at

    def finish(self) -> None:
        """Read to the end: gzip checks its checksum only there."""
        while self.read(BLOCK):
            pass


def _add(member: tarfile.TarInfo, archive: tarfile.TarFile, entries: PackageEntries) -> None:
    if member.issym() or member.islnk():
        raise refused(member.name, Message("is a link"), LINK)
    if member.isdir():
        entries.directory(member.name)
        return
    # A sparse file claims any size with a few bytes in the archive.
    content = archive.extractfile(member) if member.isreg() and not member.issparse() else None
    if content is None:
        raise refused(member.name, Message("is neither a file nor a directory"))
    entries.file(member.name, member.size, content)


def _walk(folder: Path, name: str) -> Iterator[tuple[bool, str]]:
    """Every entry below a folder: whether it is a directory, and its path in the package."""
    _no_link(folder, name)
    pending = [(folder, name)]
    while pending:
        directory, prefix = pending.pop()
        with os.scandir(directory) as listing:
            for entry in sorted(listing, key=lambda entry: entry.name):
                path = f"{prefix}/{entry.name}"
                if entry.is_symlink():
                    raise refused(path, Message("is a link"), LINK)
                if entry.is_dir():
                    pending.append((Path(entry.path), path))
                yield entry.is_dir(), path


def _add_file(base: Path, name: str, entries: PackageEntries) -> None:
    # O_NOFOLLOW and O_NONBLOCK: the file may have been replaced by a link or a pipe since the listing.
    _no_link(base / name, name)
    handle = os.open(base / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(handle, "rb") as content:
        facts = os.fstat(handle)
        if not stat.S_ISREG(facts.st_mode):
            raise refused(name, Message("is neither a file nor a directory"))
        entries.file(name, facts.st_size, content)


def _no_link(path: Path, name: str) -> None:
    if path.is_symlink():
        raise refused(name, Message("is a link"), LINK)
