"""Snapshots: a warehouse at one moment as one read-only file with all tables, and views with comments."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from aisbench_core.base.errors import ConfigError, disk_error
from aisbench_core.base.messages import Message
from aisbench_core.base.private_files import draft_of, find_abandoned
from aisbench_core.warehouse.answers import views
from aisbench_core.warehouse.store.migrations import LATEST
from aisbench_core.warehouse.store.warehouse_file import log_of, translate_error
from aisbench_core.warehouse.tables.schema import SNAPSHOT
from aisbench_core.warehouse.tables.store import Store

MODE = 0o444


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The file, its size in bytes, and its number of runs."""

    path: Path
    bytes: int
    runs: int


def create(store: Store, target: Path, at: datetime, *, replace: bool) -> Snapshot:
    """Write a snapshot, whole or not at all; writers do not wait.

    Raises ConfigError if the file exists (unless `replace`) or cannot be written, and WarehouseError."""
    _check_target(store, target, replace)
    draft = draft_of(target)
    try:
        store.copy_to(draft)
        runs = _finish_draft(draft, at)
        draft.chmod(MODE)
        draft.replace(target)
    except OSError as error:
        if full := disk_error(error, target):
            raise full from error
        raise ConfigError(
            Message("{target} cannot be written: {reason}", target=target, reason=error.strerror or error)
        ) from error
    except duckdb.IOException as error:
        raise translate_error(target, error) from error
    finally:
        for file in (draft, log_of(draft), *find_abandoned(target.parent)):
            file.unlink(missing_ok=True)
    return Snapshot(target, target.stat().st_size, runs)


def _check_target(store: Store, target: Path, replace: bool) -> None:
    if not target.parent.is_dir():
        raise ConfigError(
            Message("{parent} is not a folder", parent=target.parent), Message("create it, or name another file")
        )
    if target.exists() and store.path and store.path.exists() and target.samefile(store.path):
        raise ConfigError(Message("{target} is the warehouse itself", target=target), Message("name another file"))
    if target.exists() and not replace:
        raise ConfigError(
            Message("{target} already exists", target=target), Message("name another file, or add --replace")
        )


def _finish_draft(draft: Path, at: datetime) -> int:
    with duckdb.connect(draft) as con:
        con.begin()
        views.create(con)
        views.describe(con)
        [(runs,)] = con.execute("select count(*) from runs").fetchall()
        columns = ", ".join(f"{name} {kind}" for name, kind in SNAPSHOT.items())
        con.execute(f"create or replace table snapshot ({columns})")
        con.execute("insert into snapshot values (?, ?, ?)", [at.astimezone(UTC).replace(tzinfo=None), LATEST, runs])
        con.commit()
        con.execute("checkpoint")
    return int(runs)
