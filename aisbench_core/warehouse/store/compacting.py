"""Makes a warehouse small and quick again: a file is written anew, a team's many small files become few."""

import contextlib
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb

from aisbench_core.private_files import abandoned, draft_of, sync
from aisbench_core.warehouse.store.connection import (
    NAME,
    PATIENCE_S,
    Connection,
    attached,
    started,
)
from aisbench_core.warehouse.store.file_format import write_anew
from aisbench_core.warehouse.store.file_queue import try_in_turn
from aisbench_core.warehouse.store.file_refusals import refusal
from aisbench_core.warehouse.store.lake import Lake
from aisbench_core.warehouse.store.new_file import log_of

GRACE = timedelta(hours=1)
"""For so long files stay on OBS that nothing needs any more: whoever began to read before may still ask for them."""

_STEPS = (
    "ducklake_rewrite_data_files('warehouse')",
    "ducklake_merge_adjacent_files('warehouse')",
    "ducklake_expire_snapshots('warehouse', older_than => {before})",
)
_REMOVAL = (
    "ducklake_cleanup_old_files('warehouse', older_than => {before})",
    "ducklake_delete_orphaned_files('warehouse', older_than => {before})",
)


@dataclass(frozen=True, slots=True)
class Size:
    """Bytes in so many files that belong to the warehouse."""

    bytes: int
    files: int


@dataclass(frozen=True, slots=True)
class Compacted:
    """What was there, what is there now, rows that left PostgreSQL for a file, and files that were removed."""

    before: Size
    after: Size
    flushed: int = 0
    removed: int = 0


def compact(store: Connection | Lake) -> Compacted:
    """Make a warehouse small and quick again."""
    if isinstance(store, Lake):
        return compact_lake(store)
    with store.cursor():  # makes a file that is not there yet
        pass
    return compact_file(store.path)


def loose(store: Connection | Lake) -> list[str]:
    """Files that belong to nothing."""
    return loose_files(store) if isinstance(store, Lake) else loose_drafts(store.path)


# --- a file -------------------------------------------------------------------------------------------


def compact_file(path: Path, patience_s: float = PATIENCE_S) -> Compacted:
    """Write the file anew beside the old one, and put it in its place; others wait meanwhile.

    The old file is held read-only while it is copied: that keeps writers away, and leaves file and log as they are.
    Raises WarehouseBusy when others do not let go of it, and WarehouseError when it cannot be used."""
    deadline = time.monotonic() + patience_s
    draft = draft_of(path)
    engine = started(path)
    try:
        with patiently_attached(engine, path, deadline):
            before = _file_size(path)
            engine.execute(f"checkpoint {NAME}")
        with _held(engine, path, deadline):
            write_anew(engine, NAME, draft)
            draft.chmod(stat.S_IMODE(path.stat().st_mode))  # a file elsewhere may be shared on purpose
            draft.replace(path)
            sync(path.parent)
    except (OSError, duckdb.Error) as error:
        raise refusal(path, error) from error
    finally:
        engine.close()
        for left in (draft, log_of(draft), *abandoned(path.parent)):
            left.unlink(missing_ok=True)
    return Compacted(before, _file_size(path))


@contextlib.contextmanager
def _held(engine: duckdb.DuckDBPyConnection, path: Path, deadline: float) -> Iterator[None]:
    """The file read-only, with everything in it: another writer may have come between, and its log must be merged."""
    while True:
        with patiently_attached(engine, path, deadline, ", read_only"):
            if not _bytes(log_of(path)):
                yield
                return
        with patiently_attached(engine, path, deadline):
            engine.execute(f"checkpoint {NAME}")


@contextlib.contextmanager
def patiently_attached(engine: duckdb.DuckDBPyConnection, path: Path, deadline: float, how: str = "") -> Iterator[None]:
    """The file attached for as long as this lasts. Raises WarehouseBusy when others keep it until the deadline."""
    try_in_turn(path, deadline, lambda: attached(engine, path, how))
    try:
        yield
    finally:
        engine.execute(f"detach {NAME}")


def loose_drafts(path: Path) -> list[str]:
    """Files beside a warehouse that somebody who died was writing."""
    return sorted(str(file) for file in abandoned(path.parent))


def _file_size(path: Path) -> Size:
    return Size(_bytes(path) + _bytes(log_of(path)), 1)


def _bytes(file: Path) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:  # whoever writes may merge the log and take it away at any time
        return 0


# --- a team's -----------------------------------------------------------------------------------------


def compact_lake(lake: Lake, grace: timedelta = GRACE) -> Compacted:
    """Rows in the catalogue become files, small files become large ones, and what nothing needs is removed.

    Each step takes a turn of its own, so that nobody who records waits for all of them."""
    before = lake.upkeep(_lake_size)
    flushed = sum(rows for *_, rows in lake.upkeep(_all("ducklake_flush_inlined_data('warehouse')")))
    for step in _STEPS:
        lake.upkeep(_all(step.format(before=_moment(grace)), "count(*)"))
    removed = sum(len(lake.upkeep(_all(step.format(before=_moment(grace)), "path"))) for step in _REMOVAL)
    return Compacted(before, lake.upkeep(_lake_size), flushed, removed)


def loose_files(lake: Lake, grace: timedelta = GRACE) -> list[str]:
    """Files on OBS that the catalogue does not know: of writers that died."""
    asked = f"ducklake_delete_orphaned_files('warehouse', dry_run => true, older_than => {_moment(grace)})"
    return sorted(str(file) for (file,) in lake.upkeep(_all(asked, "path")))


def _moment(grace: timedelta) -> str:
    return f"'{(datetime.now(UTC) - grace).isoformat(sep=' ')}'::timestamptz"


def _all(function: str, columns: str = "*") -> Callable[[duckdb.DuckDBPyConnection], list[Any]]:
    def ask(cur: duckdb.DuckDBPyConnection) -> list[Any]:
        return cur.execute(f"select {columns} from {function}").fetchall()

    return ask


def _lake_size(cur: duckdb.DuckDBPyConnection) -> Size:
    asked = "select sum(file_count + delete_file_count), sum(file_size_bytes + delete_file_size_bytes) "
    [(files, size)] = cur.execute(f"{asked} from ducklake_table_info('warehouse')").fetchall()
    return Size(int(size or 0), int(files or 0))
