"""The part of a run's folder that is no record: listed and removed without following links."""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from aisbench_core.store.run_folders.run_paths import RunFolder

RECORD = frozenset(
    {
        "cards.jsonl",
        "code.json",
        "config.json",
        "events.jsonl",
        "job.json",
        "launch.json",
        "metrics.jsonl",
        "passport",
        "progress.jsonl",
        "record.json",
        "annotations.jsonl",
        "removals.jsonl",
        "resolved.json",
        "result_files.json",
        "spec.yaml",
        "system.json",
        "train_result_info.json",
    }
)
"""What stays of a run folder: the warehouse is rebuilt from it, and it is what is known of the run."""


def is_removable(name: str) -> bool:
    """Whether a file of a run folder is no record, by its path below the folder."""
    return name.partition("/")[0] not in RECORD


def count_removable(folder: RunFolder, published: Mapping[str, int]) -> tuple[int, int]:
    """The number of removable files and their bytes; `published`: those on OBS, by name with their bytes."""
    files = [file for file in _iterate_removable(folder.path) if file.is_symlink() or not file.is_dir()]
    sizes = {file.relative_to(folder.path).as_posix(): file.lstat().st_size for file in files}
    both = {**published, **sizes}
    return len(both), sum(both.values())


def empty_folder(folder: RunFolder) -> None:
    """Remove the files and the directories that held them; a link is removed, not what it leads to."""
    for path in _iterate_removable(folder.path):
        with suppress(FileNotFoundError):  # somebody else removes the same
            if path.is_dir() and not path.is_symlink():
                path.rmdir()
            else:
                path.unlink()


def _iterate_removable(folder: Path) -> Iterator[Path]:
    """Files before the directories that hold them. Hidden files at the top are drafts of writers of the record."""
    if folder.is_symlink() or not folder.is_dir():
        return
    for entry in sorted(folder.iterdir()):
        if entry.name in RECORD or entry.name.startswith("."):
            continue
        if entry.is_dir() and not entry.is_symlink():
            for inside, directories, files in os.walk(entry, topdown=False):
                links = [name for name in directories if (Path(inside) / name).is_symlink()]
                yield from (Path(inside) / name for name in (*files, *links))
                yield Path(inside)
        else:
            yield entry
