"""Puts the real parts together; the only place that names concrete adapters."""

import logging
import os
import threading
from datetime import UTC, datetime
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler

from aisbench_core.authoring.workloads import Workloads
from aisbench_core.core import Core
from aisbench_core.data_folder import prepare_data_folder
from aisbench_core.model import Api, Clock
from aisbench_core.private_files import FILE_MODE
from aisbench_core.read_only import is_read_only
from aisbench_core.rulesets.shelf import Rulesets
from aisbench_core.running.ledger import Ledger
from aisbench_core.running.steps import Cloud
from aisbench_core.settings import Credentials, Profile, Settings, find_credentials, load_profile, load_settings
from aisbench_core.storage import warehouse_place
from aisbench_core.warehouse import Warehouse
from aisbench_core.warehouse.store.reading import Reader, reader

LOG_BYTES = 5 * 1024 * 1024
LOG_FILES = 3

__all__ = ["Core", "open_core", "open_reader", "utc_now"]


def utc_now() -> datetime:
    """The time, aware and in UTC."""
    return datetime.now(UTC)


def open_core(settings: Settings | None = None, clock: Clock = utc_now) -> Core:
    """The core with real parts. Raises ConfigError or SpecError when the settings cannot be used.

    Over a data folder that is read-only everything can be read, and whatever stores something raises ReadOnlyFolder."""
    settings = settings or load_settings()
    prepare_data_folder(settings)
    _log_to_file(settings)
    return Core(
        settings,
        Ledger(settings.ledger_path),
        Warehouse(warehouse_place(settings), rulesets=Rulesets(settings.rulesets_dir), ruleset_id=settings.ruleset),
        Workloads(settings.workloads_dir, settings.own_workloads_dir),
        Clouds(settings, settings.request_seconds),
        Clouds(settings, settings.look_seconds),
        clock,
    )


def open_reader() -> Reader:
    """What reads the warehouse of the settings, in whatever state ledger and data folder are. Raises ConfigError."""
    return reader(warehouse_place(load_settings()))


class Clouds:
    """The cloud of each profile; adapters are kept for as long as profile and keys stay the same."""

    def __init__(self, settings: Settings, request_seconds: float) -> None:
        self._settings = settings
        self._request_seconds = request_seconds
        self._guard = threading.Lock()
        self._known: dict[tuple[str, Api], tuple[Profile, Credentials, Cloud]] = {}

    def __call__(self, profile: str, api: Api | None = None) -> Cloud:
        """The cloud of a profile. Raises ConfigError when the profile or its keys cannot be used.

        `api`: the one that a run was launched with; None means the profile's own."""
        place = load_profile(self._settings, profile)
        keys = find_credentials(self._settings, place)
        way = api or place.api
        with self._guard:
            known = self._known.get((profile, way))
            if known is None or known[:2] != (place, keys):
                known = (place, keys, self._open(place, keys, way))
                self._known[profile, way] = known
            return known[2]

    def _open(self, profile: Profile, keys: Credentials, api: Api) -> Cloud:
        # The SDKs take a second to load, which commands that only read results should not pay.
        from aisbench_core.cloud.modelarts_package.sdk_v1_calls import SdkV1Calls
        from aisbench_core.cloud.modelarts_package.service import ModelArtsSdk
        from aisbench_core.cloud.modelarts_v1.service import ModelArtsV1
        from aisbench_core.cloud.modelarts_v2.service import ModelArtsV2
        from aisbench_core.cloud.obs.objects import ObsStore

        seconds = self._request_seconds
        objects = ObsStore(profile, keys, self._settings.transfers, seconds)
        match api:
            case Api.V2:
                return Cloud(profile, objects, ModelArtsV2(profile, keys, seconds))
            case Api.V1:
                return Cloud(profile, objects, ModelArtsV1(profile, keys, seconds))
            case Api.SDK:
                return Cloud(profile, objects, ModelArtsSdk(profile, keys, seconds))
            case Api.SDK_V1:
                return Cloud(profile, objects, ModelArtsV1(profile, keys, seconds, SdkV1Calls))


class _LogFile(RotatingFileHandler):
    def _open(self) -> TextIOWrapper:
        return TextIOWrapper(open(self.baseFilename, "ab", opener=_private), "utf-8")  # logging closes it

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  # logging's name
        """A line that a full disk has no room for is lost in silence: who only reads is not disturbed by it."""


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, FILE_MODE)


def _log_to_file(settings: Settings) -> None:
    """Everything of ours that is worth a line goes to data/console.log."""
    log = logging.getLogger("aisbench_core")
    if any(isinstance(handler, RotatingFileHandler) for handler in log.handlers):
        return
    if is_read_only(settings.data_dir):  # without a handler Python prints warnings and errors to stderr
        return
    handler = _LogFile(settings.data_dir / "console.log", maxBytes=LOG_BYTES, backupCount=LOG_FILES, delay=True)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    log.addHandler(handler)
    log.setLevel(logging.INFO)
