"""Whether the log of a warehouse file is all there: without it the engine opens the file, and misses runs in silence.

Whoever leaves the file notes the log's size in an extended attribute of the file, beside the time of the file's last
change: another program may have merged the log into it. Where the file system keeps no attributes nothing is noticed.
"""

import os
from contextlib import suppress
from pathlib import Path

from aisbench_core.errors import WarehouseError
from aisbench_core.messages import Message
from aisbench_core.warehouse.store.new_file import log_of

_NAME = "user.aisbench.log"


def note(path: Path) -> None:
    """Note how long the log is now; nobody else may have the file meanwhile."""
    with suppress(OSError, AttributeError):
        os.setxattr(path, _NAME, f"{path.stat().st_mtime_ns} {_size(log_of(path))}".encode())


def check(path: Path) -> None:
    """Raises WarehouseError when the log was deleted or cut since. Nobody may be writing meanwhile."""
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
    """Go on with what there is: a rebuild stores every run anew."""
    with suppress(OSError, AttributeError):
        os.removexattr(path, _NAME)


def _size(log: Path) -> int:
    try:
        return log.stat().st_size
    except FileNotFoundError:
        return 0
