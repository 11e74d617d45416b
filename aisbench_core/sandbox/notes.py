"""What is known of an object besides its bytes: its ETag and headers, in a small file that cannot get out of step.

A note is named after its object's bucket, key, modification time and size. It can therefore never describe other
bytes than those it was written for: a crash between writing a note and renaming the object's file leaves a note that
nobody looks for, and a file that a person put there or changed has no note yet.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Note:
    etag: str
    headers: Mapping[str, str] = field(default_factory=dict)


class Notes:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, bucket: str, key: str, facts: os.stat_result) -> Path:
        name = sha256(f"{bucket}/{key}".encode()).hexdigest()
        return self._folder / name[:2] / f"{name[2:]}-{facts.st_mtime_ns}-{facts.st_size}.json"

    def write(self, bucket: str, key: str, facts: os.stat_result, note: Note) -> Path:
        path = self.path(bucket, key, facts)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"key": f"{bucket}/{key}", "etag": note.etag, "headers": dict(note.headers)}))
        return path

    def read(self, bucket: str, key: str, facts: os.stat_result) -> Note | None:
        try:
            known = json.loads(self.path(bucket, key, facts).read_text())
        except (FileNotFoundError, ValueError):  # never written, or only half
            return None
        return Note(known["etag"], known["headers"])
