"""An object store in memory, for tests of what reads from one."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from aisbench_core.base.errors import CloudNotFound
from aisbench_core.base.messages import make_verbatim
from aisbench_core.cloud.ports import ObjectStat, OnProgress
from aisbench_core.model import DirectoryEntry, DirectoryPage


class MemoryStore:
    """Keeps the contract of ObjectStore for one bucket; tests change `contents` as other people would."""

    def __init__(self, contents: Mapping[str, bytes], page: int = 1000) -> None:
        self.contents = dict(contents)
        self.page = page

    def put(self, path: str, source: Path | bytes) -> ObjectStat:
        self.contents[path] = source if isinstance(source, bytes) else source.read_bytes()
        return self._stat(path)

    def put_many(self, pairs: Sequence[tuple[str, Path]], on_progress: OnProgress) -> None:
        for done, (path, source) in enumerate(pairs, start=1):
            self.put(path, source)
            on_progress(done, len(pairs))

    def get(self, path: str, target: Path) -> None:
        target.write_bytes(self.read(path))

    def read(self, path: str, start: int = 0) -> bytes:
        if path not in self.contents:
            raise CloudNotFound(make_verbatim(f"{path} is not there"), operation=f"read {path}")
        return self.contents[path][start:]

    def read_range(self, path: str, start: int, size: int) -> bytes:
        return self.read(path, start)[:size]

    def read_many(self, paths: Iterable[str]) -> Mapping[str, bytes]:
        return {path: self.contents[path] for path in paths if path in self.contents}

    def list(self, prefix: str) -> Sequence[ObjectStat]:
        return [self._stat(path) for path in sorted(self.contents) if path.startswith(prefix)]

    def pages(self, prefix: str) -> Iterator[Sequence[ObjectStat]]:
        # Like OBS, each page is what is there when it is asked for, after the last key of the page before.
        last = ""
        while page := [stat for stat in self.list(prefix) if stat.path > last][: self.page]:
            yield page
            last = page[-1].path

    def first(self, prefix: str, most: int) -> Sequence[ObjectStat]:
        return self.list(prefix)[:most]

    def directory(self, path: str, most: int, after: str = "") -> DirectoryPage:
        entries: dict[str, DirectoryEntry] = {}
        for stat in self.list(path):
            name, slash, _ = stat.path[len(path) :].partition("/")
            entry = DirectoryEntry(path + name + slash, None if slash else stat.size)
            if name + slash and entry.path > after:
                entries.setdefault(entry.path, entry)
        page = sorted(entries.values(), key=lambda entry: entry.path)
        return DirectoryPage(path, tuple(page[:most]), page[most - 1].path if len(page) > most else "")

    def location(self, bucket: str) -> str:
        if not any(path.startswith(f"/{bucket}/") for path in self.contents):
            raise CloudNotFound(make_verbatim(f"{bucket} is not there"), operation=f"get the region of {bucket}")
        return "memory"

    def head(self, path: str) -> ObjectStat | None:
        return self._stat(path) if path in self.contents else None

    def copy(self, path: str, target: str) -> None:
        self.contents[target] = self.read(path)

    def delete(self, path: str) -> None:
        self.contents.pop(path, None)

    def delete_many(self, paths: Sequence[str]) -> None:
        for path in paths:
            self.delete(path)

    def make_directory(self, path: str) -> None:
        self.contents.setdefault(path, b"")

    def _stat(self, path: str) -> ObjectStat:
        content = self.contents[path]
        return ObjectStat(path, len(content), hashlib.md5(content, usedforsecurity=False).hexdigest())
