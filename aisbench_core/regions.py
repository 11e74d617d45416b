"""Where runs can go: profiles, their keys, and what their regions offer."""

from collections.abc import Sequence

from aisbench_core.errors import AisbenchError
from aisbench_core.model import Flavor
from aisbench_core.offered_flavors import OfferedFlavors
from aisbench_core.running.steps import Connect
from aisbench_core.settings import Profile, Settings, find_credentials, load_profile, profile_names


class Regions:
    """Every profile of this console. Threads may share it."""

    def __init__(self, settings: Settings, look: Connect) -> None:
        """`look` leads to a cloud for a person who waits for the answer."""
        self._settings = settings
        self._look = look
        self._offered = OfferedFlavors(settings.data_dir / "flavors.json")
        self._flavors: dict[str, tuple[Profile, tuple[Flavor, ...]]] = {}

    def profile(self, name: str = "") -> Profile:
        """A profile; the settings' own when no name is given. Raises ConfigError."""
        return load_profile(self._settings, name or self._settings.profile)

    def names(self) -> list[str]:
        """Every profile that can be used."""
        return profile_names(self._settings)

    def credentials_summary(self, profile: str = "") -> str:
        """Which key a profile uses, masked, and where it was found; or why none can be used."""
        try:
            found = find_credentials(self._settings, self.profile(profile))
        except AisbenchError as error:
            return error.sentence
        return f"{found.masked} ({found.source})"

    def flavors(self, profile: str = "") -> Sequence[Flavor]:
        """The region's instance types; asked for once, and again when the profile has changed.

        Raises CloudError, ConfigError."""
        place = self.profile(profile)
        known = self.known_flavors(place)
        if not known:
            known = tuple(self._look(place.name).training.flavors())
            self._flavors[place.name] = (place, known)
            self._offered.store(place, known)
        return known

    def last_flavors(self, profile: str) -> tuple[Flavor, ...]:
        """The instance types that the region offered when it last answered; asks nobody."""
        place = self.profile(profile)
        return self.known_flavors(place) or self._offered.of(place)

    def known_flavors(self, place: Profile) -> tuple[Flavor, ...]:
        """The instance types that were asked for since the profile changed; asks nobody."""
        asked, flavors = self._flavors.get(place.name, (place, ()))
        return flavors if asked == place else ()

    def flavors_if_reachable(self, profile: str) -> Sequence[Flavor]:
        """The instance types, or none while the region does not answer."""
        try:
            return self.flavors(profile)
        except AisbenchError:
            return ()
