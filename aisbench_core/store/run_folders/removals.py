"""The account of what was removed of a run, in its folder: a removal a line."""

from collections.abc import Sequence

from pydantic import TypeAdapter, ValidationError

from aisbench_core.base.errors import ResultError
from aisbench_core.base.messages import Message
from aisbench_core.base.private_files import write_whole
from aisbench_core.model import Removal, RunPart
from aisbench_core.store.run_folders.run_paths import RunFolder

_REMOVAL = TypeAdapter(Removal)


def read_removals(folder: RunFolder) -> tuple[Removal, ...]:
    """Every removal, oldest first; empty for runs that are whole. Raises ResultError on a damaged file."""
    try:
        lines = folder.removals.read_bytes().splitlines()
        return tuple(_REMOVAL.validate_json(line) for line in lines)
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except (OSError, ValidationError) as error:
        file = f"{folder.path.name}/{folder.removals.name}"
        raise ResultError(Message("{file} cannot be read", file=file)) from error


def write_removals(folder: RunFolder, removals: Sequence[Removal]) -> None:
    """Replace the account."""
    write_whole(folder.removals, b"".join(_REMOVAL.dump_json(removal) + b"\n" for removal in removals))


def removal_of(removals: Sequence[Removal], part: RunPart) -> Removal | None:
    """The last removal of a part, also an interrupted one: it is no longer whole."""
    return next((removal for removal in reversed(removals) if removal.part is part), None)
