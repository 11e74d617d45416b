"""System descriptions as upstream's two files, system.json and config.json, in one folder."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from aisbench_core.errors import ResultError
from aisbench_core.messages import Message, joined
from aisbench_core.model import SYSTEM_FIELDS, TESTER_FIELDS, Stated, stated_of
from aisbench_core.private_files import write_whole
from aisbench_core.results.record import inside

SYSTEM_FILE, TESTER_FILE = "system.json", "config.json"

# Fields with another key in the file: MLPerf's spelling, and upstream's (sic).
FILE_KEYS: Mapping[str, str] = {
    "accelerator_on_chip_memories": "accelerator_on-chip_memories",
    "test_id": "testid",
    "test_mode": "Mode",
    "test_model": "Model",
    "test_division": "Divsion",
    "scenario": "Scenario",
}

_NAMES = {key: name for name, key in FILE_KEYS.items()}


def file_text(stated: Stated, fields: tuple[str, ...], *, whole: bool) -> str:
    """One of the two files. `whole`: fields without a value are included as empty text, as MLPerf requires."""
    values = stated.values
    content = {FILE_KEYS.get(name, name): values.get(name, "") for name in fields if whole or name in values}
    return json.dumps(content, ensure_ascii=False, indent=2) + "\n"


def write_stated(stated: Stated, folder: Path) -> None:
    """Replace both files; a document without values has no file."""
    for name, fields in ((SYSTEM_FILE, SYSTEM_FIELDS), (TESTER_FILE, TESTER_FIELDS)):
        if any(field in stated.values for field in fields):
            write_whole(folder / name, file_text(stated, fields, whole=False).encode())
        else:
            (folder / name).unlink(missing_ok=True)


def read_stated(folder: Path) -> Stated | None:
    """The description in a folder; None when it has no files. Raises ResultError when one is damaged."""
    files = [file for file in (folder / SYSTEM_FILE, folder / TESTER_FILE) if file.exists()]
    values = {name: value for file in files for name, value in _values(file).items()}
    return stated_of(values) if files else None


def _values(file: Path) -> dict[str, Any]:
    try:
        values = {_NAMES.get(key, key): value for key, value in json.loads(file.read_bytes()).items()}
        stated_of({name: value for name, value in values.items() if value not in ("", None)})
    except (OSError, ValueError, AttributeError) as error:  # ValidationError is a ValueError
        message = Message("{what} cannot be read: {reason}", what=inside(file), reason=_reason(error))
        raise ResultError(message) from error
    return {name: value for name, value in values.items() if value not in ("", None)}


def _reason(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return joined(": ", [first["loc"][0], first["msg"]])
    return Message("it is not a JSON object")
