"""Versions of objects that are not the current one, and delete markers, each a file of its own."""

# The current version of an object is the file under its key, so that nothing else need know of versions. What it
# replaces moves here: `<name>.json` says what it is, `<name>` has the bytes; a delete marker has none.

import json
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from aisbench_sandbox.files import write_atomically
from aisbench_sandbox.obs.storage.stored import VERSION_ID, ObjectError, StoredObject, to_utc

ENABLED, SUSPENDED = "Enabled", "Suspended"


@dataclass(frozen=True, slots=True)
class KeptVersion:
    """A version that is not the current one. `at`: when it was made, in nanoseconds; a delete marker has no `etag`.

    `name`: of its files."""

    bucket: str
    key: str
    version_id: str
    at: int
    etag: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    name: str = field(default_factory=lambda: uuid.uuid4().hex)

    @property
    def is_marker(self) -> bool:
        """Whether it says that the object was deleted."""
        return not self.etag


class VersionArchive:
    """All such versions of one object store. Not thread-safe."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(exist_ok=True)
        kept = [KeptVersion(**json.loads(file.read_text("utf-8"))) for file in folder.glob("*.json")]
        self._by_key: dict[tuple[str, str], list[KeptVersion]] = {}
        for version in sorted(kept, key=lambda version: version.at):
            self._by_key.setdefault((version.bucket, version.key), []).append(version)

    def list_kept(self, bucket: str, key: str) -> list[KeptVersion]:
        """Those of one object, newest first."""
        return self._by_key.get((bucket, key), [])[::-1]

    def keys(self, bucket: str) -> Iterator[str]:
        """The keys that have any, in byte order."""
        return iter(sorted((key for held, key in self._by_key if held == bucket), key=str.encode))

    def path(self, version: KeptVersion) -> Path:
        """Where its bytes are."""
        return self._folder / version.name

    def find(self, bucket: str, key: str, version_id: str) -> KeptVersion | None:
        return next((each for each in self.list_kept(bucket, key) if each.version_id == version_id), None)

    def describe(self, version: KeptVersion) -> StoredObject:
        size = 0 if version.is_marker else self.path(version).stat().st_size
        headers = {**version.headers, VERSION_ID: version.version_id}
        return StoredObject(version.key, size, version.etag, to_utc(version.at), headers)

    def open(self, bucket: str, key: str, version_id: str) -> tuple[StoredObject, BinaryIO]:
        """NoSuchVersion; MethodNotAllowed if it is a delete marker."""
        version = self.find(bucket, key, version_id)
        if version is None:
            raise ObjectError("NoSuchVersion", "The specified version does not exist.")
        if version.is_marker:
            raise ObjectError("MethodNotAllowed", "The specified version is a delete marker.", version_id)
        return self.describe(version), self.path(version).open("rb")

    def add(self, version: KeptVersion, file: str = "") -> None:
        """Keep a version; `file` has its bytes, and stays."""
        if file:
            # A second name for the same bytes: whoever reads the object sees it until the next version replaces it.
            self.path(version).hardlink_to(file)
        about = {name: getattr(version, name) for name in KeptVersion.__slots__}
        write_atomically(self._folder / f"{version.name}.json", json.dumps(about).encode())
        self._by_key.setdefault((version.bucket, version.key), []).append(version)

    def remove(self, version: KeptVersion) -> None:
        """Forget a version, and its bytes."""
        (self._folder / f"{version.name}.json").unlink()
        self.path(version).unlink(missing_ok=True)
        kept = self._by_key[version.bucket, version.key]
        kept.remove(version)
        if not kept:
            del self._by_key[version.bucket, version.key]
