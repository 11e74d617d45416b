"""Small persistent state of the service beside its jobs: one JSON file per name, replaced atomically."""

import json
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from aisbench_sandbox.files import write_atomically


class JsonStore:
    """JSON objects by name, each in a file below `folder`; a change is stored before it becomes visible."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.RLock()
        folder.mkdir(parents=True, exist_ok=True)
        self._contents = {file.stem: json.loads(file.read_bytes()) for file in folder.glob("*.json")}

    def read(self, name: str) -> Mapping[str, Any]:
        """The content stored under this name, or an empty object; do not modify it."""
        with self._lock:
            content: Mapping[str, Any] = self._contents.get(name, {})
            return content

    def change(self, name: str, step: Callable[[dict[str, Any]], None]) -> None:
        """Store what `step` makes of a copy of the content; nothing changes if it raises."""
        with self._lock:
            # A deep copy that can only hold what the file can hold.
            content = json.loads(json.dumps(self._contents.get(name, {})))
            step(content)
            # The file first: when the disk is full, memory and disk stay as they were.
            write_atomically(self._folder / f"{name}.json", json.dumps(content, ensure_ascii=False).encode())
            self._contents[name] = content

    def clear(self) -> None:
        """Delete everything."""
        with self._lock:
            for file in self._folder.glob("*.json"):
                file.unlink()
            self._contents = {}
