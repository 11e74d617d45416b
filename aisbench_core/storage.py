"""Which warehouse the settings mean, and what looks after it."""

from pathlib import Path

from aisbench_core.cloud.addresses import proxy_for, split
from aisbench_core.errors import ConfigError
from aisbench_core.running.run_files import RunFiles
from aisbench_core.settings import (
    Settings,
    find_credentials,
    find_warehouse_password,
    load_profile,
)
from aisbench_core.warehouse import Warehouse
from aisbench_core.warehouse.team import Access, Bucket, TeamPlace, team_place


class Storage:
    """Looks after the warehouse. Every method raises WarehouseError when it cannot be used."""

    def __init__(self, settings: Settings, warehouse: Warehouse, files: RunFiles) -> None:
        self._settings = settings
        self._warehouse = warehouse
        self._files = files

    def rebuild(self) -> int:
        """Store every run of this machine anew; returns how many. What else a file holds goes, a team's stays."""
        if self._settings.has_team_warehouse:
            return self._warehouse.record_many(self._files.records())
        return self._warehouse.rebuild(self._files.records())


def warehouse_place(settings: Settings) -> Path | TeamPlace:
    """The file or the team's place. Raises ConfigError when the settings say neither properly."""
    if not settings.has_team_warehouse:
        return settings.warehouse_path
    return team_place(settings.warehouse, settings.warehouse_data, lambda: _access(settings))


def _access(settings: Settings) -> Access:
    """What opens a team's warehouse, looked up anew each time: keys may have been changed."""
    profile = load_profile(settings, settings.warehouse_profile or settings.profile)
    keys = find_credentials(settings, profile)
    address = split(profile.obs_server)
    if not address.hostname:
        raise ConfigError(f"obs_server of profile {profile.name} is no address: {profile.obs_server}")
    proxy = proxy_for(profile.obs_server) if address.scheme == "https" else None
    return Access(
        find_warehouse_password(settings),
        Bucket(
            host=address.netloc,
            tls=address.scheme == "https",
            region=profile.region,
            access_key=keys.access_key.get_secret_value(),
            secret_key=keys.secret_key.get_secret_value(),
            security_token=keys.security_token.get_secret_value() if keys.security_token else "",
            verify_tls=profile.verify_tls,
            proxy=f"{proxy.host}:{proxy.port}" if proxy else "",
            proxy_user=(proxy.username or "") if proxy else "",
            proxy_password=(proxy.password or "") if proxy else "",
        ),
    )
