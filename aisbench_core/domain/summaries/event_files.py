"""Names of event files, and their records: TFRecord frames, in which MindSpore writes its summaries, too.

A frame is the length (8 bytes), its checksum, the data, and the checksum of the data. Files may be cut off anywhere,
grow while they are read, and hold anything, because jobs write them.
"""

import os
import re
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

_HEADER = struct.Struct("<QI")
_CHECKSUM = struct.Struct("<I")

# A record of scalars has some hundred bytes. Longer ones hold images or graphs, and are skipped without reading them.
MOST_RECORD = 1024 * 1024

# As TensorBoard and MindInsight choose their files.
_TENSORBOARD = "tfevents"
_MINDSPORE, _MINDSPORE_END = re.compile(r"\.summary\.\d"), "_MS"


@dataclass(frozen=True, slots=True)
class Record:
    """The data of a record, its checksum, and where the next record begins. `data` is None if it is too long."""

    data: bytes | None
    checksum: int
    end: int

    @property
    def is_intact(self) -> bool:
        """Whether the data has its checksum."""
        return self.data is not None and masked_crc(self.data) == self.checksum


class BrokenFrame(ValueError):
    """A length has another checksum: nothing behind it can be read."""


def is_event_file(name: str) -> bool:
    """Whether a file of this name (without directories) holds events."""
    return _TENSORBOARD in name or is_mindspore(name)


def is_mindspore(name: str) -> bool:
    """Whether it is MindSpore's, whose events have fields of their own."""
    return name.endswith(_MINDSPORE_END) and _MINDSPORE.search(name) is not None


def iter_records(path: Path, start: int = 0) -> Iterator[Record]:
    """The complete records of a file from an offset on. Raises BrokenFrame, and OSError."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(start)
        while (record := _read_next(file, start, size)) is not None:
            yield record
            start = record.end


def _read_next(file: BinaryIO, start: int, size: int) -> Record | None:
    header = file.read(_HEADER.size)
    if len(header) < _HEADER.size:
        return None
    length = frame_length(header)
    end = start + _HEADER.size + length + _CHECKSUM.size
    if end > size:
        return None
    data = file.read(length) if length <= MOST_RECORD else None
    file.seek(end - _CHECKSUM.size)
    checksum = file.read(_CHECKSUM.size)
    # Another process may have made the file shorter meanwhile.
    if len(checksum) < _CHECKSUM.size:
        return None
    return Record(data, _CHECKSUM.unpack(checksum)[0], end)


@lru_cache(maxsize=1024)  # the records of a file have few different lengths
def frame_length(header: bytes) -> int:
    """The length of the data behind a header. Raises BrokenFrame."""
    length, checksum = _HEADER.unpack(header)
    if masked_crc(header[:8]) != checksum:
        raise BrokenFrame
    return int(length)


def with_data(content: bytes, replace: Callable[[bytes], bytes]) -> bytes:
    """The complete records at the start of `content`, each with its data replaced by data of the same length.

    Raises BrokenFrame."""
    done, parts = 0, []
    while len(content) - done >= _HEADER.size:
        begin = done + _HEADER.size
        end = begin + frame_length(content[done:begin])
        if end + _CHECKSUM.size > len(content):
            break
        data = content[begin:end]
        replaced = replace(data)
        checksum = content[end : end + 4] if replaced == data else _CHECKSUM.pack(masked_crc(replaced))
        parts += [content[done:begin], replaced, checksum]
        done = end + _CHECKSUM.size
    return b"".join(parts)


def _build_table() -> list[int]:
    entries = list(range(256))
    for _ in range(8):
        entries = [(entry >> 1) ^ (0x82F63B78 if entry & 1 else 0) for entry in entries]
    return entries


_TABLE = _build_table()


def masked_crc(data: bytes) -> int:
    """CRC-32C, rotated and shifted by a constant, so that a checksum of checksums is no weak one."""
    # In Python, 0.1 µs a byte: scalars are short, and a compiled package would be a dependency for this alone.
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF
