"""Profiles, their keys, and what their regions offer."""

from collections.abc import Sequence

from aisbench_core.cloud.ports import Connect
from aisbench_core.errors import AisbenchError
from aisbench_core.model import Flavor
from aisbench_core.offered_flavors import OfferedFlavors
from aisbench_core.settings import Profile, Settings, find_credentials, load_profile, profile_names


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
