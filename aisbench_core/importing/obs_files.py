"""The files below a directory in OBS, as reading old results takes them: listed once, fetched when they are opened."""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from aisbench_core.cloud.ports import ObjectStat, ObjectStore
from aisbench_core.errors import Problem, SpecError
from aisbench_core.history.found import InputFile
from aisbench_core.messages import Message

SCHEME = "obs://"

SMALL = 1024 * 1024
"""Bytes of an object that is fetched together with its neighbours; larger ones go through a file."""

BATCH = 64
"""Small objects fetched together; as many are held at most."""


def obs_path(text: str) -> str:
    """`obs://bucket/directory` as OBS paths are written here: `/bucket/directory/`. Raises SpecError."""
    place = text.strip().removeprefix(SCHEME).strip("/")
    if not text.strip().startswith(SCHEME) or not place:
        raise SpecError(
            Message("directory in OBS"),
            [Problem("path", Message("must begin with {scheme}bucket/", scheme=SCHEME), repr(text))],
        )
    return f"/{place}/"


@contextmanager
def files_below(objects: ObjectStore, directory: str) -> Iterator[list[InputFile]]:
    """Every object below a directory (`/bucket/directory/`), named after its place there, for as long as this lasts."""
    stats = [stat for stat in objects.list(directory) if not stat.path.endswith("/")]
    small = _Small(objects, [stat.path for stat in stats if stat.size <= SMALL])
    with tempfile.TemporaryDirectory(prefix="aisbench-import-") as folder:
        large = partial(_fetched, objects, Path(folder))
        yield [_file(stat, directory, small.open if stat.size <= SMALL else large) for stat in stats]


@dataclass(slots=True)
class _Small:
    """Small objects, in key order: opening one fetches those after it as well."""

    objects: ObjectStore
    paths: Sequence[str]
    held: Mapping[str, bytes] = field(default_factory=dict)

    def open(self, path: str) -> BinaryIO:
        """The object's bytes. Raises FileNotFoundError when it has gone since it was listed."""
        if path not in self.held:
            start = self.paths.index(path)
            self.held = self.objects.read_many(self.paths[start : start + BATCH])
        if path not in self.held:
            raise FileNotFoundError(path)
        return BytesIO(self.held[path])


def _file(stat: ObjectStat, directory: str, opened: Callable[[str], BinaryIO]) -> InputFile:
    return InputFile(stat.path.removeprefix(directory), stat.size, partial(opened, stat.path))


def _fetched(objects: ObjectStore, folder: Path, path: str) -> BinaryIO:
    target = folder / "object"
    objects.get(path, target)
    opened = target.open("rb")
    target.unlink()
    return opened
