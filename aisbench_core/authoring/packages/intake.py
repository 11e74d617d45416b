"""What a package may hold: every entry, of an archive or of a folder, passes here before anything is written."""

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from aisbench_core.authoring.code_folder import LEFT_OUT
from aisbench_core.authoring.upstream.source import MOST_BYTES
from aisbench_core.errors import ConfigError
from aisbench_core.messages import Message, joined
from aisbench_core.model import canonical_json

CODE, CONFIG = ("code", "code"), ("code", "config")
CONFIG_FILES = ("modelarts_config.py", "config.sh")
BLOCK = 64 * 1024
MOST_LEVELS = 32
LONGEST_PATH = 800
"""Bytes. An object's key in OBS has at most 1,024, with the directories above it."""

LONGEST_NAME = 255
UNSAFE = Message("nothing of it was kept; only take packages of people whom you trust")
LINK = Message("nothing of it was kept; put what the link points to in its place, and pack it again")

_DRIVE = re.compile(r"[A-Za-z]:")


@dataclass(frozen=True, slots=True)
class PackageLimits:
    """How much of a package is taken.

    `ratio`: unpacked bytes for each byte of the archive, once more than `free_bytes` are unpacked. `header_bytes`: what
    an archive may say about one entry."""

    entries: int = 20_000
    file_bytes: int = 2 * 1024**3
    total_bytes: int = 5 * 1024**3
    ratio: int = 200
    free_bytes: int = 32 * 1024**2
    header_bytes: int = 1024**2


LIMITS = PackageLimits()


class Intake:
    """Takes a package entry by entry: its code is written into a folder, its configuration is kept, the rest is left.

    Whatever could leave the folder, replace another entry or fill the disk raises ConfigError; what was written until
    then is for the caller to remove."""

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
        """SHA-256 (hex) over the names and contents of the code."""
        return hashlib.sha256(canonical_json(sorted(self.hashes.items())).encode()).hexdigest()

    def directory(self, name: str) -> None:
        """A directory; it is made when it is one of the code."""
        pair, rest = self._place(name)
        if pair == CODE and not LEFT_OUT.intersection(rest):
            self._settle(rest, is_file=False)
            self._folder.joinpath(*rest).mkdir(parents=True, exist_ok=True)

    def file(self, name: str, size: int, content: IO[bytes]) -> None:
        """A file of so many bytes."""
        pair, rest = self._place(name)
        self._count(name, size)
        if pair == CONFIG and len(rest) == 1 and rest[0] in CONFIG_FILES:
            if rest[0] in self.configs:
                raise refused(name, Message("stands twice in it"))
            self.configs[rest[0]] = content.read(MOST_BYTES + 1)
        elif pair == CODE and not rest:
            raise refused(name, Message("is a file, and must be a directory"))
        elif pair == CODE and not LEFT_OUT.intersection(rest):
            self._settle(rest, is_file=True)
            self._write(rest, size, content)

    def _place(self, name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Of which of the two folders an entry is (neither: empty), and its parts below it."""
        self._entries += 1
        if self._entries > self._limits.entries:
            raise ConfigError(Message("it holds more than {most:,} entries", most=self._limits.entries), UNSAFE)
        parts = tuple(_parts(self._decoded(name)))
        for start in (0, 1):
            pair = parts[start : start + 2]
            if pair in (CODE, CONFIG):
                self._belongs("/".join(parts[:start]))
                return pair, parts[start + 2 :]
        return (), parts

    def _belongs(self, root: str) -> None:
        if self.root not in (None, root):
            raise ConfigError(
                Message("it holds two packages, {first!r} and {second!r}", first=self.root, second=root),
                Message("import one at a time"),
            )
        self.root = root

    def _decoded(self, name: str) -> str:
        """The name as text: UTF-8, or else GBK, as archives made on Chinese Windows have it."""
        try:
            name.encode()
        except UnicodeEncodeError:
            try:
                name = name.encode("utf-8", "surrogateescape").decode("gb18030")
            except UnicodeError:
                raise refused(name, Message("is named neither in UTF-8 nor in GBK")) from None
            self.recoded.append(name)
        return name

    def _count(self, name: str, size: int) -> None:
        self._total += size
        if not 0 <= size <= self._limits.file_bytes:
            raise refused(
                name, Message("has {size:,} bytes; allowed: {most:,}", size=size, most=self._limits.file_bytes)
            )
        if self._total > self._limits.total_bytes:
            raise ConfigError(Message("it holds more than {most:,} bytes", most=self._limits.total_bytes), UNSAFE)

    def _settle(self, rest: tuple[str, ...], is_file: bool) -> None:
        """See to it that the entry and the directories above it are no other entry, on any file system."""
        for end in range(1, len(rest) + 1):
            path, file_here = "/".join(rest[:end]), is_file and end == len(rest)
            key = unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())
            known, was_file = self._kinds.setdefault(key, (path, file_here))
            if known != path:
                raise refused(path, Message("and {other} differ in upper and lower case only", other=shown(known)))
            if was_file != file_here or (file_here and path in self.hashes):
                raise refused(path, Message("stands twice in it"))

    def _write(self, rest: tuple[str, ...], size: int, content: IO[bytes]) -> None:
        digest, left = hashlib.sha256(), size
        target = self._folder.joinpath(*rest)
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("xb") as out:
            while left and (block := content.read(min(BLOCK, left))):
                out.write(block)
                digest.update(block)
                left -= len(block)
        if left:
            raise refused("/".join(rest), Message("is cut off: {missing:,} bytes are missing", missing=left))
        self.size += size
        self.hashes["/".join(rest)] = digest.hexdigest()


def refused(name: str, why: Message, hint: Message = UNSAFE) -> ConfigError:
    """An entry that is not taken, and with it the package."""
    return ConfigError(joined(" ", [shown(name), why]), hint)


def shown(name: str) -> str:
    """A name of unknown origin, short and without anything that a terminal would obey."""
    plain = name.encode(errors="surrogateescape").decode(errors="backslashreplace")
    return repr(plain if len(plain) <= 120 else f"{plain[:60]}…{plain[-59:]}")


def _parts(name: str) -> Iterable[str]:
    if name.startswith("/") or _DRIVE.match(name):
        raise refused(name, Message("is an absolute path"))
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise refused(name, Message("leads out of the package"))
    if "\\" in name or not name.isprintable():
        raise refused(name, Message("has a backslash or a control character in its name"))
    if len(parts) > MOST_LEVELS:
        raise refused(name, Message("lies deeper than {most} levels", most=MOST_LEVELS))
    if len(name.encode()) > LONGEST_PATH or any(len(part.encode()) > LONGEST_NAME for part in parts):
        raise refused(
            name,
            Message(
                "has too long a name; allowed: {most} bytes, {part} for each part", most=LONGEST_PATH, part=LONGEST_NAME
            ),
        )
    return parts
