"""Whether things work: can the cloud be reached, who follows, how much is stored."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from aisbench_core.errors import AisbenchError, CloudNotFound
from aisbench_core.running.ledger import Beat
from aisbench_core.running.steps import Cloud, Connect
from aisbench_core.settings import Settings


@dataclass(frozen=True, slots=True)
class ServiceHealth:
    """One service of a region: whether it answered properly, its address, how long it took, what it said if not."""

    name: str
    address: str
    ok: bool
    milliseconds: float | None
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class Sizes:
    """What the console has stored, in bytes; None where there is nothing yet."""

    ledger: int | None
    warehouse: int | None
    runs: int | None
    run_folders: int


@dataclass(frozen=True, slots=True)
class Health:
    """One look at everything."""

    services: tuple[ServiceHealth, ...]
    followed: Beat | None
    sizes: Sizes


def look(settings: Settings, profile: str, connect: Connect, followed: Beat | None) -> Health:
    """Ask both services of a profile for something cheap, and measure what is stored."""
    return Health(_services(profile, connect), followed, _sizes(settings))


def _services(profile: str, connect: Connect) -> tuple[ServiceHealth, ...]:
    try:
        cloud = connect(profile)
    except AisbenchError as error:
        return (ServiceHealth("credentials", "", False, None, str(error)),)
    bucket = cloud.profile.path()
    return (
        _asked("OBS", cloud.profile.obs_server, lambda: _look_into(cloud, bucket)),
        _asked("ModelArts", cloud.profile.training_endpoint, cloud.training.flavors),
    )


def _look_into(cloud: Cloud, directory: str) -> object:
    try:
        return cloud.objects.first(directory, 1)
    except CloudNotFound as error:
        error.hint = f"make the bucket {cloud.profile.bucket}, or change it in profile {cloud.profile.name}"
        raise


def _asked(name: str, address: str, ask: Callable[[], object]) -> ServiceHealth:
    start = time.perf_counter()
    try:
        ask()
    except AisbenchError as error:
        return ServiceHealth(name, address, False, None, str(error))
    return ServiceHealth(name, address, True, (time.perf_counter() - start) * 1000)


def _sizes(settings: Settings) -> Sizes:
    folders = [path for path in settings.runs_dir.glob("*") if path.is_dir()] if settings.runs_dir.exists() else []
    inside = sum(_size(file) or 0 for folder in folders for file in folder.rglob("*"))
    return Sizes(_size(settings.ledger_path), _size(settings.warehouse_path), inside if folders else None, len(folders))


def _size(file: Path) -> int | None:
    try:
        return file.stat().st_size if file.is_file() else None
    except OSError:  # it was moved away while we looked
        return None
