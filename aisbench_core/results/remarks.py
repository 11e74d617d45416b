"""Remarks of people about a run, in its folder: one change a line, only ever added."""

from collections.abc import Iterable
from pathlib import Path

from pydantic import TypeAdapter

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
    new = [each for each in remarks if each not in known]
    if new:
        with (folder / FILE).open("ab") as file:  # one write: lines of two people do not mix
            file.write(b"".join(_REMARK.dump_json(each) + b"\n" for each in sorted(new)))
