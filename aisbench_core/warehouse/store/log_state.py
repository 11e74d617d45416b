"""Detects a deleted or truncated log of a warehouse file, without which DuckDB opens the file and misses runs silently.

At closing, an extended attribute of the file stores the log's size, and the file's modification time: another program
may merge the log. On file systems without extended attributes nothing is detected.
"""

import os
from contextlib import suppress
from pathlib import Path

from aisbench_core.errors import WarehouseError
from aisbench_core.messages import Message
from aisbench_core.warehouse.store.new_file import log_of

_NAME = "user.aisbench.log"


def note(path: Path) -> None:
    """Store the size of the log; no other process may have the file open."""
    with suppress(OSError, AttributeError):
        os.setxattr(path, _NAME, f"{path.stat().st_mtime_ns} {_size(log_of(path))}".encode())


def check(path: Path) -> None:
    """Raises WarehouseError if the log was deleted or truncated since; no other process may be writing."""
    noted = size = 0
    with suppress(OSError, AttributeError, ValueError):
        changed, noted = map(int, os.getxattr(path, _NAME).split())
        size = _size(log_of(path)) if changed == path.stat().st_mtime_ns else noted
    if size < noted:
        raise WarehouseError(
            Message(
                "the log {log} was deleted or cut: it held {noted} bytes, and holds {size}",
                log=log_of(path),
                noted=noted,
                size=size,
            ),
            Message("bring it back, or run `aisbench warehouse rebuild`: every run is kept as text in data/runs"),
        )


def forget(path: Path) -> None:
    """Accept the log as it is: a rebuild stores every run again."""
    with suppress(OSError, AttributeError):
        os.removexattr(path, _NAME)


def _size(log: Path) -> int:
    try:
        return log.stat().st_size
    except FileNotFoundError:
        return 0
