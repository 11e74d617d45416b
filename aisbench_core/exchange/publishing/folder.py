"""The folder of a published leaderboard: written as a draft, then moved; only one of ours is replaced."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from aisbench_core.base.errors import ConfigError, disk_error
from aisbench_core.base.messages import Hint, Message
from aisbench_core.base.private_files import draft_of

MARKER = "published.json"
"""Lists the files of the folder."""

SCHEMA = "aisbench-leaderboard/1"


@contextmanager
def replace_folder(folder: Path, umask: int) -> Iterator[Path]:
    """A draft that becomes the folder once it is complete. `umask`: for the rights of its files.

    Raises ConfigError if the folder is not ours to replace."""
    folder = folder.resolve()
    require_replaceable(folder)
    draft = draft_of(folder)
    try:
        draft.mkdir(parents=True)
        yield draft
        _list_files(draft)
        _set_rights(draft, umask)
        _swap_folders(draft, folder)
    except OSError as error:
        written = Message("{file} cannot be written: {why}", file=folder, why=error.strerror)
        raise disk_error(error, folder) or ConfigError(written) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def require_replaceable(folder: Path) -> None:
    """Raises ConfigError unless the folder is missing, empty, or holds what was published before and nothing else."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise _make_refusal(folder, Message("it is a file"))
    present = set(_iterate_files(folder))
    if present and (added := present - _read_marker(folder)):
        hint = Message("name another folder, or move its files away")
        raise _make_refusal(folder, Message("it holds {file}, which was not published", file=min(added)), hint)


def _make_refusal(folder: Path, why: Message, hint: Hint = "") -> ConfigError:
    return ConfigError(Message("{folder} is not replaced: {why}", folder=folder, why=why), hint)


def _iterate_files(folder: Path) -> Iterator[str]:
    for path in folder.rglob("*"):
        if not path.is_dir() or path.is_symlink():
            yield path.relative_to(folder).as_posix()


def _read_marker(folder: Path) -> set[str]:
    """The files that were published; empty if none were."""
    try:
        marker = json.loads((folder / MARKER).read_bytes())
        return {MARKER, *marker["files"]} if marker["schema"] == SCHEMA else set()
    except (OSError, ValueError, KeyError, TypeError):
        return set()


def _list_files(draft: Path) -> None:
    marker = {"schema": SCHEMA, "files": sorted(_iterate_files(draft))}
    (draft / MARKER).write_text(json.dumps(marker, ensure_ascii=False, indent=1) + "\n", "utf-8")


def _set_rights(draft: Path, umask: int) -> None:
    for path in (draft, *draft.rglob("*")):
        path.chmod((0o777 if path.is_dir() else 0o666) & ~umask)


def _swap_folders(draft: Path, folder: Path) -> None:
    if not folder.exists():
        draft.rename(folder)
        return
    old = draft.with_name(f"{draft.name}.old")
    folder.rename(old)
    try:
        draft.rename(folder)
    except OSError:
        old.rename(folder)
        raise
    shutil.rmtree(old)
