"""Writing functions: make, remove, rename and copy files and directories, in OBS and on this machine."""
# They replace functions of os, which take paths as strings.
# ruff: noqa: PTH101, PTH102, PTH103, PTH104, PTH105, PTH107, PTH112, PTH118, PTH120, PTH123

import builtins
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import IO, Any

from moxing.client import NotFoundError
from moxing.listing import is_directory, list_directory
from moxing.paths import folder_of, is_object, is_remote, objects_below, parts, store

# The umask can only be read by setting it; at the import there are no other threads yet.
_UMASK = os.umask(0o022)
os.umask(_UMASK)


def make_dirs(url: Any) -> None:
    """Make a directory and its parents; an existing one is fine."""
    if not is_remote(url):
        return os.makedirs(url, exist_ok=True)
    bucket, key = parts(url)
    if key and not is_directory(url):
        store().put(bucket, folder_of(key), b"")
    return None


def mk_dir(url: Any) -> None:
    """Make one directory."""
    if not is_remote(url):
        return os.mkdir(url)
    return make_dirs(url)


def remove(url: Any, recursive: bool = False) -> None:
    """Remove a file; with `recursive` also a directory with its content. NotFoundError."""
    if not is_remote(url):
        return shutil.rmtree(url) if recursive and os.path.isdir(url) else os.remove(url)
    bucket, key = parts(url)
    if is_object(bucket, key):
        store().delete(bucket, key)
    elif not is_directory(url):
        raise NotFoundError(2, "No such file or directory in OBS", str(url))
    elif not recursive:
        raise IsADirectoryError(21, "Is a directory: say recursive=True", str(url))
    if recursive:
        for info in objects_below(bucket, folder_of(key)):
            store().delete(bucket, info.key)
    return None


def rename(src_url: Any, dst_url: Any) -> None:
    """Move a file or a directory."""
    if not is_remote(src_url) and not is_remote(dst_url):
        return os.rename(src_url, dst_url)
    # OBS cannot rename: first the copy, then the original goes.
    copy_parallel(src_url, dst_url) if is_directory(src_url) else copy(src_url, dst_url)
    return remove(src_url, recursive=is_directory(src_url))


def copy(src_url: Any, dst_url: Any) -> None:
    """Copy one file between any two places. NotFoundError."""
    source, target = is_remote(src_url), is_remote(dst_url)
    if not source and not target:
        with builtins.open(src_url, "rb") as file, _write_whole(str(dst_url)) as copied:
            shutil.copyfileobj(file, copied)
    elif source and target:
        store().copy(parts(src_url), *parts(dst_url))
    elif target:
        with builtins.open(src_url, "rb") as file:
            store().put(*parts(dst_url), file)
    else:
        _download_object(*parts(src_url), str(dst_url))


def copy_parallel(
    src_url: Any, dst_url: Any, file_list: Sequence[str] | None = None, threads: int = 16, **_: Any
) -> None:
    """Copy a directory, or those of its files that are in `file_list`, with many threads. NotFoundError."""
    if not is_directory(src_url):
        return copy(src_url, dst_url)
    source, target = str(src_url).rstrip("/"), str(dst_url).rstrip("/")
    files, folders = _list_contents(source) if file_list is None else (list(file_list), [])
    if not is_remote(target):
        # Before the threads start, so that they need not make the same directories at once.
        parents = {os.path.dirname(name) for name in files}
        for folder in ("", *folders, *parents):
            os.makedirs(os.path.join(target, folder), exist_ok=True)
    elif not files:
        make_dirs(target)
    with ThreadPoolExecutor(max(1, threads)) as pool:
        for future in [pool.submit(copy, f"{source}/{name}", f"{target}/{name}") for name in files]:
            # Raises the first failure in the order of the files, after all have been tried.
            future.result()
    return None


def _list_contents(source: str) -> tuple[list[str], list[str]]:
    """The relative paths of a directory's files and of its subdirectories, at every depth."""
    names = list_directory(source, recursive=True)
    if is_remote(source):
        bucket, key = parts(source)
        prefix = folder_of(key)
        files = {info.key[len(prefix) :] for info in objects_below(bucket, prefix)}
    else:
        files = {name for name in names if not os.path.isdir(f"{source}/{name}")}
    return [name for name in names if name in files], [name for name in names if name not in files]


def _download_object(bucket: str, key: str, target: str) -> None:
    with _write_whole(target) as file:
        store().get(bucket, key, file)


@contextmanager
def _write_whole(target: str) -> Iterator[IO[bytes]]:
    """A temporary file that replaces the target when it is completely written, and is removed otherwise.

    Many ranks write to the same path, and their process ids are equal, as each has a container of its own."""
    file = tempfile.NamedTemporaryFile(dir=os.path.dirname(target) or ".", prefix=".moxing-", delete=False)  # noqa: SIM115 - it may be moved away
    try:
        with file:
            yield file
        # Temporary files are 0600; a copy has the permissions that any new file would have.
        os.chmod(file.name, 0o666 & ~_UMASK)
        os.replace(file.name, target)
    except BaseException:
        os.remove(file.name)
        raise
