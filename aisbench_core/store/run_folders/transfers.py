"""Sends what is new in files of a run, and fetches what is new on OBS: only pieces that the other side lacks."""

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from aisbench_core.base.errors import AisbenchError, CloudNotFound, ResultError, disk_error
from aisbench_core.base.messages import Message
from aisbench_core.base.private_files import draft_of, file_mode, make_private_folder
from aisbench_core.cloud.ports import ObjectStat, ObjectStore
from aisbench_core.store.run_folders.cache import find_matching_pieces
from aisbench_core.store.run_folders.pieces import Piece, PublishedFile, iter_spans, list_unchanged, shared_start

AT_ONCE = 8

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class RunObjects:
    """The objects of one run, below a directory /bucket/prefix/<run_id>/."""

    store: ObjectStore
    directory: str

    def send(self, file: Path, before: PublishedFile, *, appended: bool) -> PublishedFile:
        """Send what `before` lacks of a file; the new version, which nobody reads before it is stored.

        `appended`: as in `matching`. A file that holds what was published gives `before` itself."""
        size = file.stat().st_size
        same = find_matching_pieces(file, before.pieces, appended=appended)
        if len(same) == len(before.pieces) and before.version and before.size == size:
            return before
        stay = list_unchanged(same, size)
        start = stay[-1].end if stay else 0
        pieces = stay
        for offset, length in iter_spans(start, size):
            part = _read_part(file, offset, length)
            if part or not pieces:
                pieces = [*pieces, self._send_piece(part, before, offset)]
            if len(part) < length:  # the log was begun anew a moment ago; the next version says so
                break
        return PublishedFile(before.run_id, before.name, before.version + 1, tuple(pieces))

    def _send_piece(self, part: bytes, before: PublishedFile, offset: int) -> Piece:
        md5 = hashlib.md5(part, usedforsecurity=False).hexdigest()
        piece = Piece(before.version + 1, offset, len(part), md5)
        self.store.put(self.directory + piece.object_name(before.name), part)
        return piece

    def stats(self) -> dict[str, ObjectStat]:
        """What one list says of all objects, by name."""
        return {stat.path.removeprefix(self.directory): stat for stat in self.store.list(self.directory)}

    def holds(self, file: PublishedFile, piece: Piece, stats: Mapping[str, ObjectStat]) -> bool:
        """Whether the object of a piece is as it was sent. Its ETag is the MD5, unless the bucket is encrypted: it is
        read then, up to PIECE_BYTES."""
        name = piece.object_name(file.name)
        stat = stats.get(name)
        if stat is None or stat.size != piece.size:
            return False
        if stat.etag == piece.md5:
            return True
        content = self.store.read_range(self.directory + name, 0, piece.size) if piece.size else b""
        return hashlib.md5(content, usedforsecurity=False).hexdigest() == piece.md5

    def fetch(self, file: PublishedFile, target: Path, before: tuple[Piece, ...], *, grows: bool) -> None:
        """Make the local file equal to the published one; `before`: the pieces that it is known to hold.

        `grows`: what is added to it is appended in place, because it may be long; other files are replaced whole.
        Raises ResultError for a missing or damaged object."""
        start = shared_start(before, file.pieces)
        here = before[-1].end if before else 0
        pieces = [piece for piece in file.pieces if piece.offset >= start]
        make_private_folder(target.parent)
        if grows and start:
            with target.open("r+b") as out:
                self._write_pieces(file, pieces, target, here, out.seek, out.write)
                out.truncate(file.size)
            return
        draft = draft_of(target)
        try:
            with draft.open("wb") as out:
                if start:
                    out.write(_read_part(target, 0, start))
                self._write_pieces(file, pieces, target, here, out.seek, out.write)
            draft.chmod(file_mode(draft.parent))
            draft.replace(target)
        except OSError as error:
            raise disk_error(error, target) or error from error
        finally:
            draft.unlink(missing_ok=True)

    def _write_pieces(
        self,
        file: PublishedFile,
        pieces: Sequence[Piece],
        local: Path,
        here: int,
        seek: Callable[[int], int],
        write: Callable[[bytes], int],
    ) -> None:
        for piece in pieces:
            content = self._fetch_piece(
                file, piece, _read_part(local, piece.offset, min(here, piece.end) - piece.offset)
            )
            seek(piece.offset)
            write(content)

    def _fetch_piece(self, file: PublishedFile, piece: Piece, begin: bytes) -> bytes:
        """The bytes of a piece; `begin`: what we hold of its first ones, if it grew out of those."""
        path = self.directory + piece.object_name(file.name)
        try:
            if begin:
                content = begin + (self.store.read(path, len(begin)) if len(begin) < piece.size else b"")
                if _is_whole(content, piece):
                    return content
            content = self.store.read(path) if piece.size else b""
        except CloudNotFound as error:
            raise _make_damage_error(file, path, Message("it is missing")) from error
        if not _is_whole(content, piece):
            reason = Message("it has {size} bytes, or an MD5, that was not published", size=len(content))
            raise _make_damage_error(file, path, reason)
        return content

    def delete(self, names: Collection[str]) -> None:
        """Delete objects by their names below the run's directory."""
        if names:
            self.store.delete_many([self.directory + name for name in sorted(names)])

    def delete_quietly(self, names: Collection[str]) -> None:
        """Delete objects that nobody reads any more; those that stay do not matter."""
        with suppress(AisbenchError):
            self.delete(names)

    def names(self) -> list[str]:
        """The names of all objects of the run."""
        return [stat.path.removeprefix(self.directory) for stat in self.store.list(self.directory)]


def at_once(work: Callable[[T], R], each: Iterable[T]) -> list[tuple[T, R | Exception]]:
    """Do it for each, some at once; the result or the error of each."""

    def safely(one: T) -> tuple[T, R | Exception]:
        try:
            return one, work(one)
        except Exception as error:  # raised by whoever reads the results
            return one, error

    jobs = list(each)
    if len(jobs) < 2:
        return [safely(one) for one in jobs]
    with ThreadPoolExecutor(min(AT_ONCE, len(jobs)), "run-files") as pool:
        return list(pool.map(safely, jobs))


def _is_whole(content: bytes, piece: Piece) -> bool:
    return len(content) == piece.size and hashlib.md5(content, usedforsecurity=False).hexdigest() == piece.md5


def _read_part(file: Path, offset: int, size: int) -> bytes:
    if size <= 0:
        return b""
    with file.open("rb") as content:
        content.seek(offset)
        return content.read(size)


def _make_damage_error(file: PublishedFile, path: str, reason: Message) -> ResultError:
    return ResultError(
        Message("{file} of run {run_id} cannot be fetched from {path}: {reason}", file=file.name, run_id=file.run_id,
                path=path, reason=reason),
        Message("bring the object back, or the whole run folder from a machine that has it"),
    )  # fmt: skip
