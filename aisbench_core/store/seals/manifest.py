"""The manifest of a run folder: every file with its SHA-256 and size. docs/seals.md publishes the recipe.

A line a file, sorted by the bytes of its path: SHA-256 in hex, a space, the size in bytes, a space, the path below the
folder. The hash of a manifest is the SHA-256 of these lines in UTF-8."""

import hashlib
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from aisbench_core.store.run_folders.cache import names_in
from aisbench_core.store.run_folders.parts import STATED_FILES

UNSEALED = frozenset({"annotations.jsonl", "removals.jsonl"})
"""Files that go on changing: names, tags and notes that people give, and the account of removals. Each change of them
is an entry of the audit of its own."""

LAUNCHED_FILES = ("spec.yaml", "launch.json", "code.json", *STATED_FILES)
"""Files that are sealed at the launch. Those of the launch never change."""

RESOLVED_FILE = "resolved.json"
"""What names in the spec stood for: a follower writes it before it creates the job, and seals it then."""

_READ_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class SealedFile:
    """A file as it was sealed: its path below the run's folder, its size in bytes, and its SHA-256 in hex."""

    name: str
    size: int
    sha256: str


def sealed_names(folder: Path) -> set[str]:
    """The files of a run folder that a manifest names: no links, no hidden files, none of UNSEALED."""
    return {name for name in names_in(folder) if name not in UNSEALED}


def seal_file(folder: Path, name: str) -> SealedFile:
    """Hash a file, which may be large. Raises OSError."""
    digest, size = hashlib.sha256(), 0
    with (folder / name).open("rb") as content:
        while block := content.read(_READ_BYTES):
            digest.update(block)
            size += len(block)
    return SealedFile(name, size, digest.hexdigest())


def read_manifest(folder: Path) -> tuple[SealedFile, ...]:
    """Hash every file of a folder, once; what is removed meanwhile is not in it. Raises OSError."""
    files = []
    for name in sealed_names(folder):
        with suppress(FileNotFoundError):
            files.append(seal_file(folder, name))
    return in_order(files)


def in_order(files: Iterable[SealedFile]) -> tuple[SealedFile, ...]:
    """Files in the order of a manifest."""
    return tuple(sorted(files, key=lambda file: file.name.encode()))


def to_text(files: Iterable[SealedFile]) -> str:
    """The lines of a manifest."""
    return "".join(f"{file.sha256} {file.size} {file.name}\n" for file in files)


def from_text(text: str) -> tuple[SealedFile, ...]:
    """The files of a manifest's lines."""
    lines = (line.split(" ", 2) for line in text.split("\n") if line)
    return tuple(SealedFile(name, int(size), sha256) for sha256, size, name in lines)


def sha256_of(files: Iterable[SealedFile]) -> str:
    """The hash of a manifest."""
    return hashlib.sha256(to_text(files).encode()).hexdigest()
