"""Reading functions: existence, size, listings, in OBS and on this machine."""
# They replace functions of os, which take paths as strings.
# ruff: noqa: PTH110, PTH112, PTH116, PTH118, PTH202, PTH207, PTH208

import fnmatch
import glob as local_glob
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from moxing.client import NotFoundError, ObjectInfo
from moxing.paths import folder_of, is_object, is_remote, local_paths_below, objects_below, parts, paths_below, store

_WILD = "*?["


@dataclass(frozen=True)
class FileStat:
    """The result of `stat`, with the attributes of os.stat and of tf.gfile.Stat."""

    st_size: int
    st_mtime: float
    is_directory: bool

    @property
    def length(self) -> int:
        """The size in bytes."""
        return self.st_size

    @property
    def mtime_nsec(self) -> int:
        """The time of modification in nanoseconds since the epoch."""
        return int(self.st_mtime * 1e9)


@dataclass(frozen=True)
class Entry:
    """One entry of a directory, like os.DirEntry."""

    name: str
    path: str

    def is_dir(self) -> bool:
        """Whether it is a directory."""
        return is_directory(self.path)

    def is_file(self) -> bool:
        """Whether it is a file."""
        return not self.is_dir()

    def stat(self) -> Any:
        """Its size and time."""
        return stat(self.path)


def exists(url: Any) -> bool:
    """Whether there is such a file or directory."""
    if not is_remote(url):
        return os.path.exists(url)
    bucket, key = parts(url)
    return is_object(bucket, key) or is_directory(url)


def is_directory(url: Any) -> bool:
    """Whether there is such a directory; in OBS, whether any object lies below it."""
    if not is_remote(url):
        return os.path.isdir(url)
    bucket, key = parts(url)
    # A bucket is a directory, even an empty one.
    if not key.rstrip("/"):
        return store().has_bucket(bucket)
    try:
        # OBS has no directories: one is there when something lies below it.
        return any(True for _ in store().list(bucket, folder_of(key), most=1))
    except NotFoundError:
        return False


def list_directory(url: Any, recursive: bool = False, **_: Any) -> list[str]:
    """The names in a directory; recursive: the relative paths of all files and directories in it. NotFoundError."""
    if not is_remote(url):
        return os.listdir(url) if not recursive else sorted(local_paths_below(str(url)))
    if not is_directory(url):
        raise NotFoundError(2, "No such directory in OBS", str(url))
    bucket, key = parts(url)
    prefix = folder_of(key)
    if recursive:
        return sorted(paths_below(bucket, prefix))
    paths = (entry if isinstance(entry, str) else entry.key for entry in store().list(bucket, prefix, "/"))
    return [name for name in (path[len(prefix) :].rstrip("/") for path in paths) if name]


def get_size(url: Any, recursive: bool = False) -> int:
    """The size of a file in bytes; 0 for a directory, or with `recursive` the sum of its files. NotFoundError."""
    if recursive and is_directory(url):
        names = list_directory(url, recursive=True)
        if not is_remote(url):
            return sum(os.path.getsize(os.path.join(url, name)) for name in names)
        bucket, key = parts(url)
        return sum(info.size for info in objects_below(bucket, folder_of(key)))
    info = stat(url)
    return 0 if info.is_directory else info.st_size


def stat(url: Any) -> FileStat:
    """Size, time and kind. NotFoundError."""
    if not is_remote(url):
        facts = os.stat(url)
        return FileStat(facts.st_size, facts.st_mtime, os.path.isdir(url))
    bucket, key = parts(url)
    info = store().head(bucket, key) if key and not key.endswith("/") else None
    if info:
        return FileStat(info.size, info.modified, is_directory=False)
    if not is_directory(url):
        raise NotFoundError(2, "No such file or directory in OBS", str(url))
    return FileStat(0, 0.0, is_directory=True)


def glob(url: Any) -> list[str]:
    """The paths that match a pattern of *, ? and []; a wildcard does not match a slash."""
    if not is_remote(url):
        return local_glob.glob(url)
    bucket, key = parts(url)
    # Only what lies below the part without wildcards is listed.
    fixed = key[: min((key.find(sign) for sign in _WILD if sign in key), default=len(key))].rpartition("/")[0]
    prefix = folder_of(fixed) if fixed else ""
    scheme = str(url)[: str(url).index("://") + 3]
    names = [prefix + name for name in paths_below(bucket, prefix)]
    levels = key.count("/")
    return [
        f"{scheme}{bucket}/{name}"
        for name in sorted(names)
        # fnmatch lets `*` match slashes, too.
        if name.count("/") == levels and fnmatch.fnmatchcase(name, key)
    ]


def scan_dir(url: Any) -> Iterator[Any]:
    """The entries of a directory, like os.scandir. NotFoundError."""
    if not is_remote(url):
        return iter(os.scandir(url))
    return iter([Entry(name, f"{str(url).rstrip('/')}/{name}") for name in list_directory(url)])


def walk(url: Any) -> Iterator[tuple[str, list[str], list[str]]]:
    """Like os.walk: directory, its directories and its files, top-down."""
    if not is_remote(url):
        yield from os.walk(url)
        return
    bucket, key = parts(url)
    prefix = folder_of(key)
    entries = list(store().list(bucket, prefix, "/"))
    folders = [entry[len(prefix) : -1] for entry in entries if isinstance(entry, str)]
    files = [entry.key[len(prefix) :] for entry in entries if isinstance(entry, ObjectInfo)]
    yield str(url), folders, [name for name in files if name]
    for folder in folders:
        yield from walk(f"{str(url).rstrip('/')}/{folder}")
