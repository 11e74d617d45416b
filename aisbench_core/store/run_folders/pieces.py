"""A published file: pieces on OBS, one after the other, each an object that is never changed.

What a file that grows has gained is one more piece, so that a log of gigabytes is not sent again at every poll.
OBS can append to an object, too (AppendObject); but there two writers, or one that repeats a request whose reply was
lost, would add the same bytes twice, while the names of pieces and a row in the ledger let only one of them win.

A new piece is merged with pieces before it that are no larger, up to PIECE_BYTES: a file has about as many pieces as
its size has binary digits, and each byte is sent as often at most. The name of an object says which bytes of which
version it holds, and their MD5, so that the rows of a lost ledger are found again by one list of the bucket."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

PIECE_BYTES = 16 * 1024 * 1024

_OBJECT = re.compile(r"(?P<name>.+)~(?P<version>\d+)-(?P<offset>\d+)-(?P<size>\d+)-(?P<md5>[0-9a-f]{32})", re.DOTALL)


@dataclass(frozen=True, slots=True, order=True)
class Piece:
    """Bytes of a file from `offset` on, of the version that they were sent with; `md5` in hex."""

    version: int
    offset: int
    size: int
    md5: str

    @property
    def end(self) -> int:
        """Where the next piece begins."""
        return self.offset + self.size

    def object_name(self, name: str) -> str:
        """The object that holds it, below the run's directory; `name`: the file's."""
        return f"{name}~{self.version}-{self.offset}-{self.size}-{self.md5}"


@dataclass(frozen=True, slots=True)
class PublishedFile:
    """A file of a run, by its path below the run's folder; each change is a new version, from 1 on."""

    run_id: str
    name: str
    version: int
    pieces: tuple[Piece, ...]

    @property
    def size(self) -> int:
        """Bytes of the whole file."""
        return self.pieces[-1].end if self.pieces else 0

    @property
    def objects(self) -> frozenset[str]:
        """The names of its objects below the run's directory."""
        return frozenset(piece.object_name(self.name) for piece in self.pieces)


def list_unchanged(pieces: Sequence[Piece], size: int) -> list[Piece]:
    """The pieces that stay when all of them hold what the file holds, which has `size` bytes now.

    The last ones are sent again with what is new, if they are no larger than that; the very last one if there is
    nothing new, because each version has a piece of its own."""
    stay = list(pieces)
    while stay and (stay[-1].end == size or _is_merged(stay[-1], size)):
        stay.pop()
    return stay


def _is_merged(piece: Piece, size: int) -> bool:
    return piece.size <= size - piece.end and size - piece.offset <= PIECE_BYTES


def iter_spans(start: int, size: int) -> Iterator[tuple[int, int]]:
    """Offset and size of each piece of what comes after `start`; one without bytes for an empty file."""
    if start == size == 0:
        yield 0, 0
    while start < size:
        length = min(PIECE_BYTES, size - start)
        yield start, length
        start += length


def shared_start(first: Sequence[Piece], second: Sequence[Piece]) -> int:
    """How many bytes at the beginning two versions of a file have in common, by the pieces that both have."""
    end = 0
    for one, other in zip(first, second, strict=False):
        if one != other:
            break
        end = one.end
    return end


def files_of(run_id: str, objects: Iterable[str]) -> list[PublishedFile]:
    """The newest version of each file, from the names of all objects below the run's directory.

    Objects of earlier versions, which a killed writer left, are not part of it."""
    found: dict[str, list[Piece]] = {}
    for each in objects:
        if match := _OBJECT.fullmatch(each):
            version, offset, size = (int(match[part]) for part in ("version", "offset", "size"))
            found.setdefault(match["name"], []).append(Piece(version, offset, size, match["md5"]))
    files = ((name, _build_chain(pieces)) for name, pieces in sorted(found.items()))
    return [PublishedFile(run_id, name, chain[-1].version, chain) for name, chain in files if chain]


def stale_objects(files: Iterable[PublishedFile], objects: Iterable[str]) -> list[str]:
    """Objects that killed writers left: of versions up to the stored one, and no part of it.

    Those of a later version may be of a writer that is about to store it."""
    stored = {file.name: file for file in files}
    stale = []
    for each in objects:
        match = _OBJECT.fullmatch(each)
        file = stored.get(match["name"]) if match else None
        if match and file and int(match["version"]) <= file.version and each not in file.objects:
            stale.append(each)
    return stale


def _build_chain(pieces: list[Piece]) -> tuple[Piece, ...]:
    """The pieces of the newest version; empty if one of them is missing.

    Before a piece is the newest one that ends where it begins, and was sent no later: each version ends with a piece
    that it was sent with, so of two with the same end the newer one replaced the other."""
    last = max(pieces)
    chain = [last]
    while chain[0].offset:
        first = chain[0]
        before = [piece for piece in pieces if piece.end == first.offset and piece.version <= first.version]
        if not before:
            return ()
        chain.insert(0, max(before))
    return tuple(chain)
