"""Files below a directory in OBS for the readers: listed once, downloaded when opened."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from aisbench_core.cloud.ports import ObjectStore
from aisbench_core.errors import Problem, SpecError
from aisbench_core.importing.readers.results import InputFile
from aisbench_core.messages import Message

SCHEME = "obs://"

SMALL = 1024 * 1024  # bytes; smaller objects are fetched in batches, larger ones through a file
BATCH = 64


def obs_path(text: str) -> str:
    """The path `/bucket/directory/` of `obs://bucket/directory`. Raises SpecError."""
    path = text.strip().removeprefix(SCHEME).strip("/")
    if not text.strip().startswith(SCHEME) or not path:
        raise SpecError(
            Message("directory in OBS"),
            [Problem("path", Message("must start with {scheme}bucket/", scheme=SCHEME), repr(text))],
        )
    return f"/{path}/"


@contextmanager
def files_below(objects: ObjectStore, directory: str) -> Iterator[list[InputFile]]:
    """Every object below a directory (`/bucket/directory/`), named by its relative path; valid inside the `with`."""
    stats = [stat for stat in objects.list(directory) if not stat.path.endswith("/")]
    small = _BatchReader(objects, [stat.path for stat in stats if stat.size <= SMALL])
    with tempfile.TemporaryDirectory(prefix="aisbench-import-") as folder:
        large = partial(_download, objects, Path(folder))
        yield [
            InputFile(
                stat.path.removeprefix(directory),
                stat.size,
                partial(small.open if stat.size <= SMALL else large, stat.path),
            )
            for stat in stats
        ]


@dataclass(slots=True)
class _BatchReader:
    """Small objects in key order. Opening one also fetches the next ones: the readers open most files in that order."""

    objects: ObjectStore
    paths: Sequence[str]
    batch: Mapping[str, bytes] = field(default_factory=dict)

    def open(self, path: str) -> BinaryIO:
        """The object's bytes. Raises FileNotFoundError if it was deleted since it was listed."""
        if path not in self.batch:
            start = self.paths.index(path)
            self.batch = self.objects.read_many(self.paths[start : start + BATCH])
        if path not in self.batch:
            raise FileNotFoundError(path)
        return BytesIO(self.batch[path])


def _download(objects: ObjectStore, folder: Path, path: str) -> BinaryIO:
    target = folder / "object"
    objects.get(path, target)
    file = target.open("rb")
    target.unlink()  # the open file stays readable, and frees the disk when it is closed
    return file
