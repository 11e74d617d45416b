"""Which warehouse the settings mean, and what looks after it."""

from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from aisbench_core.cloud.addresses import proxy_for, split
from aisbench_core.errors import ConfigError, ResultError
from aisbench_core.messages import Message
from aisbench_core.running.run_files import RunFiles
from aisbench_core.running.series_files import SeriesFiles
from aisbench_core.settings import (
    Settings,
    find_credentials,
    find_warehouse_password,
    load_profile,
)
from aisbench_core.warehouse import Warehouse
from aisbench_core.warehouse.store import log_state
from aisbench_core.warehouse.store.compacting import Compacted
from aisbench_core.warehouse.store.integrity import Damage, IntegrityReport
from aisbench_core.warehouse.store.migrating import Moved, Told, unheard
from aisbench_core.warehouse.store.team import Access, Bucket, TeamPlace, team_place


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """How many runs were stored, and what is wrong with the files of those that could not be."""

    runs: int
    unread: tuple[ResultError, ...] = ()


class Storage:
    """Looks after the warehouse. Every method raises WarehouseError when it cannot be used."""

    def __init__(self, settings: Settings, warehouse: Warehouse, files: RunFiles, series: SeriesFiles) -> None:
        self._settings = settings
        self._warehouse = warehouse
        self._files = files
        self._series = series

    def rebuild(self) -> Rebuilt:
        """Store every run of this machine and the plan of every series anew.

        What else a file holds of runs goes, a team's stays. Runs that were taken over from other warehouses are stored
        again where they are missing. What is stored of a run whose folder is damaged stays."""
        unread: dict[str, ResultError] = {}
        if not self._settings.has_team_warehouse:
            log_state.forget(self._settings.warehouse_path)
        self._warehouse.series.keep(list(self._series.all(unread.__setitem__)))
        taken = self._settings.taken_dir
        records = self._files.records(unread.__setitem__)
        if self._settings.has_team_warehouse:
            count = self._warehouse.record_many(records)
        else:
            count = self._warehouse.rebuild(records, chain(self._warehouse.taking.claims(taken), unread))
        self._warehouse.taking.again(taken)
        return Rebuilt(count, tuple(unread.values()))

    def move(self, to: str, data: str, told: Told) -> Moved:
        """Copy everything into another warehouse, named as the setting `warehouse` names one. Can be repeated.

        `data`: where a team's files go; without it, where the settings say. Raises ConfigError."""
        named = {"warehouse": to, "warehouse_data": data or self._settings.warehouse_data}
        place = warehouse_place(self._settings.model_copy(update=named))
        if str(place) == str(self._warehouse.place):
            raise ConfigError(
                Message("{warehouse} is the warehouse that is in use", warehouse=place), Message("name another one")
            )
        return self._warehouse.move_to(Warehouse(place), told)

    def check(self, *, mend: bool = False, told: Told = unheard) -> IntegrityReport:
        """Read and compute everything again, and compare it with the records in the folders of this machine, damaged
        ones named.

        `mend`: first count anew what is kept of groups of runs. `told`: how many of how many were computed."""
        unread: dict[str, ResultError] = {}
        found = self._warehouse.check(self._files.records(unread.__setitem__), mend=mend, told=told)
        damages = (Damage(f"run {run_id}", error.message, error.hint) for run_id, error in unread.items())
        return replace(found, damages=(*found.damages, *damages))

    def compact(self) -> Compacted:
        """Make it small and quick again."""
        return self._warehouse.compact()


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
        raise ConfigError(
            Message(
                "obs_server of profile {profile} is no address: {found}", profile=profile.name, found=profile.obs_server
            )
        )
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
