"""`mox.file.shift`: patches Python's own functions to accept obs:// and s3:// addresses."""

import builtins
import functools
import glob
import os
import shutil
from collections.abc import Callable
from typing import Any

from moxing import listing, operations
from moxing.paths import is_remote

_originals: list[tuple[Any, str, Any]] = []


def shift(source: str, target: str) -> None:
    """shift("os", "mox") makes open, os, glob and shutil accept addresses in OBS; shift("mox", "os") undoes that."""
    if (source, target) == ("os", "mox"):
        # A second call must not take the replacements for the originals.
        if not _originals:
            for module, name, function in _list_replacements():
                original = getattr(module, name)
                _originals.append((module, name, original))
                setattr(module, name, _dispatch_by_path(original, function))
    elif (source, target) == ("mox", "os"):
        for module, name, original in _originals:
            setattr(module, name, original)
        _originals.clear()
    else:
        raise ValueError("shift is from os to mox, or back")


def _list_replacements() -> list[tuple[Any, str, Callable[..., Any]]]:
    from moxing.file import File  # circular import

    return [
        (builtins, "open", File),
        (glob, "glob", listing.glob),
        (os, "listdir", listing.list_directory),
        (os, "makedirs", _make_dirs),
        (os, "mkdir", _make_dirs),
        (os, "remove", operations.remove),
        (os, "unlink", operations.remove),
        (os, "rename", operations.rename),
        (os, "scandir", listing.scan_dir),
        (os, "stat", listing.stat),
        (os, "walk", listing.walk),
        (os.path, "exists", listing.exists),
        (os.path, "isdir", listing.is_directory),
        (os.path, "isfile", _is_file),
        (os.path, "getsize", listing.get_size),
        (shutil, "copyfile", operations.copy),
        (shutil, "copy", operations.copy),
        (shutil, "copytree", operations.copy_parallel),
        (shutil, "rmtree", functools.partial(operations.remove, recursive=True)),
    ]


def _dispatch_by_path(original: Callable[..., Any], for_obs: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def either(*arguments: Any, **options: Any) -> Any:
        # The first two arguments are all the paths that any of these functions takes.
        return (for_obs if any(is_remote(argument) for argument in arguments[:2]) else original)(*arguments, **options)

    return either


def _make_dirs(url: Any, *_: Any, **__: Any) -> None:
    operations.make_dirs(url)


def _is_file(url: Any) -> bool:
    return listing.exists(url) and not listing.is_directory(url)
