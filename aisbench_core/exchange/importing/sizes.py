"""How large an import is, before anything of it is read."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from aisbench_core.base.errors import Problem, SpecError
from aisbench_core.base.messages import Message

MB = 1024**2


def require_size(sizes: Iterable[int], most_mb: int) -> None:
    """Raises SpecError if files of these sizes, in bytes, are more than one import may have; `most_mb` 0: no limit."""
    if not most_mb:
        return
    total = 0
    for size in sizes:  # stops early in a folder of millions of files
        total += size
        if total > most_mb * MB:
            limit = Message("an import has as many MB as `import_most_mb` allows ({limit:,})", limit=most_mb)
            found = Message("at least {size:,} MB", size=-(-total // MB))
            raise SpecError(Message("import"), [Problem("files", limit, found)], Message("import them in parts"))


def sizes_below(path: Path) -> Iterator[int]:
    """The sizes of a file, or of all files in a folder; nothing if there is neither."""
    if path.is_file():
        yield path.stat().st_size
    for folder, _, names in os.walk(path):
        for name in names:
            file = Path(folder, name)
            if not file.is_symlink() and file.is_file():
                yield file.stat().st_size
