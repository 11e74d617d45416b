"""Write scalars as TensorBoard reads them, for aisbench_report.py: without dependencies, on Python 3.7 and later."""

from __future__ import annotations

import ctypes
import importlib
import struct
import time
from pathlib import Path

import aisbench_report

_SECONDS = 2.0  # between two writes
_REMOTE_SECONDS = 30.0
_MOST_BYTES = 16 * 1024 * 1024  # of the file
_MOST_TAG = 80  # bytes

_CRC = list(range(256))
for _ in range(8):
    _CRC = [(entry >> 1) ^ (0x82F63B78 if entry & 1 else 0) for entry in _CRC]


_files = []  # type: list[_EventFile]


def add(name: str, value: float, step: int) -> None:
    """Add a point to this rank's file, and write the file every now and then; an error there disturbs no training."""
    if not _files:
        _files.append(_EventFile())
    _files[0].add(name, value, step)


def flush() -> None:
    """Write what is not written yet."""
    for file in _files:
        file.write()


class _EventFile:
    """An event file of scalars. Once it cannot be written, points are dropped."""

    def __init__(self) -> None:
        server, rank = aisbench_report._server(), aisbench_report._rank()
        folder = f"summaries/server_{server}" if aisbench_report._single_server() else "summaries"
        directory = aisbench_report._train_url()
        self._path = f"{directory.rstrip('/')}/{folder}/events.out.tfevents.{int(time.time())}.rank-{rank}"
        self._remote = directory.startswith(aisbench_report._REMOTE)
        self._every = _REMOTE_SECONDS if self._remote else _SECONDS
        self._pending = _record(_now() + b"\x1a\x0dbrain.Event:2")  # the version of the format
        self._room = _MOST_BYTES
        self._written_at = time.monotonic()

    def add(self, name: str, value: float, step: int) -> None:
        """Add a point, and write the file if the last time is long enough ago."""
        record = _record(_event(name, value, step))
        self._room -= len(record)
        if self._room <= 0:
            return
        self._pending += record
        if time.monotonic() - self._written_at >= self._every:
            self.write()

    def write(self) -> None:
        """Write what is pending; an error ends the file, not the training."""
        self._written_at = time.monotonic()
        try:
            self._write()
        except Exception as error:
            self._room, self._pending = 0, b""
            print(f"aisbench: scalars are not stored: {error}", flush=True)

    def _write(self) -> None:
        if not self._pending:
            return
        if self._remote:  # an object cannot be appended to, so all of it stays pending
            moxing = importlib.import_module("moxing")
            moxing.file.make_dirs(self._path.rpartition("/")[0])
            with moxing.file.File(self._path, "wb") as file:
                file.write(self._pending)
            return
        path = Path(self._path)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            file.write(self._pending)
        self._pending = b""


def _event(name: str, value: float, step: int) -> bytes:
    """An event with one scalar, as protobuf writes it; so short that all lengths have one byte."""
    tag = name.encode("utf-8", "replace")[:_MOST_TAG].decode("utf-8", "ignore").encode("utf-8")
    number = struct.pack("<f", ctypes.c_float(value).value)  # infinite, if the value is too large for 32 bits
    rest, varint = step & ((1 << 64) - 1), bytearray()
    while rest >= 0x80:
        varint.append(rest & 0x7F | 0x80)
        rest >>= 7
    point = bytes([0x0A, len(tag)]) + tag + b"\x15" + number
    summary = bytes([0x2A, len(point) + 2, 0x0A, len(point)]) + point
    return _now() + b"\x10" + bytes([*varint, rest]) + summary


def _now() -> bytes:
    return b"\x09" + struct.pack("<d", time.time())


def _record(event: bytes) -> bytes:
    """An event between its length and its checksum: a record of TFRecord."""
    length = struct.pack("<Q", len(event))
    return length + _checksum(length) + event + _checksum(event)


def _checksum(content: bytes) -> bytes:
    """CRC-32C, masked as in TFRecord."""
    crc = 0xFFFFFFFF
    for byte in content:
        crc = _CRC[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF)
