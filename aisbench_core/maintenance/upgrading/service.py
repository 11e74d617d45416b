"""Upgrades a data folder of a development version; can be killed and repeated at any time.

Copies of the old ledger and warehouse are stored in a folder of their own. Each store is upgraded in one transaction;
then the runs are recorded again from their folders, so that what is computed of them is that of today."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from aisbench_core.base.errors import ConfigError
from aisbench_core.base.messages import Message
from aisbench_core.base.private_files import make_private_folder, require_writable, sync_path, write_whole
from aisbench_core.config.settings import Settings
from aisbench_core.maintenance.storage import ledger_location, warehouse_location
from aisbench_core.maintenance.upgrading.ledger_tables import upgrade_ledger
from aisbench_core.maintenance.upgrading.warehouse_tables import upgrade_tables
from aisbench_core.store.ledger.database import ledger_schema
from aisbench_core.store.ledger.database.address import LedgerAddress
from aisbench_core.store.ledger.database.leases import FileLeases
from aisbench_core.store.ledger.ledger_file import copy_database, ledger_version, open_connection
from aisbench_core.warehouse.store.engine import NAME, PATIENCE_S, attach_in_turn, copy_file, start_engine
from aisbench_core.warehouse.store.migrations import RELEASED, stored_version
from aisbench_core.warehouse.store.team import TeamLocation
from aisbench_core.warehouse.store.warehouse_file import log_of, translate_error

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Report = Callable[[Message], None]

_FOLLOWED = Message("stop the console and the follower first, on all machines")


@dataclass(frozen=True, slots=True)
class FolderUpgrade:
    """An upgrade of the settings' data folder. `report` gets a sentence about each part."""

    settings: Settings
    report: Report

    @contextmanager
    def upgraded_stores(self, now: datetime) -> Iterator[bool]:
        """Upgrade ledger and warehouse; the caller records the runs again meanwhile nobody follows.

        False if there is nothing to do. Raises AisbenchError."""
        require_writable(self.settings.data_dir)
        with self._nobody_follows():
            is_unfinished = self._marker.exists()
            copies = self._copies_folder(now)
            changed = [self._upgrade_ledger(copies), self._upgrade_warehouse(copies)]
            yield is_unfinished or any(changed)
            self._marker.unlink()

    @property
    def _marker(self) -> Path:
        """A file that names the folder of the copies while an upgrade is unfinished."""
        return self.settings.data_dir / "upgrade-unfinished"

    @contextmanager
    def _nobody_follows(self) -> Iterator[None]:
        location = ledger_location(self.settings)
        if isinstance(location, LedgerAddress):
            with _lock_profiles(location):
                yield
            return
        lock = FileLeases(self.settings.follower_lock)
        if not lock.join(0):
            raise ConfigError(Message("a follower is following runs"), _FOLLOWED)
        try:
            yield
        finally:
            lock.leave()

    def _copies_folder(self, now: datetime) -> Path:
        """Where the old files go: that of the unfinished upgrade, or a new one."""
        if not self._marker.exists():
            write_whole(self._marker, f"{now:%Y%m%d-%H%M%S}".encode())
        return self.settings.data_dir / "before-upgrade" / self._marker.read_text("utf-8")

    def _upgrade_ledger(self, copies: Path) -> bool:
        location, file = ledger_location(self.settings), self.settings.ledger_path
        if isinstance(location, LedgerAddress):
            from aisbench_core.store.ledger.database.postgres import DIALECT
            from aisbench_core.store.ledger.database.postgres_connection import connect_postgres, translate_errors

            with translate_errors(location):
                con = connect_postgres(location)
                with closing(con.session):
                    is_upgraded = upgrade_ledger(con, DIALECT)
        elif 0 < ledger_version(file) < ledger_schema.RELEASED:
            _keep_ledger(file, copies / file.name)
            with open_connection(file) as file_con:
                is_upgraded = upgrade_ledger(file_con, ledger_schema.SQLITE)
        else:
            is_upgraded = False
        if is_upgraded:
            self.report(Message("the ledger is upgraded"))
        return is_upgraded

    def _upgrade_warehouse(self, copies: Path) -> bool:
        location = warehouse_location(self.settings)
        if isinstance(location, TeamLocation):
            from aisbench_core.warehouse.store.lake import upgrade_lake

            done: list[bool] = []
            upgrade_lake(location, PATIENCE_S, lambda con, at: done.append(upgrade_tables(con, at)))
            is_upgraded = any(done)
        else:
            is_upgraded = location.exists() and _upgrade_file(location, copies)
        if is_upgraded:
            self.report(Message("the warehouse is upgraded"))
        return is_upgraded


@contextmanager
def _lock_profiles(address: LedgerAddress) -> Iterator[None]:
    """The locks of a leading follower of a team's ledger, so that nobody else follows."""
    from aisbench_core.store.ledger.database.postgres_connection import FollowerConnection, translate_errors

    with translate_errors(address):
        con = FollowerConnection(address)
        try:
            if con.seats() or not con.tries_to_lead():
                raise ConfigError(Message("a follower is following runs"), _FOLLOWED)
            yield
        finally:
            con.close()


def _keep_ledger(file: Path, copy: Path) -> None:
    """A copy of a ledger as it is, unless there is one already."""
    if not copy.exists():
        make_private_folder(copy.parent)
        draft = copy.with_name(f"{copy.name}.draft")
        draft.unlink(missing_ok=True)
        copy_database(file, draft)
        draft.rename(copy)
        sync_path(copy.parent)


def _upgrade_file(file: Path, copies: Path) -> bool:
    if not 0 < _in_file(file, lambda con: stored_version(con, file)) < RELEASED:
        return False
    make_private_folder(copies)
    copy = copies / file.name
    if not copy.exists():
        draft = copies / f"draft-{file.name}"
        copy_file(file, draft, PATIENCE_S)
        if log_of(draft).exists():
            log_of(draft).rename(log_of(copy))
        draft.rename(copy)
        sync_path(copies)
    return bool(_in_file(file, lambda con: upgrade_tables(con, file)))


def _in_file(file: Path, change: "Callable[[DuckDBPyConnection], int]") -> int:
    engine = start_engine(file)
    try:
        with attach_in_turn(engine, file, time.monotonic() + PATIENCE_S), engine.cursor() as cur:
            cur.execute(f"use {NAME}")
            return change(cur)
    except (OSError, duckdb.Error) as error:
        raise translate_error(file, error) from error
    finally:
        engine.close()
