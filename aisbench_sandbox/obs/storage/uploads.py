"""Multipart uploads: parts are kept in a folder, also across restarts, until they are joined to one object."""

import json
import re
import shutil
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import md5
from pathlib import Path

from aisbench_sandbox.files import write_atomically
from aisbench_sandbox.obs.storage.object_paths import common_prefix
from aisbench_sandbox.obs.storage.objects import Objects
from aisbench_sandbox.obs.storage.staging import StagedObject
from aisbench_sandbox.obs.storage.stored import ObjectError, StoredObject

_ID = re.compile(r"[0-9a-f]{32}")
_ABOUT = "upload.json"
# OBS and S3 have the same limit.
_MAX_PARTS = 10_000
# The smallest part that esdk-obs-python sends; S3 wants 5 MB. The OBS documents do not say.
_MIN_BYTES = 100 * 1024  # of every part but the last


@dataclass(frozen=True, slots=True)
class Upload:
    """A multipart upload that is neither completed nor aborted."""

    upload_id: str
    bucket: str
    key: str
    started: datetime
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Part:
    """One received part: its number from 1, ETag without quotes, size in bytes, and time of receipt."""

    number: int
    etag: str
    size: int
    modified: datetime


@dataclass(frozen=True, slots=True)
class UploadPage:
    """One page of a listing; the two markers ask for the next one."""

    uploads: tuple[Upload, ...] = ()
    prefixes: tuple[str, ...] = ()
    truncated: bool = False
    next_key: str = ""
    next_id: str = ""


class Uploads:
    """The multipart uploads of one object store."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._folder = objects.root / ".uploads"
        self._folder.mkdir(exist_ok=True)
        self._lock = threading.RLock()  # held for lookups and renames
        self._joining: set[str] = set()  # uploads that are being joined, which must not be changed
        for folder in self._folder.iterdir():
            # `start` makes the folder before the file, so one without the other is an upload whose client got no id.
            if not (folder / _ABOUT).is_file():  # left by a crash
                shutil.rmtree(folder)
        objects.on_deleted(self._forget_bucket)

    def start(self, bucket: str, key: str, headers: Mapping[str, str]) -> str:
        """Start an upload and return its id. NoSuchBucket."""
        self._objects.require_bucket(bucket)
        upload_id = f"{time.time_ns():016x}{uuid.uuid4().hex[:16]}"  # sorts by start
        about = {"bucket": bucket, "key": key, "started": time.time(), "headers": dict(headers)}
        with self._lock:
            (self._folder / upload_id).mkdir()
            write_atomically(self._folder / upload_id / _ABOUT, json.dumps(about).encode())
        return upload_id

    def list_pending(self, bucket: str, prefix: str = "") -> tuple[Upload, ...]:
        """The bucket's unfinished uploads, ordered by key and start."""
        self._objects.require_bucket(bucket)
        mine = (upload for upload in self._list_uploads(bucket) if upload.key.startswith(prefix))
        return tuple(sorted(mine, key=_get_sort_key))

    def require(self, bucket: str, key: str, upload_id: str) -> Upload:
        """The upload. NoSuchBucket, NoSuchUpload."""
        self._objects.require_bucket(bucket)
        upload = None if upload_id in self._joining else self._read_upload(upload_id)
        if upload is None or (upload.bucket, upload.key) != (bucket, key):
            raise ObjectError("NoSuchUpload", "The upload id is wrong, or the upload was completed or aborted.")
        return upload

    def parts(self, bucket: str, key: str, upload_id: str) -> tuple[Part, ...]:
        """The parts received so far, ordered by number. NoSuchUpload."""
        with self._lock:
            self.require(bucket, key, upload_id)
            return tuple(_to_part(number, file) for number, file in sorted(self._find_parts(upload_id).items()))

    def part(self, bucket: str, key: str, upload_id: str, number: int, staged: StagedObject) -> str:
        """Store one part, replacing one with the same number; returns its ETag. NoSuchUpload."""
        if not 1 <= number <= _MAX_PARTS:
            raise ObjectError("InvalidArgument", f"A part number is 1 to {_MAX_PARTS}.")
        # Only now, after the part's bytes were received: the upload may have ended meanwhile.
        with self._lock:
            self.require(bucket, key, upload_id)
            staged.finish(time.time_ns())
            replaced = list((self._folder / upload_id).glob(f"{number:05}-*"))
            target = self._folder / upload_id / f"{number:05}-{staged.md5}"
            # The new part first, then the old one goes: after a crash in between both are there, and the part, which
            # got no answer, is sent again.
            staged.move_to(target)
            for file in replaced:
                if file != target:
                    file.unlink()
        return staged.md5

    def complete(self, bucket: str, key: str, upload_id: str, wanted: Sequence[tuple[int, str]]) -> StoredObject:
        """Join these (number, ETag) parts to one object; its ETag is the MD5 of the parts' MD5s and their number.

        NoSuchUpload, InvalidPart, InvalidPartOrder, EntityTooSmall."""
        with self._lock:
            upload = self.require(bucket, key, upload_id)
            parts = self._choose_parts(upload_id, wanted)
            # Joined without the lock, since it takes long for large objects. Meanwhile the upload is as good as gone
            # for others.
            self._joining.add(upload_id)
        try:
            with self._objects.stage() as staged:
                staged.join(parts)
                stat = self._objects.commit(bucket, key, staged, upload.headers, _compute_etag(parts))
            shutil.rmtree(self._folder / upload_id)
        finally:
            with self._lock:
                self._joining.discard(upload_id)
        return stat

    def abort(self, bucket: str, key: str, upload_id: str) -> None:
        with self._lock:
            self.require(bucket, key, upload_id)
            # After the object is in place: a crash in between leaves an upload to abort, not a lost object.
            shutil.rmtree(self._folder / upload_id)

    def _forget_bucket(self, bucket: str) -> None:
        with self._lock:
            for upload in self._list_uploads(bucket):
                shutil.rmtree(self._folder / upload.upload_id)

    def _list_uploads(self, bucket: str) -> list[Upload]:
        with self._lock:
            uploads = [upload for path in self._folder.iterdir() if (upload := self._read_upload(path.name))]
        return [upload for upload in uploads if upload.bucket == bucket]

    def _read_upload(self, upload_id: str) -> Upload | None:
        about = self._folder / upload_id / _ABOUT
        # Checked before it becomes a path: an id comes from the request.
        if not _ID.fullmatch(upload_id) or not about.is_file():
            return None
        stored = json.loads(about.read_text())
        started = datetime.fromtimestamp(stored["started"], UTC)
        return Upload(upload_id, stored["bucket"], stored["key"], started, stored["headers"])

    def _find_parts(self, upload_id: str) -> dict[int, Path]:
        files = (self._folder / upload_id).glob("[0-9]*-*")
        return {int(file.name[:5]): file for file in files}

    def _choose_parts(self, upload_id: str, wanted: Sequence[tuple[int, str]]) -> list[Path]:
        numbers = [number for number, _ in wanted]
        if not numbers:
            raise ObjectError("MalformedXML", "Name at least one part.")
        if numbers != sorted(set(numbers)):
            raise ObjectError("InvalidPartOrder", "The parts are not in ascending order of their numbers.")
        there = self._find_parts(upload_id)
        for number, etag in wanted:
            if number not in there or there[number].name[6:] != etag:
                raise ObjectError("InvalidPart", f"Part {number} was not uploaded, or its ETag is another one.")
        chosen = [there[number] for number in numbers]
        # Refused on completion, as in S3: which part is the last is not known before.
        if any(part.stat().st_size < _MIN_BYTES for part in chosen[:-1]):
            raise ObjectError("EntityTooSmall", f"Every part but the last has at least {_MIN_BYTES} bytes.")
        return chosen


def upload_page(
    uploads: Sequence[Upload], prefix: str, delimiter: str, after: tuple[str, str], limit: int
) -> UploadPage:
    """At most `limit` uploads and common prefixes after (key, upload id), or without an id, after the key.

    The uploads are in the order of `Uploads.pending`."""
    entries: dict[tuple[str, str], Upload | None] = {}
    for upload in uploads:
        name = common_prefix(upload.key, prefix, delimiter)
        position = (name, "" if name != upload.key else upload.upload_id)
        # Without an id, or for a common prefix, the whole key counts as listed.
        behind = name > after[0] if not after[1] or not position[1] else position > after
        if not behind or position in entries:
            continue
        if len(entries) == limit:
            return UploadPage(*_split_entries(entries), True, *(next(reversed(entries)) if entries else after))
        entries[position] = upload if position[1] else None
    return UploadPage(*_split_entries(entries))


def _split_entries(entries: Mapping[tuple[str, str], Upload | None]) -> tuple[tuple[Upload, ...], tuple[str, ...]]:
    uploads = tuple(upload for upload in entries.values() if upload)
    return uploads, tuple(name for (name, _), upload in entries.items() if not upload)


def _get_sort_key(upload: Upload) -> tuple[bytes, str]:
    return upload.key.encode(), upload.upload_id


def _to_part(number: int, file: Path) -> Part:
    facts = file.stat()
    return Part(number, file.name[6:], facts.st_size, datetime.fromtimestamp(facts.st_mtime, UTC))


def _compute_etag(parts: Sequence[Path]) -> str:
    # Of the binary digests, not of their hex, as in S3.
    digests = b"".join(bytes.fromhex(part.name[6:]) for part in parts)
    return f"{md5(digests, usedforsecurity=False).hexdigest()}-{len(parts)}"
