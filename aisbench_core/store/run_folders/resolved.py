"""The file of a run's folder that says what the names in its spec stood for."""

from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from aisbench_core.base.errors import ResultError
from aisbench_core.base.messages import Message
from aisbench_core.model import Resolved

_FILE = TypeAdapter(Resolved)


def dump_resolved(resolved: Resolved) -> bytes:
    """The file's content: what is set."""
    return _FILE.dump_json(resolved, indent=2, exclude_defaults=True)


def read_resolved(file: Path) -> Resolved | None:
    """What was stored; None without a file. Raises ResultError when it is damaged."""
    try:
        return _FILE.validate_json(file.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        raise ResultError(Message("{file} cannot be read", file=f"{file.parent.name}/{file.name}")) from error
