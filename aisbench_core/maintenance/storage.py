"""The warehouse of the settings, and its maintenance."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

from aisbench_core.base.errors import ConfigError, ResultError
from aisbench_core.base.messages import Message
from aisbench_core.cloud.addresses import proxy_for, split_address
from aisbench_core.config.credentials import find_credentials, find_password
from aisbench_core.config.settings import Settings, load_profile
from aisbench_core.domain.access import permitted
from aisbench_core.domain.access.changes import log_change
from aisbench_core.model import Actor, RunRecord
from aisbench_core.running.run_files import RunFiles, SeriesFiles, read_own_record
from aisbench_core.store.ledger.database.address import LedgerAddress, ledger_address
from aisbench_core.store.seals.comparing import Recording, SealComparing, SealedRuns, never_recorded
from aisbench_core.store.seals.service import Seals
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.maintenance.integrity import Damage, IntegrityReport
from aisbench_core.warehouse.maintenance.moving import Moved
from aisbench_core.warehouse.store.team import Access, Bucket, TeamLocation, team_location
from aisbench_core.warehouse.store.warehouse_file import forget_log
from aisbench_core.warehouse.tables.store import Compacted, Progress, no_progress


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """The number of runs stored, and the errors of those that were not, because their files cannot be read or believed.

    What the warehouse holds of these stays."""

    runs: int
    unread: tuple[ResultError, ...] = ()


OTHERWISE = Message("its folder says something else than the warehouse")

UNSEALED = Message(
    "restore its folder from a backup; if the folder is right: `aisbench warehouse rebuild --believe-folders`"
)


@dataclass(slots=True)
class _Vetting:
    """Which records of folders are believed. `refuse` is called for the others, with the run and the error; `unproven`
    gets the runs that are believed although they have no seal, `active` those that their follower records."""

    sealed: SealedRuns
    warehouse: Warehouse
    refuse: Callable[[str, ResultError], None]
    believes: Callable[[RunRecord], bool] = field(default=lambda _record: False)
    whole: bool = False
    unproven: set[str] = field(default_factory=set)
    active: set[str] = field(default_factory=set)

    def iter_believed(self, records: Iterable[RunRecord]) -> Iterator[RunRecord]:
        """The records that are believed; in the end, runs whose folder is gone are refused, too."""
        for record in records:
            run_id = record.run.run_id
            comparison = self.sealed.compare(record, whole=self.whole)
            if comparison.recording is Recording.ACTIVE:
                self.active.add(run_id)
            elif error := comparison.error or self._without_seal(record, comparison.recording):
                self.refuse(run_id, error)
            else:
                yield record
        for run_id, error in self.sealed.find_missing():  # only now, because folders are fetched with their records
            self.refuse(run_id, error)

    def _without_seal(self, record: RunRecord, recording: Recording) -> ResultError | None:
        """Why a record must not be believed whose folder has no seal; None if it may, or has one."""
        if recording is Recording.SEALED:
            return None
        self.unproven.add(record.run.run_id)
        if self.believes(record):
            return None
        holds = self.warehouse.holds(record)
        if holds or (holds is None and recording is Recording.BEFORE_SEALS):
            return None
        self.unproven.discard(record.run.run_id)
        if holds is False:
            return ResultError(OTHERWISE, UNSEALED)
        return never_recorded()


@dataclass(frozen=True, slots=True)
class Storage:
    """Maintains the warehouse. Every method raises WarehouseError when it cannot be used."""

    settings: Settings
    warehouse: Warehouse
    files: RunFiles
    series: SeriesFiles
    seals: Seals
    comparing: SealComparing

    @permitted
    def rebuild(self, actor: Actor, *, believe: bool = False) -> Rebuilt:
        """Store all runs of this machine, and the plans of all series, again.

        Other runs are removed from a warehouse file, but not from a team's warehouse. Runs that were merged from other
        warehouses are restored. Stored data of runs whose folder is damaged, missing, or not as it was recorded stays.
        `believe`: store and seal also folders without a seal, whatever ledger and warehouse say of them."""
        log_change(actor, f"rebuild of the warehouse{' from folders without a seal, too' * believe}")
        with self.comparing.open_runs() as sealed:
            unread: dict[str, ResultError] = {}
            vetting = _Vetting(sealed, self.warehouse, unread.__setitem__, lambda _record: believe)
            count = self._rebuild_warehouse(vetting, unread)
            is_damaged = sealed.is_damaged
        if believe and not is_damaged:
            self.seals.seal_found(sorted(vetting.unproven), actor, self._read_record)
        return Rebuilt(count, tuple(unread.values()))

    @permitted
    def record_again(self, actor: Actor) -> Rebuilt:
        """Store all runs of this machine again, after an upgrade of the warehouse, and seal their folders.

        Folders without a seal are believed if what was launched and measured is the same in the warehouse. Nothing is
        removed, and runs of other folders stay as they are."""
        log_change(actor, "upgrade of the data folder")
        with self.comparing.open_runs() as sealed:
            unread: dict[str, ResultError] = {}
            vetting = _Vetting(sealed, self.warehouse, unread.__setitem__, self.warehouse.agrees)
            self.warehouse.series.keep(list(self.series.all(unread.__setitem__)))
            count = self.warehouse.record_many(vetting.iter_believed(self.files.records(unread.__setitem__)))
        self.seals.seal_found(sorted(vetting.unproven), actor, self._read_record)
        return Rebuilt(count, tuple(unread.values()))

    def _rebuild_warehouse(self, vetting: "_Vetting", unread: dict[str, ResultError]) -> int:
        if not self.settings.has_team_warehouse:
            forget_log(self.settings.warehouse_path)
        self.warehouse.series.keep(list(self.series.all(unread.__setitem__)))
        records = vetting.iter_believed(self.files.records(unread.__setitem__))
        if self.settings.has_team_warehouse:
            return self.warehouse.record_many(records)
        return self.warehouse.rebuild(records, chain(unread, vetting.active))

    @permitted
    def move(self, to: str, data: str, on_progress: Progress, actor: Actor) -> Moved:
        """Copy everything into another warehouse, named as the setting `warehouse` names one. Can be repeated.

        `data`: where a team's files go; without it, where the settings say. Raises ConfigError."""
        changed = {"warehouse": to, "warehouse_data": data or self.settings.warehouse_data}
        location = warehouse_location(self.settings.model_copy(update=changed))
        if str(location) == str(self.warehouse.location):
            raise ConfigError(
                Message("{warehouse} is the warehouse that is in use", warehouse=location), Message("name another one")
            )
        log_change(actor, f"copy of the warehouse to {location}")
        return self.warehouse.move_to(Warehouse(location), on_progress)

    @permitted
    def check(
        self,
        actor: Actor,
        *,
        mend: bool = False,
        seal: bool = False,
        with_logs: bool = True,
        on_progress: Progress = no_progress,
    ) -> IntegrityReport:
        """Recompute everything, and compare it with this machine's run folders, their seals and the ledger.

        `mend`: first recompute the group statistics. `seal`: seal folders without a seal that agree with the warehouse
        and the ledger. `with_logs`: hash the files in subfolders, too. `on_progress` gets the numbers of checked and of
        all runs."""
        if mend or seal:
            log_change(actor, "repair of the warehouse" if mend else "sealing of run folders")
        with self.comparing.open_runs() as sealed:
            unread: dict[str, ResultError] = {}
            vetting = _Vetting(sealed, self.warehouse, unread.__setitem__, whole=with_logs)
            records = vetting.iter_believed(self.files.records(unread.__setitem__))
            report = self.warehouse.check(records, mend=mend, on_progress=on_progress)
        damaged = {damage.where.rpartition("run ")[2] for damage in report.damages}
        unsealed = sorted(vetting.unproven - damaged - unread.keys())
        count = len(unsealed)
        if seal:
            left = self.seals.seal_found(unsealed, actor, self._read_held)
            count = len(left)
            unread |= left
        damages = (Damage(f"run {run_id}", error.message, error.hint) for run_id, error in unread.items())
        return replace(report, damages=(*report.damages, *damages), unsealed=count)

    def _read_record(self, run_id: str) -> RunRecord:
        return read_own_record(self.comparing.folders.path(run_id))

    def _read_held(self, run_id: str) -> None:
        """Raises ResultError if a record is not the one that the warehouse holds."""
        if self.warehouse.holds(self._read_record(run_id)) is False:
            raise ResultError(OTHERWISE, UNSEALED)

    @permitted
    def compact(self, actor: Actor) -> Compacted:
        """Rewrite it without the space of deleted rows."""
        log_change(actor, "compaction of the warehouse")
        return self.warehouse.compact()


def warehouse_location(settings: Settings) -> Path | TeamLocation:
    """The warehouse's file, or the team's location. Raises ConfigError when the settings are invalid."""
    if not settings.has_team_warehouse:
        return settings.warehouse_path
    return team_location(settings.warehouse, settings.warehouse_data, lambda: _load_access(settings))


def ledger_location(settings: Settings) -> Path | LedgerAddress:
    """The ledger's file, or the address of a team's. Raises ConfigError when the setting is invalid."""
    if not settings.has_team_ledger:
        return settings.ledger_path
    return ledger_address(settings.ledger, lambda: find_password(settings, "ledger"))


def _load_access(settings: Settings) -> Access:
    """Credentials of a team's warehouse; never cached, because keys may change."""
    profile = load_profile(settings, settings.warehouse_profile or settings.profile)
    keys = find_credentials(settings, profile)
    address = split_address(profile.obs_server)
    if not address.hostname:
        text = profile.obs_server
        raise ConfigError(
            Message("obs_server of profile {profile} is not an address: {found}", profile=profile.name, found=text)
        )
    proxy = proxy_for(profile.obs_server) if address.scheme == "https" else None
    return Access(
        find_password(settings, "warehouse"),
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
