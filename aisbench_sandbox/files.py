"""Small files that are either old or new, never half; and directories that have to go, whatever a job did there."""

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path


def write_atomically(file: Path, content: bytes, mode: int = 0o600) -> None:
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


def remove_tree(folder: Path) -> None:
    """Remove a directory and all below it, also where its owner took the right to write from himself.

    What belongs to others stays."""
    shutil.rmtree(folder, ignore_errors=True)
    if folder.is_symlink() or not folder.is_dir():
        return
    folder.chmod(0o700)
    for parent, names, _ in os.walk(folder):  # from the top down: a directory is opened after its turn came here
        for path in (Path(parent, name) for name in names):
            if not path.is_symlink():
                with suppress(OSError):
                    path.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)
