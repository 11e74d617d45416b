"""What regions offered when they last answered: a file, so that a new draft is the same while a region is away."""

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
    """The instance types of each profile's region. A file that is damaged is as good as none: it is written anew."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def store(self, profile: Profile, flavors: tuple[Flavor, ...]) -> None:
        """Remember what the region of the profile offers; nothing is written while that stays the same."""
        entry = {**_region_key(profile), "flavors": [asdict(flavor) for flavor in flavors]}
        known = self._read()
        if known.get(profile.name) != entry:
            text = json.dumps({**known, profile.name: entry}, ensure_ascii=False, indent=1)
            with suppress(AisbenchError, OSError):  # a full disk is named by what has to be stored
                write_whole(self._file, text.encode())

    def of(self, profile: Profile) -> tuple[Flavor, ...]:
        """What the region of the profile offered; nothing if it was never asked, or the profile has another one now."""
        entry = self._read().get(profile.name)
        if not isinstance(entry, dict) or {name: entry.get(name) for name in _region_key(profile)} != _region_key(
            profile
        ):
            return ()
        try:
            return tuple(Flavor(**each) for each in entry["flavors"])
        except (KeyError, TypeError):
            return ()

    def _read(self) -> dict[str, Any]:
        try:
            found = json.loads(self._file.read_bytes())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}


def _region_key(profile: Profile) -> dict[str, str]:
    return {name: str(getattr(profile, name)) for name in ("region", "project_id", "modelarts_endpoint")}
