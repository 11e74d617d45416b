"""Marks results in copied folders of rehearsals as rehearsals."""

import json
from dataclasses import replace

from aisbench_core.errors import ResultError
from aisbench_core.importing.readers.names import last_part
from aisbench_core.importing.readers.results import ParsedResult, Results
from aisbench_core.importing.readers.sources import Opened

MOST_BYTES = 16 * 1024 * 1024  # a record of ten thousand cards is a tenth of it

# Files of a console's run folder that say whether the run is a rehearsal.
_WRITTEN = frozenset({"launch.json", "record.json"})


class Stamps:
    """The folders of rehearsals so far: files come by name, so that a run's record precedes its block."""

    def __init__(self) -> None:
        self._folders: list[str] = []

    def read(self, file: Opened) -> bool:
        """Read a console's file about a run; False for any other file."""
        name = last_part(file.name)
        if name not in _WRITTEN:
            return False
        if _is_rehearsal(file):
            self._folders.append(file.name.removesuffix(name))
        return True

    def mark(self, results: Results) -> Results:
        """The results, those in or below a folder of a rehearsal marked as rehearsals."""
        for result in results:
            if isinstance(result, ParsedResult) and any(
                result.source == folder.rstrip("/!") or result.source.startswith(folder) for folder in self._folders
            ):
                yield replace(result, rehearsal=True)
            else:
                yield result


def _is_rehearsal(file: Opened) -> bool:
    try:
        record = json.loads(file.whole(MOST_BYTES) or b"{}")
    except (ResultError, ValueError, RecursionError):  # damaged
        return False
    return isinstance(record, dict) and record.get("rehearsal") is True
