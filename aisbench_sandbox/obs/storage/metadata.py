"""The objects' metadata besides their bytes (ETag, headers): a journal that stays consistent with the files."""

# An entry is valid only for a file with exactly the modification time and size that it was written for. It is written
# before its file is renamed into place, so the latest entry of a key may describe an object that a crash prevented;
# therefore the previous one is kept too. A file without a valid entry was put there, or changed, by a person.

import json
import os
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

_Version = tuple[int, int]  # modification time in nanoseconds, size in bytes

_MAX_VERSIONS = 2  # the current one, and the one before it in case the current one never came into being
_SLACK_LINES = 10_000  # outdated lines that do not justify rewriting the journal


@dataclass(frozen=True, slots=True)
class ObjectMetadata:
    etag: str
    headers: Mapping[str, str] = field(default_factory=dict)


class MetadataJournal:
    """The metadata of all objects, in memory and in one file. Not thread-safe."""

    def __init__(self, journal: Path) -> None:
        self._journal = journal
        self._metadata: dict[tuple[str, str], dict[_Version, ObjectMetadata]] = {}
        self._lines = 0
        self._close: Callable[[], object] = lambda: None
        # Rewritten at once, so that a last line cut short by a crash is gone before new lines follow it.
        if journal.exists():
            self._replay_journal()
        self._rewrite_journal()

    def find(self, bucket: str, key: str, facts: os.stat_result) -> ObjectMetadata | None:
        return self._metadata.get((bucket, key), {}).get((facts.st_mtime_ns, facts.st_size))

    def add(self, bucket: str, key: str, facts: os.stat_result, metadata: ObjectMetadata) -> None:
        version = (facts.st_mtime_ns, facts.st_size)
        self._add_version(bucket, key, version, metadata)
        self._append_line(_to_line(bucket, key, version, metadata))

    def drop(self, bucket: str, key: str) -> None:
        if self._metadata.pop((bucket, key), None):
            self._append_line(json.dumps([bucket, key]) + "\n")

    def _add_version(self, bucket: str, key: str, version: _Version, metadata: ObjectMetadata) -> None:
        versions = self._metadata.setdefault((bucket, key), {})
        versions.pop(version, None)
        versions[version] = metadata
        while len(versions) > _MAX_VERSIONS:
            del versions[next(iter(versions))]

    def _append_line(self, line: str) -> None:
        if self._lines > _SLACK_LINES + 2 * _MAX_VERSIONS * len(self._metadata):
            self._rewrite_journal()  # the entry is already in memory
            return
        # One unbuffered write to a file opened for appending: kill -9 can cut short this line only, never an earlier
        # one.
        os.write(self._handle, line.encode())
        self._lines += 1

    def _rewrite_journal(self) -> None:
        fresh = self._journal.with_suffix(".new")
        with fresh.open("w") as file:
            file.writelines(self._all_lines())
        # By rename, so a crash leaves the old journal or the new one.
        fresh.replace(self._journal)
        self._close()
        self._handle = os.open(self._journal, os.O_WRONLY | os.O_APPEND)
        # The journal has no close(): its file is closed with the last reference to the journal.
        self._close = weakref.finalize(self, os.close, self._handle)
        self._lines = sum(len(versions) for versions in self._metadata.values())

    def _all_lines(self) -> Iterator[str]:
        for (bucket, key), versions in self._metadata.items():
            for version, metadata in versions.items():
                yield _to_line(bucket, key, version, metadata)

    def _replay_journal(self) -> None:
        for line in self._journal.read_text().splitlines():
            try:
                bucket, key, *rest = json.loads(line)
            except ValueError:  # the last line, truncated by a crash
                continue
            if rest:
                version, etag, headers = rest
                self._add_version(bucket, key, (version[0], version[1]), ObjectMetadata(etag, headers))
            else:
                self._metadata.pop((bucket, key), None)


def _to_line(bucket: str, key: str, version: _Version, metadata: ObjectMetadata) -> str:
    return json.dumps([bucket, key, version, metadata.etag, dict(metadata.headers)]) + "\n"
