"""Folders of runs that were rehearsals: copied elsewhere, what lies in them is still no measurement."""

import json
from collections.abc import Iterator
from dataclasses import replace

from aisbench_core.errors import ResultError
from aisbench_core.history.found import FoundResult, Unread
from aisbench_core.history.names import last_part
from aisbench_core.history.opened import Opened

MOST_BYTES = 16 * 1024 * 1024
"""A record of ten thousand cards is a tenth of it."""

_WRITTEN = frozenset({"launch.json", "record.json"})
"""What a console writes into a run's folder, and in which it says whether the run is a rehearsal."""


class Stamps:
    """The folders that say so, as far as their files were seen: in a folder a run's record comes before its block."""

    def __init__(self) -> None:
        self._folders: list[str] = []

    def take(self, file: Opened) -> bool:
        """Look into a file that a console wrote about a run; False for every other one."""
        name = last_part(file.name)
        if name not in _WRITTEN:
            return False
        if _is_rehearsal(file):
            self._folders.append(file.name.removesuffix(name))
        return True

    def on(self, found: Iterator[FoundResult | Unread]) -> Iterator[FoundResult | Unread]:
        """The same results; those that lie in or below a folder of a rehearsal are rehearsals."""
        for each in found:
            stamped = isinstance(each, FoundResult) and any(_is_in(each.source, folder) for folder in self._folders)
            yield replace(each, rehearsal=True) if isinstance(each, FoundResult) and stamped else each


def _is_in(source: str, folder: str) -> bool:
    return source == folder.rstrip("/!") or source.startswith(folder)


def _is_rehearsal(file: Opened) -> bool:
    try:
        told = json.loads(file.whole(MOST_BYTES) or b"{}")
    except (ResultError, ValueError, RecursionError):  # damaged: it says nothing
        return False
    return isinstance(told, dict) and told.get("rehearsal") is True
