"""Health checks: whether the cloud can be reached, who follows, how much is stored."""

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from aisbench_core.base.errors import AisbenchError, CloudNotFound
from aisbench_core.base.messages import Hint, Message, message_of
from aisbench_core.base.private_files import is_read_only
from aisbench_core.cloud.ports import Cloud, Connect
from aisbench_core.config.settings import Settings
from aisbench_core.model import Clock, HeldSchedule
from aisbench_core.running.following.beats import Beats, SharedBeat
from aisbench_core.store.ledger.database.clock import SET_BY_REGION, SET_CLOCK, skew_message
from aisbench_core.store.ledger.ledger import Beat, Ledger


@dataclass(frozen=True, slots=True)
class ServiceHealth:
    """One service of a region: its address, whether it answered, the latency, and the error if it did not."""

    name: str
    address: str
    ok: bool
    milliseconds: float | None
    sentence: Hint = ""


@dataclass(frozen=True, slots=True)
class StoredSizes:
    """Stored data: bytes (None if there is none on this machine), runs (None if the ledger cannot be used), and free
    bytes on the disk."""

    ledger: int | None
    warehouse: int | None
    runs: int | None
    disk_free: int


@dataclass(frozen=True, slots=True)
class Health:
    """The outcome of all checks. `ledger_error`: why neither the follower nor the number of runs is known.

    `shared`: the followers that share the profiles; none where one follows everything.
    `read_only`: nothing can be stored in the data folder. `held`: the schedules that launch nothing, and why."""

    services: tuple[ServiceHealth, ...]
    followed: Beat | None
    sizes: StoredSizes
    read_only: bool
    ledger_error: AisbenchError | None = None
    shared: tuple[SharedBeat, ...] = ()
    held: tuple[HeldSchedule, ...] = ()


@dataclass(frozen=True, slots=True)
class HealthChecks:
    """Checks of this console and of the regions that it uses.

    `check_folders` writes, reads and deletes an object where run folders are published. `check_warehouse` asks the
    catalogue of a team's warehouse. `held`: the schedules that launch nothing."""

    settings: Settings
    connect: Connect
    ledger: Ledger
    clock: Clock
    held: Callable[[], Sequence[HeldSchedule]]
    check_folders: Callable[[], object] | None = None
    check_warehouse: Callable[[], object] | None = None

    def check(self, profile: str = "") -> Health:
        """Send a cheap request to both services of a profile, try to publish, and measure what is stored."""
        services = (*self.services(profile), *self._shared_stores(), *self._region_clock(profile))
        read_only = is_read_only(self.settings.data_dir)
        try:
            shared = tuple(self.list_shared())
            sizes = self.sizes(self.ledger.count())
            services = (*services, *self._check_clocks(shared))
            return Health(services, self.ledger.last_beat(), sizes, read_only, None, shared, tuple(self.held()))
        except AisbenchError as error:
            return Health(services, None, self.sizes(), read_only, error)

    def list_shared(self) -> list[SharedBeat]:
        """The followers that share the profiles; none where one follows everything."""
        return Beats(self.ledger).list_shared(self.clock())

    def services(self, profile: str = "") -> tuple[ServiceHealth, ...]:
        """Send a cheap request to both services of a profile."""
        return _check_services(profile or self.settings.profile, self.connect)

    def _shared_stores(self) -> Iterator[ServiceHealth]:
        """Whether files of runs can be published, where they are, and whether a team's warehouse answers."""
        if self.check_folders:
            yield _probe_service("run folders", self.settings.run_folders, self.check_folders)
        if self.check_warehouse:
            yield _probe_service("warehouse", "", self.check_warehouse)

    def _check_clocks(self, shared: Sequence[SharedBeat]) -> Iterator[ServiceHealth]:
        """Each machine whose clock differs notably from that of the ledger they share."""
        machines = [(Message("this console"), self.ledger.clock_ahead())]
        machines += [(message_of(one.beat.who), one.clock_ahead) for one in shared]
        for machine, ahead in machines:
            if message := skew_message(machine, ahead):
                yield ServiceHealth("clock", "", False, None, AisbenchError(message, SET_CLOCK).sentence)

    def _region_clock(self, profile: str) -> Iterator[ServiceHealth]:
        """This machine's clock, if it differs notably from that of the region, which has answered just now."""
        try:
            cloud = self.connect(profile or self.settings.profile)
        except AisbenchError:  # no usable keys, which `services` says
            return
        ahead, region = cloud.clock_ahead() or timedelta(), Message("region {region}", region=cloud.profile.region)
        if message := skew_message(Message("this console"), ahead, region):
            yield ServiceHealth("clock", "", False, None, AisbenchError(message, SET_BY_REGION).sentence)

    def sizes(self, runs: int | None = None) -> StoredSizes:
        """What is stored; `runs`: their number, if it is known."""
        settings = self.settings
        free = shutil.disk_usage(settings.data_dir).free
        warehouse = None if settings.has_team_warehouse else _measure_file(settings.warehouse_path)
        ledger = None if settings.has_team_ledger else _measure_file(settings.ledger_path)
        return StoredSizes(ledger, warehouse, runs, free)


def _check_services(profile: str, connect: Connect) -> tuple[ServiceHealth, ...]:
    try:
        cloud = connect(profile)
    except AisbenchError as error:
        return (ServiceHealth("credentials", "", False, None, error.sentence),)
    bucket = cloud.profile.path()
    probes: dict[str, tuple[str, Callable[[], object]]] = {
        "OBS": (cloud.profile.obs_server, lambda: _list_bucket(cloud, bucket)),
        "ModelArts": (cloud.profile.training_endpoint, cloud.training.flavors),
    }
    with ThreadPoolExecutor(len(probes)) as both:
        return tuple(both.map(lambda name: _probe_service(name, *probes[name]), probes))


def _list_bucket(cloud: Cloud, directory: str) -> object:
    try:
        return cloud.objects.first(directory, 1)
    except CloudNotFound as error:
        name, bucket = cloud.profile.name, cloud.profile.bucket
        error.hint = Message(
            "create the bucket {bucket}, or change it in profile {profile}", bucket=bucket, profile=name
        )
        raise


def _probe_service(name: str, address: str, send: Callable[[], object]) -> ServiceHealth:
    start = time.perf_counter()
    try:
        send()
    except AisbenchError as error:
        return ServiceHealth(name, address, False, None, error.sentence)
    return ServiceHealth(name, address, True, (time.perf_counter() - start) * 1000)


def _measure_file(file: Path) -> int | None:
    """Bytes of a database's file and of its write-ahead log, which a writer may delete at any time."""
    sizes = []
    for suffix in ("", "-wal", ".wal"):
        with suppress(FileNotFoundError):
            sizes.append(Path(f"{file}{suffix}").stat().st_size)
    return sum(sizes) if sizes else None
