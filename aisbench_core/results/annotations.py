"""Annotations of a run in its folder: one change per line, append-only."""

import errno
import os
from collections.abc import Iterable
from pathlib import Path

from pydantic import TypeAdapter

from aisbench_core.errors import disk_error
from aisbench_core.model import AnnotationChange, Annotations
from aisbench_core.results.record import read_lines

FILE = "remarks.jsonl"

_CHANGE = TypeAdapter(AnnotationChange)


def read_annotations(folder: Path) -> Annotations:
    """The annotations in a run's folder. Raises ResultError, naming the line, when one is damaged."""
    return Annotations.of(read_lines(_CHANGE, folder / FILE))


def add_annotations(folder: Path, changes: Iterable[AnnotationChange]) -> None:
    """Append the changes that the folder does not contain yet."""
    new = set(changes) - set(read_annotations(folder).changes)
    if new:
        _append(folder / FILE, b"".join(_CHANGE.dump_json(change) + b"\n" for change in sorted(new)))


def _append(file: Path, lines: bytes) -> None:
    """One write, so that lines of two processes do not mix. A full disk leaves no partial line."""
    with file.open("ab", buffering=0) as target:
        before = target.seek(0, os.SEEK_END)
        try:
            whole = target.write(lines) == len(lines)
            os.fsync(target.fileno())
        except OSError as error:
            raise disk_error(error, file) or error from error
        if not whole:
            target.truncate(before)
            full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(file))
            raise disk_error(full) or full
