"""What the columns of people's tables mean, remembered from one import to the next."""

import json
from collections.abc import Mapping
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from aisbench_core.errors import ConfigError, Problem, SpecError
from aisbench_core.history.found import ColumnMeaning
from aisbench_core.messages import Message
from aisbench_core.private_files import write_whole

_STORED = TypeAdapter(dict[str, str])

NOTHING = ""
"""Of a column that means nothing to us."""


class Columns:
    """Headers and their meanings, in one file of the data folder that a person can read and edit."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def known(self) -> dict[str, str]:
        """What was said before, by header. Raises ConfigError when the file cannot be used."""
        if not self._file.exists():
            return {}
        try:
            return checked(_STORED.validate_json(self._file.read_bytes()))
        except (OSError, ValidationError, SpecError):
            raise ConfigError(
                Message("{file} cannot be read", file=self._file), Message("delete it, and say again what columns mean")
            ) from None

    def remember(self, mapping: Mapping[str, str]) -> None:
        """Add to what is known. Raises SpecError on a meaning that does not exist."""
        both = self.known() | checked(mapping)
        write_whole(self._file, json.dumps(both, ensure_ascii=False, indent=2, sort_keys=True).encode())


def checked(mapping: Mapping[str, str]) -> dict[str, str]:
    """The same mapping. Raises SpecError, naming the headers, when it speaks of columns that do not exist."""
    allowed = {NOTHING, *ColumnMeaning}
    problems = [
        Problem(header, Message("must be one of {columns}, or empty", columns=", ".join(ColumnMeaning)), repr(column))
        for header, column in mapping.items()
        if column not in allowed
    ]
    if problems:
        raise SpecError(Message("column mapping"), problems)
    return dict(mapping)
