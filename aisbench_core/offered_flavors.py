"""Instance types that regions offered when they last answered, cached in a file for drafts made while offline."""

import json
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from aisbench_core.errors import AisbenchError
from aisbench_core.model import Flavor
from aisbench_core.private_files import write_whole
from aisbench_core.settings import Profile


class OfferedFlavors:
    """The instance types of each profile's region. A damaged file counts as none, and is replaced."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def store(self, profile: Profile, flavors: tuple[Flavor, ...]) -> None:
        """Store what the profile's region offers; nothing is written if that has not changed."""
        entry = {**_region_key(profile), "flavors": [asdict(flavor) for flavor in flavors]}
        stored = self._read()
        if stored.get(profile.name) != entry:
            text = json.dumps({**stored, profile.name: entry}, ensure_ascii=False, indent=1)
            with suppress(AisbenchError, OSError):  # a cache: a full disk is reported by what must be stored
                write_whole(self._file, text.encode())

    def of(self, profile: Profile) -> tuple[Flavor, ...]:
        """What the profile's region offered; empty if it never answered, or if the profile names another region now."""
        entry = self._read().get(profile.name)
        if not isinstance(entry, dict) or {name: entry.get(name) for name in _region_key(profile)} != _region_key(
            profile
        ):
            return ()
        try:
            return tuple(Flavor(**values) for values in entry["flavors"])
        except (KeyError, TypeError):
            return ()

    def _read(self) -> dict[str, Any]:
        try:
            stored = json.loads(self._file.read_bytes())
        except (OSError, ValueError):
            return {}
        return stored if isinstance(stored, dict) else {}


def _region_key(profile: Profile) -> dict[str, str]:
    return {name: str(getattr(profile, name)) for name in ("region", "project_id", "modelarts_endpoint")}
