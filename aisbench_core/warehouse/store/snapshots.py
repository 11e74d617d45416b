"""The warehouse of one moment as one file, for others to take along: all tables, and the views with their meanings."""

import contextlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from aisbench_core.errors import ConfigError, disk_error
from aisbench_core.messages import Message
from aisbench_core.private_files import abandoned, draft_of
from aisbench_core.warehouse.open import views
from aisbench_core.warehouse.store.connection import Connection
from aisbench_core.warehouse.store.file_format import BLOCK, STORAGE, quoted
from aisbench_core.warehouse.store.file_refusals import refusal
from aisbench_core.warehouse.store.foreign_rules import SNAPSHOT
from aisbench_core.warehouse.store.lake import NAME, Lake
from aisbench_core.warehouse.store.migrations import LATEST, migrate
from aisbench_core.warehouse.store.new_file import log_of
from aisbench_core.warehouse.store.reading import copied

MODE = 0o444
"""Nobody writes into a snapshot, not by accident either."""

_TABLE = "create table snapshot (taken_at_utc TIMESTAMP, schema_version INTEGER, runs BIGINT)"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A file that was written: its size in bytes, and how many runs it holds."""

    path: Path
    bytes: int
    runs: int


def take(store: Connection | Lake, target: Path, at: datetime, *, replace: bool) -> Snapshot:
    """Write everything of one moment into a new file that is there whole or not at all; nobody who records waits.

    Raises ConfigError when the file exists (unless `replace`) or cannot be written, and WarehouseError."""
    _check(store, target, replace)
    draft = draft_of(target)
    try:
        with _source(store) as con:
            _fill(con, draft)
        runs = _finish(draft, at)
        draft.chmod(MODE)
        draft.replace(target)
    except OSError as error:
        if full := disk_error(error, target):
            raise full from error
        raise ConfigError(
            Message("{target} cannot be written: {reason}", target=target, reason=error.strerror or error)
        ) from error
    except duckdb.IOException as error:
        raise refusal(target, error) from error
    finally:
        for left in (draft, log_of(draft), *abandoned(target.parent)):
            left.unlink(missing_ok=True)
    return Snapshot(target, target.stat().st_size, runs)


def _check(store: Connection | Lake, target: Path, replace: bool) -> None:
    if not target.parent.is_dir():
        raise ConfigError(
            Message("{parent} is no folder", parent=target.parent), Message("make it, or name another file")
        )
    if isinstance(store, Connection) and target.exists() and store.path.exists() and target.samefile(store.path):
        raise ConfigError(Message("{target} is the warehouse itself", target=target), Message("name another file"))
    if target.exists() and not replace:
        raise ConfigError(
            Message("{target} is there already", target=target), Message("name another file, or say --replace")
        )


@contextlib.contextmanager
def _source(store: Connection | Lake) -> Iterator[duckdb.DuckDBPyConnection]:
    """Everything of one moment: a lake's snapshot, or a copy of the file."""
    if isinstance(store, Lake):
        with store.cursor() as cur:
            yield cur
        with store.cursor() as cur:  # a file that something was written into is let go in the next transaction
            cur.execute("detach fresh")
        return
    with store.cursor():  # makes a file that is not there yet
        pass
    with tempfile.TemporaryDirectory(prefix="aisbench-snapshot-") as folder:
        copy = Path(folder) / f"{NAME}.duckdb"
        copied(store.path, copy, store.patience_s)
        with duckdb.connect(copy) as con:
            migrate(con, store.path)
            yield con


def _fill(con: duckdb.DuckDBPyConnection, draft: Path) -> None:
    con.execute(f"attach {quoted(draft)} as fresh (block_size {BLOCK}, storage_version '{STORAGE}')")
    asked = "select table_name from duckdb_tables() where database_name = current_database() and not temporary"
    for (table,) in con.execute(asked).fetchall():
        if table != SNAPSHOT:  # that of a warehouse that is a snapshot itself: it says when that one was taken
            con.execute(f"create table fresh.main.{table} as from {table}")


def _finish(draft: Path, at: datetime) -> int:
    with duckdb.connect(draft) as con:
        con.begin()
        views.create(con)
        views.describe(con)
        [(runs,)] = con.execute("select count(*) from runs").fetchall()
        con.execute(_TABLE)
        con.execute("insert into snapshot values (?, ?, ?)", [at.astimezone(UTC).replace(tzinfo=None), LATEST, runs])
        con.commit()
        con.execute("checkpoint")
    return int(runs)
