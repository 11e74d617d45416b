"""`mox.file.shift`: Python's own functions, taught that a path may begin with obs:// or s3://."""

import builtins
import functools
import glob
import os
import shutil
from collections.abc import Callable
from typing import Any

from moxing import looking, moving
from moxing.places import is_remote

_originals: list[tuple[Any, str, Any]] = []


def shift(source: str, target: str) -> None:
    """shift("os", "mox") lets open, os, glob and shutil understand addresses in OBS; shift("mox", "os") ends that."""
    if (source, target) == ("os", "mox"):
        if not _originals:
            for place, name, function in _replacements():
                original = getattr(place, name)
                _originals.append((place, name, original))
                setattr(place, name, _either(original, function))
    elif (source, target) == ("mox", "os"):
        for place, name, original in _originals:
            setattr(place, name, original)
        _originals.clear()
    else:
        raise ValueError("shift is from os to mox, or back")


def _replacements() -> list[tuple[Any, str, Callable[..., Any]]]:
    from moxing.file import File  # it imports this module

    return [
        (builtins, "open", File),
        (glob, "glob", looking.glob),
        (os, "listdir", looking.list_directory),
        (os, "makedirs", _make_dirs),
        (os, "mkdir", _make_dirs),
        (os, "remove", moving.remove),
        (os, "unlink", moving.remove),
        (os, "rename", moving.rename),
        (os, "scandir", looking.scan_dir),
        (os, "stat", looking.stat),
        (os, "walk", looking.walk),
        (os.path, "exists", looking.exists),
        (os.path, "isdir", looking.is_directory),
        (os.path, "isfile", _is_file),
        (os.path, "getsize", looking.get_size),
        (shutil, "copyfile", moving.copy),
        (shutil, "copy", moving.copy),
        (shutil, "copytree", moving.copy_parallel),
        (shutil, "rmtree", functools.partial(moving.remove, recursive=True)),
    ]


def _either(original: Callable[..., Any], for_obs: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def either(*arguments: Any, **options: Any) -> Any:
        return (for_obs if any(is_remote(argument) for argument in arguments[:2]) else original)(*arguments, **options)

    return either


def _make_dirs(url: Any, *_: Any, **__: Any) -> None:
    moving.make_dirs(url)


def _is_file(url: Any) -> bool:
    return looking.exists(url) and not looking.is_directory(url)
