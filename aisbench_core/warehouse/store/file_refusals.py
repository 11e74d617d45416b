"""Errors of DuckDB and the system about a warehouse file, with what a person can do about them."""

import os
import re
from pathlib import Path

import duckdb

from aisbench_core.errors import WarehouseBusy, WarehouseError
from aisbench_core.messages import Message
from aisbench_core.warehouse.store.migrations import LATEST

# DuckDB's errors if file, disk or memory fail; its other errors are bugs of ours, which are not translated.
BROKEN = (
    duckdb.IOException,
    duckdb.FatalException,
    duckdb.InternalException,
    duckdb.SerializationException,
    duckdb.OutOfMemoryException,
)


def busy(path: Path, holder: str = "") -> WarehouseBusy:
    """Our error for a file that another process holds. `holder`: its number, if known."""
    process = Message("process {number}", number=holder) if holder else Message("somebody else")
    return WarehouseBusy(
        Message("the warehouse {path} is in use by {who}", path=path, who=process), Message("try again in a moment")
    )


def refusal(path: Path, error: Exception) -> WarehouseError:
    """Our error for one of DuckDB's or the system's."""
    text = str(error)
    if "Could not set lock" in text:
        holder = re.search(r"PID (\d+)", text)
        return busy(path, holder.group(1) if holder else "")
    if "Unique file handle conflict" in text:  # another engine of this process
        return busy(path, str(os.getpid()))
    reason = text.strip().splitlines()[0] if text.strip() else type(error).__name__
    return WarehouseError(
        Message("the warehouse {path} cannot be used: {reason}", path=path, reason=reason), _advice(text)
    )


_NO_SPACE = ("No space left", "File too large", "quota exceeded", "Out of Memory", "could not allocate")


def _advice(text: str) -> Message:
    if any(sign in text for sign in ("Permission denied", "Read-only", "read-only", "Cannot open file")):
        return Message("make the file and its directory writable for this user")
    if any(sign in text for sign in _NO_SPACE):
        return Message("free space and try again; nothing was stored")
    if "WAL does not match" in text:
        return Message(
            "its .wal file belongs to another copy of it: bring both files of one copy back, or move the .wal file away"
        )
    if "version number" in text:
        return Message(
            "it was written by a newer DuckDB: update this installation (schema {version}), or move the file away",
            version=LATEST,
        )
    return Message(
        "move it and its .wal file away and run `aisbench warehouse rebuild`: every run is kept as text in data/runs"
    )
