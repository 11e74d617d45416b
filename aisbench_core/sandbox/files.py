"""Small files that are either old or new, never half."""

import os
import tempfile
from pathlib import Path


def write_atomically(file: Path, content: bytes, mode: int = 0o644) -> None:
    """Replace the file's content as a whole."""
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            os.fchmod(stream.fileno(), mode)
            stream.write(content)
        Path(name).replace(file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
