"""The ledger of a read-only folder, read from a copy: SQLite creates files beside a WAL database even to read it.

`immutable=1` needs no copy, but silently ignores what only the WAL holds, and assumes that nobody writes, while a
folder that is read-only here may be mounted writable elsewhere.
"""

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from aisbench_core.errors import AisbenchError, disk_error, full_disks_named
from aisbench_core.messages import Message

PATIENCE_S = 10.0
PAUSE_S = 0.01


@contextmanager
def temporary_copy(path: Path) -> Iterator[Path]:
    """A consistent copy of the file and its WAL for the duration of the context; no file if there is none.

    Raises AisbenchError when they cannot be read, and DiskError when there is no room for the copy."""
    with full_disks_named():
        folder = TemporaryDirectory(prefix="aisbench-ledger-")
    with folder as name:
        copy = Path(name) / path.name
        _copy_unchanged(path, copy)
        yield copy


def _copy_unchanged(path: Path, copy: Path) -> None:
    """Copy both, again until neither has changed while they were copied."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        before = _state(path), _state(_log(path))
        try:
            _copy(path, copy)
            _copy(_log(path), _log(copy))
        except OSError as error:
            refused = AisbenchError(
                Message("the ledger {path} cannot be read: {reason}", path=path, reason=error.strerror),
                Message("make it readable for this user"),
            )
            raise disk_error(error, copy) or refused from error
        if before == (_state(path), _state(_log(path))):
            return
        if time.monotonic() > deadline:
            raise AisbenchError(Message("the ledger is in use by other processes"), Message("try again"))
        time.sleep(PAUSE_S)


def _copy(source: Path, target: Path) -> None:
    target.unlink(missing_ok=True)
    with suppress(FileNotFoundError):
        shutil.copyfile(source, target)


def _log(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _state(file: Path) -> tuple[int, int, int] | None:
    try:
        stat = file.stat()
    except OSError:
        return None
    return stat.st_ino, stat.st_size, stat.st_mtime_ns
