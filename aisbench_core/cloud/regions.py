"""Profiles, their keys, and what their regions offer."""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from aisbench_core.base.errors import AisbenchError
from aisbench_core.base.private_files import write_whole
from aisbench_core.cloud.ports import Connect
from aisbench_core.cloud.probes import is_down_here
from aisbench_core.config.credentials import find_credentials
from aisbench_core.config.settings import Profile, Settings, load_profile, profile_names
from aisbench_core.model import Flavor, Run


class Regions:
    """Every profile of this console. Threads may share it."""

    def __init__(self, settings: Settings, interactive: Connect) -> None:
        """`interactive`: connects with the short timeout for a person who waits."""
        self._settings = settings
        self._interactive = interactive
        self._offered = OfferedFlavors(settings.data_dir / "flavors.json")
        self._flavors: dict[str, tuple[Profile, tuple[Flavor, ...]]] = {}

    def profile(self, name: str = "") -> Profile:
        """A profile; the settings' own when no name is given. Raises ConfigError."""
        return load_profile(self._settings, name or self._settings.profile)

    def names(self) -> list[str]:
        """Every profile that can be used."""
        return profile_names(self._settings)

    def is_down_here(self, name: str) -> bool:
        """Whether the profile's region is on this machine, and does not run. Raises ConfigError."""
        return is_down_here(self.profile(name).modelarts_endpoint)

    def job_page(self, run: Run) -> str:
        """The page of a run's job in the cloud's console, with its CloudShell; empty if there is none."""
        # The older API numbers its jobs, and the console of today has no pages for those.
        if not run.job_id or run.spec.api.has_versions:
            return ""
        try:
            return self.profile(run.profile).job_page(run.job_id)
        except AisbenchError:
            return ""

    def credentials_summary(self, profile: str = "") -> str:
        """The profile's access key, masked, and its source; or why there is none."""
        try:
            credentials = find_credentials(self._settings, self.profile(profile))
        except AisbenchError as error:
            return error.sentence
        return f"{credentials.masked} ({credentials.source})"

    def flavors(self, profile: str = "") -> Sequence[Flavor]:
        """The region's instance types; requested once, and again when the profile has changed.

        Raises CloudError, ConfigError."""
        chosen = self.profile(profile)
        offered = self.known_flavors(chosen)
        if not offered:
            offered = tuple(self._interactive(chosen.name).training.flavors())
            self._flavors[chosen.name] = (chosen, offered)
            self._offered.store(chosen, offered)
        return offered

    def last_flavors(self, profile: str) -> tuple[Flavor, ...]:
        """The instance types that the region offered when it last answered; sends no request."""
        chosen = self.profile(profile)
        return self.known_flavors(chosen) or self._offered.of(chosen)

    def known_flavors(self, chosen: Profile) -> tuple[Flavor, ...]:
        """The instance types requested since the profile changed; sends no request."""
        offered_for, flavors = self._flavors.get(chosen.name, (chosen, ()))
        return flavors if offered_for == chosen else ()

    def flavors_if_reachable(self, profile: str) -> Sequence[Flavor]:
        """The instance types, or none while the region does not answer."""
        try:
            return self.flavors(profile)
        except AisbenchError:
            return ()


class OfferedFlavors:
    """The instance types that regions offered when they last answered, in a file, for drafts made while offline.

    A damaged file counts as none, and is replaced."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def store(self, profile: Profile, flavors: tuple[Flavor, ...]) -> None:
        """Store what the profile's region offers; nothing is written if that has not changed."""
        entry = {**_region_key(profile), "flavors": [asdict(flavor) for flavor in flavors]}
        stored = self._read_stored()
        if stored.get(profile.name) != entry:
            text = json.dumps({**stored, profile.name: entry}, ensure_ascii=False, indent=1)
            with suppress(AisbenchError, OSError):  # a cache: a full disk is reported by what must be stored
                write_whole(self._file, text.encode())

    def of(self, profile: Profile) -> tuple[Flavor, ...]:
        """What the profile's region offered; empty if it never answered, or if the profile names another region now."""
        entry = self._read_stored().get(profile.name)
        if isinstance(entry, dict) and _region_key(profile).items() <= entry.items():
            with suppress(KeyError, TypeError):
                return tuple(Flavor(**values) for values in entry["flavors"])
        return ()

    def _read_stored(self) -> dict[str, Any]:
        try:
            stored = json.loads(self._file.read_bytes())
        except (OSError, ValueError):
            return {}
        return stored if isinstance(stored, dict) else {}


def _region_key(profile: Profile) -> dict[str, str]:
    return {name: str(getattr(profile, name)) for name in ("region", "project_id", "modelarts_endpoint")}
