"""Reads, checks and stores the entries of a package, whether from an archive or a folder."""

import gzip
import hashlib
import os
import re
import stat
import tarfile
import unicodedata
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from aisbench_core.base.errors import ConfigError
from aisbench_core.base.messages import Message, join_parts
from aisbench_core.domain.authoring.code_folder import NEVER_UPLOADED
from aisbench_core.domain.authoring.config_file import MOST_BYTES
from aisbench_core.model import canonical_json

CODE, CONFIG = ("code", "code"), ("code", "config")
CONFIG_FILES = ("modelarts_config.py", "config.sh")
BLOCK = 64 * 1024
MOST_LEVELS = 32
LONGEST_PATH = 800  # bytes. OBS allows 1,024 for an object's key, which includes the directories above the code.

LONGEST_NAME = 255  # bytes, of Linux file systems
UNSAFE = Message("nothing was imported; only import packages from people you trust")
LINK = Message("nothing was imported; replace the link by its target and pack it again")

_DRIVE = re.compile(r"[A-Za-z]:")


@dataclass(frozen=True, slots=True)
class PackageLimits:
    """The limits for packages, against archives that are made to fill memory or disk.

    `ratio`: unpacked bytes per byte of the archive, checked after the first `free_bytes`. `header_bytes`: size of one
    entry's header."""

    entries: int = 20_000
    file_bytes: int = 2 * 1024**3
    total_bytes: int = 5 * 1024**3
    ratio: int = 200
    free_bytes: int = 32 * 1024**2
    header_bytes: int = 1024**2


LIMITS = PackageLimits()


class PackageEntries:
    """The entries of a package: code is written to a folder, configuration files are kept in memory, others ignored.

    An entry that would escape the folder, replace another entry or exceed a limit raises ConfigError; the caller then
    removes what was written."""

    def __init__(self, folder: Path, limits: PackageLimits = LIMITS) -> None:
        self.configs: dict[str, bytes] = {}
        self.root: str | None = None
        self.recoded: list[str] = []
        self.hashes: dict[str, str] = {}
        self.size = 0
        self._folder = folder
        self._limits = limits
        self._entries = 0
        self._total = 0
        self._kinds: dict[str, tuple[str, bool]] = {}

    @property
    def sha256(self) -> str:
        """SHA-256 (hex) of the names and contents of the code."""
        return hashlib.sha256(canonical_json(sorted(self.hashes.items())).encode()).hexdigest()

    def directory(self, name: str) -> None:
        """Add a directory."""
        pair, rest = self._split_name(name)
        if pair == CODE and not NEVER_UPLOADED.intersection(rest):
            self._reserve_path(rest, is_file=False)
            self._folder.joinpath(*rest).mkdir(parents=True, exist_ok=True)

    def file(self, name: str, size: int, content: IO[bytes]) -> None:
        """Add a file of `size` bytes."""
        pair, rest = self._split_name(name)
        self._count_entry(name, size)
        if pair == CONFIG and len(rest) == 1 and rest[0] in CONFIG_FILES:
            if rest[0] in self.configs:
                raise make_refusal(name, Message("occurs twice"))
            self.configs[rest[0]] = content.read(MOST_BYTES + 1)
        elif pair == CODE and not rest:
            raise make_refusal(name, Message("is a file, but must be a directory"))
        elif pair == CODE and not NEVER_UPLOADED.intersection(rest):
            self._reserve_path(rest, is_file=True)
            self._write_file(rest, size, content)

    def _split_name(self, name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """CODE, CONFIG or neither (empty), and the parts of the path below that folder."""
        self._entries += 1
        if self._entries > self._limits.entries:
            raise ConfigError(Message("it contains more than {most:,} entries", most=self._limits.entries), UNSAFE)
        parts = tuple(_split_path(self._decode_name(name)))
        for start in (0, 1):
            pair = parts[start : start + 2]
            if pair in (CODE, CONFIG):
                root = "/".join(parts[:start])
                if self.root not in (None, root):
                    raise ConfigError(
                        Message("it contains two packages, {first!r} and {second!r}", first=self.root, second=root),
                        Message("import one at a time"),
                    )
                self.root = root
                return pair, parts[start + 2 :]
        return (), parts

    def _decode_name(self, name: str) -> str:
        """The name as text. Archives made on Chinese Windows have names in GBK instead of UTF-8."""
        try:
            name.encode()
        except UnicodeEncodeError:
            try:
                name = name.encode("utf-8", "surrogateescape").decode("gb18030")
            except UnicodeError:
                raise make_refusal(name, Message("has a name that is neither UTF-8 nor GBK")) from None
            self.recoded.append(name)
        return name

    def _count_entry(self, name: str, size: int) -> None:
        self._total += size
        if not 0 <= size <= self._limits.file_bytes:
            message = Message("has {size:,} bytes; allowed: {most:,}", size=size, most=self._limits.file_bytes)
            raise make_refusal(name, message)
        if self._total > self._limits.total_bytes:
            raise ConfigError(Message("it contains more than {most:,} bytes", most=self._limits.total_bytes), UNSAFE)

    def _reserve_path(self, rest: tuple[str, ...], is_file: bool) -> None:
        """Refuse an entry that is the same file as another one, also on file systems that ignore case or normalize."""
        for end in range(1, len(rest) + 1):
            path, file_here = "/".join(rest[:end]), is_file and end == len(rest)
            # Normalized twice, because casefold() can undo it.
            key = unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())
            first, was_file = self._kinds.setdefault(key, (path, file_here))
            if first != path:
                raise make_refusal(
                    path, Message("and {other} differ only in upper and lower case", other=quote_name(first))
                )
            if was_file != file_here or (file_here and path in self.hashes):
                raise make_refusal(path, Message("occurs twice"))

    def _write_file(self, rest: tuple[str, ...], size: int, content: IO[bytes]) -> None:
        digest, left = hashlib.sha256(), size
        target = self._folder.joinpath(*rest)
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("xb") as out:  # x: two entries never share a file
            while left and (block := content.read(min(BLOCK, left))):
                out.write(block)
                digest.update(block)
                left -= len(block)
        if left:
            raise make_refusal("/".join(rest), Message("is truncated: {missing:,} bytes are missing", missing=left))
        self.size += size
        self.hashes["/".join(rest)] = digest.hexdigest()


def make_refusal(name: str, why: Message, hint: Message = UNSAFE) -> ConfigError:
    """The error for an entry because of which the package is refused."""
    return ConfigError(join_parts(" ", [quote_name(name), why]), hint)


def quote_name(name: str) -> str:
    """A name from an archive, shortened and without terminal control sequences."""
    plain = name.encode(errors="surrogateescape").decode(errors="backslashreplace")
    return repr(plain if len(plain) <= 120 else f"{plain[:60]}…{plain[-59:]}")


def _split_path(name: str) -> Iterable[str]:
    if name.startswith("/") or _DRIVE.match(name):
        raise make_refusal(name, Message("is an absolute path"))
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise make_refusal(name, Message("points outside the package"))
    # A backslash separates directories on Windows, where the package may have been made.
    if "\\" in name or not name.isprintable():
        raise make_refusal(name, Message("has a backslash or a control character in its name"))
    if len(parts) > MOST_LEVELS:
        raise make_refusal(name, Message("is nested deeper than {most} levels", most=MOST_LEVELS))
    if len(name.encode()) > LONGEST_PATH or any(len(part.encode()) > LONGEST_NAME for part in parts):
        message = Message(
            "has a name that is too long; allowed: {most} bytes, {part} per part", most=LONGEST_PATH, part=LONGEST_NAME
        )
        raise make_refusal(name, message)
    return parts


# What the standard library raises for invalid, truncated and malicious archives.
BROKEN = (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError, ValueError)


def unpack_entries(packed: IO[bytes], entries: PackageEntries, limits: PackageLimits = LIMITS) -> None:
    """Add every entry of a .tar.gz. Raises ConfigError if the archive is unreadable or exceeds a limit."""
    packed.seek(0)
    try:
        with gzip.GzipFile(fileobj=packed) as plain:
            measured: Any = _Measured(plain, packed, limits)
            with tarfile.open(fileobj=measured, mode="r:", encoding="utf-8", errors="surrogateescape") as archive:
                for member in archive:
                    _add_member(member, archive, entries)
            measured.finish()
    except BROKEN as error:
        raise ConfigError(
            Message("it is not a readable .tar.gz archive, or it is truncated ({kind})", kind=type(error).__name__),
            Message("download it again, or unpack it and import the folder"),
        ) from None


def read_folder(base: Path, entries: PackageEntries) -> None:
    """Add code and configuration of an unpacked package. Raises ConfigError for links and unreadable files."""
    _no_link(base / CODE[0], CODE[0])
    for is_directory, name in _walk_folder(base / "/".join(CODE), "/".join(CODE)):
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


def _add_member(member: tarfile.TarInfo, archive: tarfile.TarFile, entries: PackageEntries) -> None:
    if member.issym() or member.islnk():
        raise make_refusal(member.name, Message("is a link"), LINK)
    if member.isdir():
        entries.directory(member.name)
        return
    # A sparse file claims any size with a few bytes in the archive.
    content = archive.extractfile(member) if member.isreg() and not member.issparse() else None
    if content is None:
        raise make_refusal(member.name, Message("is neither a file nor a directory"))
    entries.file(member.name, member.size, content)


def _walk_folder(folder: Path, name: str) -> Iterator[tuple[bool, str]]:
    """Every entry below a folder: whether it is a directory, and its path in the package."""
    _no_link(folder, name)
    pending = [(folder, name)]
    while pending:
        directory, prefix = pending.pop()
        with os.scandir(directory) as listing:
            for entry in sorted(listing, key=lambda entry: entry.name):
                path = f"{prefix}/{entry.name}"
                if entry.is_symlink():
                    raise make_refusal(path, Message("is a link"), LINK)
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
            raise make_refusal(name, Message("is neither a file nor a directory"))
        entries.file(name, facts.st_size, content)


def _no_link(path: Path, name: str) -> None:
    if path.is_symlink():
        raise make_refusal(name, Message("is a link"), LINK)
