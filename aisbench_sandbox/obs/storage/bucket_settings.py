"""What is set for a whole bucket: access, lifecycle, versioning. One file for all buckets."""

import json
import threading
from pathlib import Path


class BucketSettings:
    """Texts by bucket and name, kept in a file. Thread-safe."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._values: dict[str, dict[str, str]] = json.loads(file.read_text("utf-8")) if file.exists() else {}

    def find(self, bucket: str, name: str) -> str:
        """The text; empty if it is not set."""
        return self._values.get(bucket, {}).get(name, "")

    def set(self, bucket: str, name: str, text: str) -> None:
        """Set a text; an empty one removes it."""
        with self._lock:
            values = {**self._values.get(bucket, {}), name: text}
            self._save({**self._values, bucket: {key: value for key, value in values.items() if value}})

    def drop(self, bucket: str) -> None:
        """Forget a deleted bucket."""
        with self._lock:
            if bucket in self._values:
                self._save({name: values for name, values in self._values.items() if name != bucket})

    def _save(self, values: dict[str, dict[str, str]]) -> None:
        fresh = self._file.with_suffix(".new")
        fresh.write_text(json.dumps(values), "utf-8")
        fresh.replace(self._file)  # a crash leaves the old file or the new one
        self._values = values
