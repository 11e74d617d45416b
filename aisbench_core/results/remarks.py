"""Remarks of people about a run, in its folder: one change a line, only ever added."""

import errno
import os
from collections.abc import Iterable
from pathlib import Path

from pydantic import TypeAdapter

from aisbench_core.errors import disk_error
from aisbench_core.model import Remark, Remarks
from aisbench_core.results.record import read_lines

FILE = "remarks.jsonl"

_REMARK = TypeAdapter(Remark)


def read_remarks(folder: Path) -> Remarks:
    """The remarks that a folder holds. Raises ResultError, naming the line, when one is damaged."""
    return Remarks.of(read_lines(_REMARK, folder / FILE))


def add_remarks(folder: Path, remarks: Iterable[Remark]) -> None:
    """Keep those that the folder does not hold yet."""
    known = set(read_remarks(folder).changes)
    new = [remark for remark in remarks if remark not in known]
    if new:
        _append(folder / FILE, b"".join(_REMARK.dump_json(each) + b"\n" for each in sorted(new)))


def _append(file: Path, lines: bytes) -> None:
    """One write, so that lines of two people do not mix. A full disk leaves no half of a line behind."""
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
