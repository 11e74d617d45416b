"""Multipart uploads: parts wait in a folder of their own, also over a restart, until they are joined to one object."""

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

from aisbench_core.sandbox.drafts import Draft
from aisbench_core.sandbox.objects import ObjectError, Objects, Stat

_ID = re.compile(r"[0-9a-f]{32}")
_MOST_PARTS = 10_000
_LEAST_BYTES = 100 * 1024  # of every part but the last


@dataclass(frozen=True, slots=True)
class Upload:
    """A multipart upload that was started and neither completed nor aborted."""

    upload_id: str
    bucket: str
    key: str
    started: datetime
    headers: Mapping[str, str]


class Uploads:
    """The multipart uploads of one object store."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._folder = objects.root / ".uploads"
        self._folder.mkdir(exist_ok=True)
        self._lock = threading.RLock()

    def start(self, bucket: str, key: str, headers: Mapping[str, str]) -> str:
        """Begin an upload and return its id. NoSuchBucket."""
        self._objects.require_bucket(bucket)
        upload_id = uuid.uuid4().hex
        about = {"bucket": bucket, "key": key, "started": time.time(), "headers": dict(headers)}
        with self._lock:
            (self._folder / upload_id).mkdir()
            (self._folder / upload_id / "upload.json").write_text(json.dumps(about))
        return upload_id

    def pending(self, bucket: str, prefix: str = "") -> tuple[Upload, ...]:
        """The bucket's unfinished uploads, in order of key and start."""
        self._objects.require_bucket(bucket)
        mine = (upload for upload in self._all(bucket) if upload.key.startswith(prefix))
        return tuple(sorted(mine, key=lambda upload: (upload.key, upload.started)))

    def part(self, bucket: str, key: str, upload_id: str, number: int, draft: Draft) -> str:
        """Keep one part, replacing an earlier one of the same number; returns its ETag. NoSuchUpload."""
        if not 1 <= number <= _MOST_PARTS:
            raise ObjectError("InvalidArgument", f"A part number is 1 to {_MOST_PARTS}.")
        with self._lock:
            self._require(bucket, key, upload_id)
            draft.finish(time.time_ns())
            replaced = self._parts(upload_id).get(number)
            target = self._folder / upload_id / f"{number:05}-{draft.md5}"
            draft.path.replace(target)
            if replaced and replaced != target:
                replaced.unlink()
        return draft.md5

    def complete(self, bucket: str, key: str, upload_id: str, wanted: Sequence[tuple[int, str]]) -> Stat:
        """Join the wanted (number, ETag) parts to one object; its ETag is the MD5 of the parts' MD5s and their number.

        NoSuchUpload, InvalidPart, InvalidPartOrder, EntityTooSmall."""
        with self._lock, self._objects.draft() as draft:
            upload = self._require(bucket, key, upload_id)
            parts = self._chosen(upload_id, wanted)
            digests = b"".join(bytes.fromhex(part.name[6:]) for part in parts)
            etag = f"{md5(digests, usedforsecurity=False).hexdigest()}-{len(parts)}"
            for part in parts:
                draft.fill(part)
            stat = self._objects.commit(bucket, key, draft, upload.headers, etag)
            shutil.rmtree(self._folder / upload_id)
        return stat

    def abort(self, bucket: str, key: str, upload_id: str) -> None:
        with self._lock:
            self._require(bucket, key, upload_id)
            shutil.rmtree(self._folder / upload_id)

    def forget(self, bucket: str) -> None:
        """Drop the uploads of a bucket that was deleted."""
        with self._lock:
            for upload in self._all(bucket):
                shutil.rmtree(self._folder / upload.upload_id)

    def _all(self, bucket: str) -> list[Upload]:
        with self._lock:
            uploads = [upload for path in self._folder.iterdir() if (upload := self._read(path.name))]
        return [upload for upload in uploads if upload.bucket == bucket]

    def _read(self, upload_id: str) -> Upload | None:
        about = self._folder / upload_id / "upload.json"
        if not _ID.fullmatch(upload_id) or not about.is_file():
            return None
        known = json.loads(about.read_text())
        started = datetime.fromtimestamp(known["started"], UTC)
        return Upload(upload_id, known["bucket"], known["key"], started, known["headers"])

    def _require(self, bucket: str, key: str, upload_id: str) -> Upload:
        self._objects.require_bucket(bucket)
        upload = self._read(upload_id)
        if upload is None or (upload.bucket, upload.key) != (bucket, key):
            raise ObjectError("NoSuchUpload", "The upload id is wrong, or the upload was completed or aborted.")
        return upload

    def _parts(self, upload_id: str) -> dict[int, Path]:
        files = (self._folder / upload_id).glob("[0-9]*-*")
        return {int(file.name[:5]): file for file in files}

    def _chosen(self, upload_id: str, wanted: Sequence[tuple[int, str]]) -> list[Path]:
        numbers = [number for number, _ in wanted]
        if not numbers:
            raise ObjectError("MalformedXML", "Name at least one part.")
        if numbers != sorted(set(numbers)):
            raise ObjectError("InvalidPartOrder", "The parts are not in ascending order of their numbers.")
        there = self._parts(upload_id)
        for number, etag in wanted:
            if number not in there or there[number].name[6:] != etag:
                raise ObjectError("InvalidPart", f"Part {number} was not uploaded, or its ETag is another one.")
        chosen = [there[number] for number in numbers]
        if any(part.stat().st_size < _LEAST_BYTES for part in chosen[:-1]):
            raise ObjectError("EntityTooSmall", f"Every part but the last has at least {_LEAST_BYTES} bytes.")
        return chosen
