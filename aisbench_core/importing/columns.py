"""Stores the user's meanings of table columns for later imports."""

import json
from collections.abc import Mapping
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from aisbench_core.changes import log_change
from aisbench_core.errors import ConfigError, Problem, SpecError
from aisbench_core.importing.readers.results import ColumnMeaning
from aisbench_core.messages import Message
from aisbench_core.model import Actor
from aisbench_core.private_files import write_whole

_STORED = TypeAdapter(dict[str, str])

NOTHING = ""  # of an ignored column


class Columns:
    """Meanings by header, in an editable file of the data folder."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def stored(self) -> dict[str, str]:
        """The stored meanings by header. Raises ConfigError if the file is invalid."""
        if not self._file.exists():
            return {}
        try:
            return checked(_STORED.validate_json(self._file.read_bytes()))
        except (OSError, ValidationError, SpecError):
            message = Message("{file} cannot be read", file=self._file)
            raise ConfigError(message, Message("delete it, and choose the meanings of columns again")) from None

    def remember(self, mapping: Mapping[str, str], actor: Actor) -> None:
        """Store more meanings. Raises SpecError for an unknown one."""
        both = self.stored() | checked(mapping)
        log_change(actor, f"meanings of {len(mapping)} table columns")
        write_whole(self._file, json.dumps(both, ensure_ascii=False, indent=2, sort_keys=True).encode())


def checked(mapping: Mapping[str, str]) -> dict[str, str]:
    """The same mapping. Raises SpecError with the headers of unknown meanings."""
    allowed = {NOTHING, *ColumnMeaning}
    problems = [
        Problem(header, Message("must be one of {columns}, or empty", columns=", ".join(ColumnMeaning)), repr(column))
        for header, column in mapping.items()
        if column not in allowed
    ]
    if problems:
        raise SpecError(Message("column mapping"), problems)
    return dict(mapping)
