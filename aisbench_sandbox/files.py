"""Atomic writes of small files, and removal of directories whatever a job did to them."""

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

# The length limit of a file name, in bytes.
MAX_NAME_BYTES = 255


def write_atomically(file: Path, content: bytes, mode: int = 0o600) -> None:
    """Replace the file's content atomically."""
    # In the same directory: a rename is atomic within one file system only. There is no fsync, so this survives kill
    # -9, but perhaps not a power failure.
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            # mkstemp makes the file 0600, whatever the umask is.
            os.fchmod(stream.fileno(), mode)
            stream.write(content)
        Path(name).replace(file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def remove_tree(folder: Path) -> None:
    """Remove a directory and everything below it, even where its owner has no write permission.

    Files of other users stay."""
    # Enough for most: only what a job has made read-only is left after it.
    shutil.rmtree(folder, ignore_errors=True)
    if folder.is_symlink() or not folder.is_dir():
        return
    folder.chmod(0o700)
    for parent, names, _ in os.walk(folder):  # top-down: a directory is made writable before it is entered
        for path in (Path(parent, name) for name in names):
            # chmod follows links, out of the directory.
            if not path.is_symlink():
                with suppress(OSError):
                    path.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)
