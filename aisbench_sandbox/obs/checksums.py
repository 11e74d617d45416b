"""The checksums of a body that clients may announce beside its MD5."""

import hashlib
import zlib
from collections.abc import Callable, Mapping
from typing import Protocol


class Digest(Protocol):
    """The common interface of hashlib's digests and ours."""

    def update(self, data: bytes, /) -> None: ...
    def digest(self) -> bytes: ...


# boto3 sends CRC-32 with every upload since 1.36, so this one has to be fast: zlib has it in C.
class _Crc32:
    def __init__(self) -> None:
        self._value = 0

    def update(self, data: bytes, /) -> None:
        self._value = zlib.crc32(data, self._value)

    def digest(self) -> bytes:
        return self._value.to_bytes(4, "big")


class _Crc:
    """A reflected CRC with inverted start and end values. Byte by byte, which is slow."""

    def __init__(self, bits: int, table: tuple[int, ...]) -> None:
        self._bytes = bits // 8
        self._ones = (1 << bits) - 1
        self._table = table
        self._value = self._ones

    def update(self, data: bytes, /) -> None:
        table, value = self._table, self._value
        for byte in data:
            value = table[(value ^ byte) & 0xFF] ^ (value >> 8)
        self._value = value

    def digest(self) -> bytes:
        return (self._value ^ self._ones).to_bytes(self._bytes, "big")


def _build_table(polynomial: int) -> tuple[int, ...]:
    values = list(range(256))
    for _ in range(8):
        values = [(value >> 1) ^ (polynomial if value & 1 else 0) for value in values]
    return tuple(values)


# Castagnoli's polynomial and that of CRC-64/NVME, with their bits reversed, as the algorithm shifts to the right.
_CRC32C = _build_table(0x82F63B78)
_CRC64NVME = _build_table(0x9A6C9329AC4BC9B5)

# S3's names. OBS documents Content-MD5 only, but AWS tools send these to any endpoint.
# By the header or trailer that carries them in base64.
CHECKSUMS: Mapping[str, Callable[[], Digest]] = {
    "x-amz-checksum-crc32": _Crc32,
    "x-amz-checksum-crc32c": lambda: _Crc(32, _CRC32C),
    "x-amz-checksum-crc64nvme": lambda: _Crc(64, _CRC64NVME),
    "x-amz-checksum-sha1": lambda: hashlib.sha1(usedforsecurity=False),
    "x-amz-checksum-sha256": hashlib.sha256,
}
