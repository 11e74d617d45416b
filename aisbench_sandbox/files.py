"""Atomic writes of small files, and removal of directories whatever a job did to them."""

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path


def write_atomically(file: Path, content: bytes, mode: int = 0o600) -> None:
    """Replace the file's content atomically."""
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            os.fchmod(stream.fileno(), mode)
            stream.write(content)
        Path(name).replace(file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def remove_tree(folder: Path) -> None:
    """Remove a directory and everything below it, even where its owner has no write permission.

    Files of other users stay."""
    shutil.rmtree(folder, ignore_errors=True)
    if folder.is_symlink() or not folder.is_dir():
        return
    folder.chmod(0o700)
    for parent, names, _ in os.walk(folder):  # top-down: a directory is made writable before it is entered
        for path in (Path(parent, name) for name in names):
            if not path.is_symlink():
                with suppress(OSError):
                    path.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)
