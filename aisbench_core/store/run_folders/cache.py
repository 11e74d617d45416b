"""The folder of a run on this machine, as a copy of what is published: which version each of its files is of.

That is stored in the folder itself, so that it goes when somebody deletes the folder."""

import hashlib
import os
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout
from pydantic import TypeAdapter, ValidationError

from aisbench_core.base.private_files import file_mode, make_private_folder, write_whole
from aisbench_core.store.run_folders.pieces import Piece, PublishedFile

STATE_FILE = ".published.json"
LOCKS = 256
TURN_SECONDS = 60.0
# Of a file that was appended to, so many bytes at its end are compared with what was published: a log whose secrets
# are masked only when they arrived whole changes that much at most.
COMPARED_BYTES = 1024 * 1024
_READ_BYTES = 1024 * 1024

FileStat = tuple[int, int, int]
"""Inode, time of the last change in ns, and size in bytes."""


@dataclass(frozen=True, slots=True)
class CachedFile:
    """The version that the local file is a copy of, and its state then; None if there is no usable copy."""

    file: PublishedFile
    stat: FileStat | None


_STATE = TypeAdapter(dict[str, CachedFile])


class CacheFolder:
    """One run's folder. Use it while `CacheLocks` gives its turn."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._state = path / STATE_FILE

    def read(self) -> dict[str, CachedFile]:
        """What the folder holds of published files, by name; empty if that cannot be read."""
        try:
            return _STATE.validate_json(self._state.read_bytes())
        except (OSError, ValidationError):
            return {}

    def write(self, state: Mapping[str, CachedFile]) -> None:
        """Store what the folder holds. Raises DiskError."""
        if state or self._state.exists():
            write_whole(self._state, _STATE.dump_json(dict(state)))

    def file(self, name: str) -> Path:
        """A file's path here. Names are those of our own files, so none leads out of the folder."""
        if not is_plain(name):
            raise ValueError(name)
        return self.path / name

    def names(self) -> Iterator[str]:
        """As `names_in` it."""
        return names_in(self.path)


def names_in(folder: Path) -> Iterator[str]:
    """The path of every file below a run's folder, without drafts and links."""
    for inside, folders, files in os.walk(folder):
        folders[:] = [one for one in folders if not one.startswith(".")]
        for one in files:
            file = Path(inside, one)
            name = file.relative_to(folder).as_posix()
            if not one.startswith(".") and is_plain(name) and not file.is_symlink() and file.is_file():
                yield name


def is_plain(name: str) -> bool:
    """Whether a name leads to a file inside the folder."""
    return bool(re.fullmatch(r"[^\x00-\x1f\x7f\ud800-\udfff]{1,900}", name)) and all(
        part not in ("", ".", "..") for part in name.split("/")
    )


def stat_of(file: Path) -> FileStat | None:
    """The file's state; None if there is none."""
    try:
        facts = file.stat()
    except OSError:
        return None
    return facts.st_ino, facts.st_mtime_ns, facts.st_size


def find_matching_pieces(file: Path, pieces: tuple[Piece, ...], *, appended: bool) -> list[Piece]:
    """The pieces at the beginning that the file still holds. `appended`: it was only appended to, as far as we know,
    so that comparing its end is enough."""
    size = file.stat().st_size
    inside = [piece for piece in pieces if piece.end <= size]
    compared = inside[-1].end - COMPARED_BYTES if appended and inside else 0
    for number, piece in enumerate(inside):
        if piece.end > compared and md5_of(file, piece.offset, piece.size) != piece.md5:
            return find_matching_pieces(file, tuple(inside[:number]), appended=False) if appended else inside[:number]
    return inside


def md5_of(file: Path, offset: int, size: int) -> str:
    """MD5 in hex of a part of a file."""
    digest = hashlib.md5(usedforsecurity=False)  # OBS answers with it
    with file.open("rb") as content:
        content.seek(offset)
        while size and (block := content.read(min(size, _READ_BYTES))):
            digest.update(block)
            size -= len(block)
    return digest.hexdigest()


class CacheLocks:
    """One process and thread at a time changes the copy of a run's files; runs share LOCKS locks."""

    def __init__(self, folder: Path, seconds: float = TURN_SECONDS) -> None:
        """`seconds`: how long to wait for a turn."""
        self._folder, self._seconds = folder, seconds
        self._held = threading.local()

    @contextmanager
    def turn(self, run_id: str, *, wait: bool = True) -> Iterator[bool]:
        """Whether it is our turn; without `wait` it comes at once or not. A thread that has the turn has it again."""
        number = int(hashlib.sha256(run_id.encode()).hexdigest(), 16) % LOCKS
        held: set[int] = self._held.__dict__.setdefault("numbers", set())
        if number in held:
            yield True
            return
        make_private_folder(self._folder)
        seconds = self._seconds if wait else 0
        lock = FileLock(self._folder / f"{number}.lock", timeout=seconds, mode=file_mode(self._folder))
        try:
            lock.acquire()
        except Timeout:
            yield False
            return
        held.add(number)
        try:
            yield True
        finally:
            held.discard(number)
            lock.release()
