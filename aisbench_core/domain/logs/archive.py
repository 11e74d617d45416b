"""Whole logs to download: a file in parts, or an archive of all that is compressed while it is sent."""

import tarfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from aisbench_core.domain.logs.reading import read_at

PART_BYTES = 1024 * 1024
_END = bytes(2 * tarfile.BLOCKSIZE)
_GZIP = 31  # the bits by which zlib writes the format of gzip
_LEVEL = 1  # text of logs shrinks to a tenth at once; more takes longer than sending it


def iterate_parts(file: Path, end: int, start: int = 0) -> Iterator[bytes]:
    """The bytes from `start` to before `end` of a log that may grow meanwhile; fewer if it is begun anew."""
    offset = start
    while offset < end and (part := read_at(file, offset, min(PART_BYTES, end - offset))):
        yield part
        offset += len(part)


def iterate_archive(logs: Mapping[int, Path], folder: str) -> Iterator[bytes]:
    """All logs as `folder`.tar.gz."""
    compressor = zlib.compressobj(_LEVEL, wbits=_GZIP)
    for content in _iterate_members(logs, folder):
        if compressed := compressor.compress(content):
            yield compressed
    yield compressor.flush()


def _iterate_members(logs: Mapping[int, Path], folder: str) -> Iterator[bytes]:
    for _, file in sorted(logs.items()):
        try:
            status = file.stat()
        except FileNotFoundError:  # removed meanwhile
            continue
        member = tarfile.TarInfo(f"{folder}/{file.name}")
        member.size, member.mtime, member.mode = status.st_size, status.st_mtime, 0o600
        yield member.tobuf(tarfile.GNU_FORMAT)
        sent = 0
        for part in iterate_parts(file, member.size):
            sent += len(part)
            yield part
        yield from _iterate_zeros(member.size - sent)  # what was there when the size was written
        yield bytes(-member.size % tarfile.BLOCKSIZE)
    yield _END


def _iterate_zeros(size: int) -> Iterator[bytes]:
    while size > 0:
        yield bytes(min(size, PART_BYTES))
        size -= PART_BYTES
