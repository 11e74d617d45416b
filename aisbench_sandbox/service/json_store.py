"""What the service remembers beside its jobs: one JSON file per name, renewed as a whole."""

import json
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from aisbench_sandbox.files import write_atomically


class JsonStore:
    """JSON objects by name, each in a file below `folder`; a change is written before anybody sees it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.RLock()
        folder.mkdir(parents=True, exist_ok=True)
        self._contents = {file.stem: json.loads(file.read_bytes()) for file in folder.glob("*.json")}

    def read(self, name: str) -> Mapping[str, Any]:
        """What was kept under this name, or an empty object; it is not to be changed."""
        with self._lock:
            content: Mapping[str, Any] = self._contents.get(name, {})
            return content

    def change(self, name: str, step: Callable[[dict[str, Any]], None]) -> None:
        """Keep what `step` makes of a copy of it; nothing changes when it raises."""
        with self._lock:
            content = json.loads(json.dumps(self._contents.get(name, {})))
            step(content)
            write_atomically(self._folder / f"{name}.json", json.dumps(content, ensure_ascii=False).encode())
            self._contents[name] = content

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            for file in self._folder.glob("*.json"):
                file.unlink()
            self._contents = {}
