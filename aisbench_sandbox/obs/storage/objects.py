"""The sandbox's object store: buckets and objects as files on disk."""

# Below the root: `<bucket>/…` has each object's bytes under its key (see object_paths), `.notes.jsonl` its metadata
# (see metadata), `.versions/` what it replaced (see versions), `.drafts/` what is being received. An object appears by
# one rename, after its metadata was written: it is complete or absent, also after kill -9 (not after a power failure:
# there is no fsync).

import heapq
import itertools
import os
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from aisbench_sandbox.obs.storage import object_paths
from aisbench_sandbox.obs.storage.bucket_settings import BucketSettings
from aisbench_sandbox.obs.storage.metadata import MetadataJournal, ObjectMetadata
from aisbench_sandbox.obs.storage.staging import Source, StagedObject, md5_of
from aisbench_sandbox.obs.storage.stored import (
    NULL,
    VERSION_ID,
    BucketInfo,
    Headers,
    Listing,
    ObjectError,
    StoredObject,
    to_utc,
)
from aisbench_sandbox.obs.storage.versions import ENABLED, SUSPENDED, KeptVersion, VersionArchive

# OBS service overview, limits: 3 to 63 characters, no `..`, `.-` or `-.`, not like an IP address.
_BUCKET = re.compile(r"(?!.*(\.\.|\.-|-\.))(?!\d+(\.\d+){3}$)[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
# OBS service overview, limits; counted in UTF-8.
_KEY_BYTES = 1024
_HALF_CHARACTER = re.compile(r"[\ud800-\udfff]")  # how Python decodes file names that are not UTF-8
MAX_PAGE = 1000
# OBS returns this header with objects that were made by appending.
OBJECT_TYPE = "x-obs-object-type"
_APPENDABLE = {OBJECT_TYPE: "Appendable"}
# The name of a bucket's setting: Enabled, Suspended, or never set.
VERSIONING = "versioning"


# OBS API reference, copying objects: larger ones are copied in parts.
LARGEST_COPY = 5 * 1024**3


class Objects:
    """The object store of one sandbox. Thread-safe; one process owns the folder."""

    def __init__(self, root: Path, largest_copy: int = LARGEST_COPY) -> None:
        """`largest_copy`: bytes that one request copies at most."""
        self.root = root
        self.largest_copy = largest_copy
        self._staging = root / ".drafts"
        self._created = root / ".buckets"
        self._lock = threading.RLock()  # held for renames and lookups, not while bytes are received
        self._appending = threading.Lock()  # one append at a time; acquired before the other lock
        self._on_deleted: list[Callable[[str], None]] = []
        self._latest = 0
        self._numbers = itertools.count()
        # What a previous sandbox was receiving when it was killed.
        shutil.rmtree(self._staging, ignore_errors=True)
        for folder in (self._staging, self._created):
            folder.mkdir(parents=True, exist_ok=True)
        self._metadata = MetadataJournal(root / ".notes.jsonl")
        self.settings = BucketSettings(root / ".settings.json")
        self._archive = VersionArchive(root / ".versions")

    def create_bucket(self, bucket: str) -> None:
        if not _BUCKET.fullmatch(bucket):
            raise ObjectError("InvalidBucketName", "A bucket name has 3 to 63 characters: a-z, 0-9, - and .")
        with self._lock:
            try:
                (self.root / bucket).mkdir()
            except FileExistsError as error:
                # The documents list this code, but S3 in some regions answers 200 to the owner.
                message = "Your previous request to create the named bucket succeeded and you already own it."
                raise ObjectError("BucketAlreadyOwnedByYou", message) from error
            # A directory's own time changes with what is put into it; the time of this file is the bucket's.
            (self._created / bucket).touch()

    def delete_bucket(self, bucket: str) -> None:
        with self._lock:
            folder = self.require_bucket(bucket)
            if next(object_paths.walk(folder), None) or next(self._archive.keys(bucket), None):
                raise ObjectError("BucketNotEmpty", "The bucket you tried to delete is not empty.")
            # What is left below it can only be files that are no objects, such as links.
            shutil.rmtree(folder)
            (self._created / bucket).unlink(missing_ok=True)
            self.settings.drop(bucket)
        # After the lock is released, because the callback takes a lock of its own.
        for callback in self._on_deleted:
            callback(bucket)

    def on_deleted(self, callback: Callable[[str], None]) -> None:
        """Call this with the name of every deleted bucket."""
        self._on_deleted.append(callback)

    def buckets(self) -> tuple[BucketInfo, ...]:
        names = sorted(entry.name for entry in self.root.iterdir() if self.has_bucket(entry.name))
        born = (self._created / name if (self._created / name).exists() else self.root / name for name in names)
        return tuple(BucketInfo(name, to_utc(path.stat().st_mtime_ns)) for name, path in zip(names, born, strict=True))

    def has_bucket(self, bucket: str) -> bool:
        return bool(_BUCKET.fullmatch(bucket)) and object_paths.is_folder(f"{self.root}/{bucket}")

    def require_bucket(self, bucket: str) -> str:
        """The bucket's folder. NoSuchBucket."""
        if not self.has_bucket(bucket):
            raise ObjectError("NoSuchBucket", "The specified bucket does not exist.")
        return f"{self.root}/{bucket}"

    def require_storable(self, bucket: str, key: str) -> None:
        """NoSuchBucket, InvalidURI or KeyTooLongError if no object can be stored under this key."""
        self._find_path(bucket, key)

    def stage(self) -> StagedObject:
        """A file to receive an object's bytes; use it in a `with` statement and `commit` it inside."""
        return StagedObject(self._staging / str(next(self._numbers)))

    def put(self, bucket: str, key: str, data: Source, headers: Headers | None = None) -> StoredObject:
        """Store one object, replacing an existing one."""
        with self.stage() as staged:
            staged.fill(data)
            return self.commit(bucket, key, staged, headers)

    def commit(
        self, bucket: str, key: str, staged: StagedObject, headers: Headers | None = None, etag: str = ""
    ) -> StoredObject:
        """Make the staged bytes the object of this key; its ETag is their MD5 unless another one is given."""
        own = {name.lower(): value for name, value in (headers or {}).items() if name.lower() != VERSION_ID}
        with self._lock:
            path = self._find_path(bucket, key)
            object_paths.make_folders(f"{self.root}/{bucket}", path)
            # The time is set before the metadata is written: it is half of what ties the two together.
            staged.finish(self._next_instant())
            facts = staged.path.stat()
            metadata = ObjectMetadata(etag or staged.md5, {**own, **self._name_version(bucket, facts.st_mtime_ns)})
            self._keep_version(bucket, key, path)
            # Metadata first: after a crash in between, the entry fits no file and is ignored. In the other order the
            # object would lose its headers.
            self._metadata.add(bucket, key, facts, metadata)
            staged.move_to(path)  # the new object is visible from here on
        return _to_stored_object(key, facts, metadata)

    def append(
        self, bucket: str, key: str, position: int, data: Source, headers: Headers | None = None
    ) -> StoredObject:
        """Append to an object, which is created if `position` is 0 and there is none.

        Only objects that were created by an append can be appended to. The object is copied, so that neither a reader
        nor a crash sees half an append. PositionNotEqualToLength, ObjectNotAppendable."""
        if self.settings.find(bucket, VERSIONING):
            raise ObjectError("NotImplemented", "Appending in a bucket with versioning is not implemented here.")
        with self._appending, self.stage() as staged:
            there = self.head(bucket, key)
            # The documents leave this case open; see docs/sandbox.md.
            if there and there.headers.get(OBJECT_TYPE) != _APPENDABLE[OBJECT_TYPE]:
                raise ObjectError("ObjectNotAppendable", "The object was not made by appending.")
            _check_position(position, there)
            if there:
                # Copied without the lock, which readers need, however long it takes.
                staged.fill(Path(self._find_path(bucket, key)))
            staged.fill(data)
            with self._lock:
                if self.head(bucket, key) != there:  # replaced meanwhile
                    _check_position(-1, there)
                return self.commit(bucket, key, staged, there.headers if there else {**(headers or {}), **_APPENDABLE})

    def copy(self, source: tuple[str, str, str], bucket: str, key: str, headers: Headers | None = None) -> StoredObject:
        """Copy the object `source` (bucket, key, version) with its headers, or with the given ones instead."""
        with self.open(*source) as (there, file):
            own = {name: value for name, value in there.headers.items() if name != OBJECT_TYPE}
            return self.put(bucket, key, file, own if headers is None else headers)

    def set_headers(self, bucket: str, key: str, headers: Headers) -> None:
        """Replace the stored headers of an object, whose bytes stay. NoSuchKey."""
        with self._lock, self.open(bucket, key) as (stat, file):
            self._metadata.add(bucket, key, os.fstat(file.fileno()), ObjectMetadata(stat.etag, headers))

    def head(self, bucket: str, key: str) -> StoredObject | None:
        """One object's metadata, or None if it is missing. NoSuchBucket."""
        return self._find_stored(key, bucket, self._find_path(bucket, key))

    def has_metadata(self, bucket: str, key: str) -> bool:
        """Whether its metadata is stored; else all of its bytes have to be read for the ETag."""
        facts = object_paths.facts_of_file(self._find_path(bucket, key))
        return facts is None or self._metadata.find(bucket, key, facts) is not None

    @contextmanager
    def open(self, bucket: str, key: str, version_id: str = "") -> Iterator[tuple[StoredObject, BinaryIO]]:
        """The object's metadata and an open file, which stays the same version while the object is replaced.

        NoSuchKey, NoSuchVersion; MethodNotAllowed if the version is a delete marker."""
        opened = self._open_object(key, bucket, self._find_path(bucket, key))
        if version_id and (opened is None or opened[0].version_id != version_id):
            if opened:
                opened[1].close()
            opened = self._archive.open(bucket, key, version_id)
        if opened is None:
            marker = next((each.version_id for each in self._archive.list_kept(bucket, key)), "")
            raise ObjectError("NoSuchKey", "The specified key does not exist.", marker)
        with opened[1]:
            yield opened

    def read(self, bucket: str, key: str, start: int = 0, end: int | None = None) -> bytes:
        """The bytes from `start` to `end` (exclusive); empty past the object's end. NoSuchKey."""
        with self.open(bucket, key) as (_, file):
            file.seek(start)
            return file.read() if end is None else file.read(max(0, end - start))

    def list(
        self, bucket: str, prefix: str = "", marker: str = "", delimiter: str = "", max_keys: int = MAX_PAGE
    ) -> Listing:
        """At most `max_keys` (and 1,000) keys and common prefixes after `marker`, in byte order. NoSuchBucket."""
        entries: dict[str, StoredObject | None] = {}
        # No key begins with a prefix that is longer than a key may be.
        limit = max(0, min(max_keys, MAX_PAGE)) if len(prefix) <= _KEY_BYTES else 0
        # Keys are folders and files here, so that a listing of directories need not look into them.
        keys = object_paths.walk(self.require_bucket(bucket), prefix, marker, first_of_folders=delimiter == "/")
        for key, path in keys if limit else ():
            name = object_paths.common_prefix(key, prefix, delimiter)
            # A common prefix that was on the last page equals the marker, while the keys that it stands for come
            # after it.
            if name in entries or name <= marker:
                continue
            # Only an entry beyond the page proves that there is another page.
            if len(entries) == limit:
                return _to_listing(entries, truncated=True)
            # Also the empty object `a/` of a directory is represented by the common prefix `a/`.
            if name != key or (delimiter and key.find(delimiter, len(prefix)) >= 0):
                entries[name] = None
            elif there := self._find_stored(key, bucket, path):  # else it was deleted meanwhile
                entries[name] = there
        return _to_listing(entries, truncated=False)

    def all_below(self, bucket: str, prefix: str) -> Iterator[StoredObject]:
        """Every object whose key begins with `prefix`, in byte order; pages are read as they are needed."""
        marker = ""
        while True:
            page = self.list(bucket, prefix, marker)
            yield from page.objects
            if not page.truncated:
                return
            marker = page.next_marker

    def delete(self, bucket: str, key: str) -> str:
        """Delete one object; a missing one is fine. Returns the id of its delete marker if it has one. NoSuchBucket."""
        with self._lock:
            path = self._find_path(bucket, key)
            self._keep_version(bucket, key, path)
            self._remove_file(bucket, key, path)
            instant = self._next_instant()
            marker = self._name_version(bucket, instant).get(VERSION_ID, "")
            if marker:
                self._archive.add(KeptVersion(bucket, key, marker, instant))
            return marker

    def delete_version(self, bucket: str, key: str, version_id: str) -> bool:
        """Delete one version for ever; a missing one is fine. Returns whether it was a delete marker. NoSuchBucket."""
        with self._lock:
            path = self._find_path(bucket, key)
            there = self._find_stored(key, bucket, path)
            kept = self._archive.find(bucket, key, version_id)
            if there and there.version_id == version_id:
                self._remove_file(bucket, key, path)
            elif kept:
                self._archive.remove(kept)
            self._restore_newest(bucket, key, path)
            return kept is not None and kept.is_marker

    def empty_bucket(self, bucket: str) -> None:
        """Delete all versions of all objects. NoSuchBucket."""
        for key in list(self.versioned_keys(bucket, "", "")):
            for version, _ in list(self.list_versions(bucket, key)):
                self.delete_version(bucket, key, version.version_id)

    def list_versions(self, bucket: str, key: str) -> Iterator[tuple[StoredObject, bool]]:
        """Every version of one object, newest first, and whether it is a delete marker."""
        with self._lock:
            there = self.head(bucket, key)
            kept = self._archive.list_kept(bucket, key)
        if there:
            yield there, False
        for version in kept:
            if not there or version.version_id != there.version_id:
                yield self._archive.describe(version), version.is_marker

    def versioned_keys(self, bucket: str, prefix: str, after: str) -> Iterator[str]:
        """The keys of all versions after one of them, in byte order. NoSuchBucket."""
        current = (key for key, _ in object_paths.walk(self.require_bucket(bucket), prefix, after))
        kept = (key for key in self._archive.keys(bucket) if key.startswith(prefix) and key > after)
        return (key for key, _ in itertools.groupby(heapq.merge(current, kept)))

    def usage(self, bucket: str) -> tuple[int, int]:
        """The bucket's size in bytes and its number of objects."""
        paths = object_paths.walk(self.require_bucket(bucket))
        sizes = [facts.st_size for _, path in paths if (facts := object_paths.facts_of_file(path))]
        return sum(sizes), len(sizes)

    def _find_path(self, bucket: str, key: str) -> str:
        folder = self.require_bucket(bucket)
        if _HALF_CHARACTER.search(key):
            raise ObjectError("InvalidURI", "A key is text that UTF-8 can say.")
        if not 0 < len(key.encode()) <= _KEY_BYTES:
            raise ObjectError("KeyTooLongError", f"A key has 1 to {_KEY_BYTES} bytes.")
        return object_paths.locate(folder, key)

    def _find_stored(self, key: str, bucket: str, path: str) -> StoredObject | None:
        """The object's metadata, without opening the file if it is stored."""
        with self._lock:
            # File and entry are looked up under the lock that `commit` holds while it changes both.
            facts = object_paths.facts_of_file(path)
            metadata = facts and self._metadata.find(bucket, key, facts)
        if facts and metadata:
            return _to_stored_object(key, facts, metadata)
        opened = self._open_object(key, bucket, path)
        if opened is None:
            return None
        opened[1].close()
        return opened[0]

    def _name_version(self, bucket: str, instant: int) -> Headers:
        """The id of a new version, if the bucket has versioning."""
        status = self.settings.find(bucket, VERSIONING)
        return {VERSION_ID: NULL if status == SUSPENDED else f"G001{instant:028X}"} if status else {}

    def _keep_version(self, bucket: str, key: str, path: str) -> None:
        """Keep the current version of an object that is about to go, as far as the bucket's versioning says."""
        status = self.settings.find(bucket, VERSIONING)
        if status == SUSPENDED and (old := self._archive.find(bucket, key, NULL)):
            self._archive.remove(old)
        there = self._find_stored(key, bucket, path) if status else None
        if there and (status == ENABLED or there.version_id != NULL):
            instant = Path(path).stat().st_mtime_ns
            self._archive.add(KeptVersion(bucket, key, there.version_id, instant, there.etag, there.headers), path)

    def _restore_newest(self, bucket: str, key: str, path: str) -> None:
        """Make the newest version current, unless one is, or it is a delete marker."""
        kept = self._archive.list_kept(bucket, key)
        if kept and not kept[0].is_marker and not object_paths.is_file(path):
            object_paths.make_folders(f"{self.root}/{bucket}", path)
            facts = self._archive.path(kept[0]).stat()
            self._metadata.add(bucket, key, facts, ObjectMetadata(kept[0].etag, kept[0].headers))
            Path(path).hardlink_to(self._archive.path(kept[0]))
            self._archive.remove(kept[0])

    def _remove_file(self, bucket: str, key: str, path: str) -> None:
        # S3 and OBS answer a delete with 204 whether or not the object exists.
        if object_paths.is_file(path):
            Path(path).unlink()
            self._metadata.drop(bucket, key)
            object_paths.remove_empty_folders(f"{self.root}/{bucket}", path)

    def _open_object(self, key: str, bucket: str, path: str) -> tuple[StoredObject, BinaryIO] | None:
        with self._lock:
            if not object_paths.is_file(path):
                return None
            file = Path(path).open("rb")  # noqa: SIM115 - whoever gets it closes it
            facts = os.fstat(file.fileno())
            metadata = self._metadata.find(bucket, key, facts)
        if metadata is None:  # a person put it there
            # Without the lock, since the file may be large. If two requests do this at once, they write the same
            # entry.
            metadata = ObjectMetadata(md5_of(file))
            file.seek(0)
            with self._lock:
                self._metadata.add(bucket, key, facts, metadata)
        return _to_stored_object(key, facts, metadata), file

    def _next_instant(self) -> int:
        """Now in nanoseconds, and never the same twice: it identifies the version of an object."""
        self._latest = max(self._latest + 1, time.time_ns())
        return self._latest


def _check_position(position: int, there: StoredObject | None) -> None:
    if position != (there.size if there else 0):
        raise ObjectError("PositionNotEqualToLength", "The position is not the length of the object.")


def _to_stored_object(key: str, facts: os.stat_result, metadata: ObjectMetadata) -> StoredObject:
    return StoredObject(key, facts.st_size, metadata.etag, to_utc(facts.st_mtime_ns), metadata.headers)


def _to_listing(entries: dict[str, StoredObject | None], *, truncated: bool) -> Listing:
    objects = tuple(stat for stat in entries.values() if stat)
    prefixes = tuple(name for name, stat in entries.items() if not stat)
    return Listing(objects, prefixes, truncated, next(reversed(entries)) if truncated else "")
