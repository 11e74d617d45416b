"""`mox.file`: file and directory functions for obs:// and s3:// addresses and for local paths."""

import builtins
from typing import Any

from moxing.client import NotFoundError, ObsError
from moxing.listing import exists, get_size, glob, is_directory, list_directory, scan_dir, stat, walk
from moxing.operations import copy, copy_parallel, make_dirs, mk_dir, remove, rename
from moxing.paths import is_remote, parts, set_auth, store
from moxing.shifting import shift
from moxing.streams import ObsFile

__all__ = [
    "File",
    "NotFoundError",
    "ObsError",
    "append",
    "copy",
    "copy_parallel",
    "exists",
    "get_size",
    "glob",
    "is_directory",
    "list_directory",
    "make_dirs",
    "mk_dir",
    "read",
    "remove",
    "rename",
    "scan_dir",
    "set_auth",
    "shift",
    "stat",
    "walk",
    "write",
]
_open = builtins.open  # Python's own open, whatever `shift` does


def File(name: Any, mode: str = "r", encoding: str | None = None, **options: Any) -> Any:  # noqa: N802 - MoXing's name
    """Open a file or an object; written data is stored when an object is closed or flushed."""
    if not is_remote(name):
        return _open(name, mode, encoding=encoding, **options)
    bucket, key = parts(name)
    return ObsFile(store(), bucket, key, mode, encoding)


def read(url: Any, binary: bool = False) -> Any:
    """The content of a file, as text or as bytes. NotFoundError."""
    with File(url, "rb" if binary else "r") as file:
        return file.read()


def write(url: Any, data: str | bytes) -> None:
    """Store text or bytes, replacing the old content."""
    with File(url, "w" if isinstance(data, str) else "wb") as file:
        file.write(data)


def append(url: Any, data: str | bytes) -> None:
    """Append text or bytes to a file, which is created if there is none."""
    if not is_remote(url):
        with _open(url, "a" if isinstance(data, str) else "ab") as file:
            file.write(data)
        return
    bucket, key = parts(url)
    # Two writers at once: the second is refused because of its position, and nothing is lost.
    info = store().head(bucket, key)
    store().append(bucket, key, data.encode() if isinstance(data, str) else data, info.size if info else 0)
