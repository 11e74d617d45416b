"""Compaction: a file is written anew, and the many small files of a team's warehouse are merged into few."""

import contextlib
import stat
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb

from aisbench_core.private_files import abandoned, draft_of, sync
from aisbench_core.warehouse.store import Compacted, Size
from aisbench_core.warehouse.store.engine import NAME, attached, start
from aisbench_core.warehouse.store.file_refusals import refusal
from aisbench_core.warehouse.store.warehouse_file import log_of, write_anew

_STEPS = (
    "ducklake_rewrite_data_files('warehouse')",
    "ducklake_merge_adjacent_files('warehouse')",
    "ducklake_expire_snapshots('warehouse', older_than => {before})",
)
_REMOVAL = (
    "ducklake_cleanup_old_files('warehouse', older_than => {before})",
    "ducklake_delete_orphaned_files('warehouse', older_than => {before})",
)


# --- a file -------------------------------------------------------------------------------------------


def compact_file(path: Path, patience_s: float) -> Compacted:
    """Write a new file, and replace the old one with it; other processes wait meanwhile.

    The old file is held read-only while it is copied, which keeps writers away and changes neither file nor log.
    Raises WarehouseBusy if others do not release it, and WarehouseError if it cannot be used."""
    deadline = time.monotonic() + patience_s
    draft = draft_of(path)
    engine = start(path)
    try:
        with attached(engine, path, deadline):
            before = _file_size(path)
            engine.execute(f"checkpoint {NAME}")
        with _held(engine, path, deadline):
            write_anew(engine, NAME, draft)
            draft.chmod(stat.S_IMODE(path.stat().st_mode))  # outside the data folder it may be shared on purpose
            draft.replace(path)
            sync(path.parent)
    except (OSError, duckdb.Error) as error:
        raise refusal(path, error) from error
    finally:
        engine.close()
        for file in (draft, log_of(draft), *abandoned(path.parent)):
            file.unlink(missing_ok=True)
    return Compacted(before, _file_size(path))


@contextlib.contextmanager
def _held(engine: duckdb.DuckDBPyConnection, path: Path, deadline: float) -> Iterator[None]:
    """The file read-only, and without a log."""
    while True:  # another process may write between the checkpoint and this
        with attached(engine, path, deadline, ", read_only"):
            if not _bytes(log_of(path)):
                yield
                return
        with attached(engine, path, deadline):
            engine.execute(f"checkpoint {NAME}")


def _file_size(path: Path) -> Size:
    return Size(_bytes(path) + _bytes(log_of(path)), 1)


def _bytes(file: Path) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:  # a writer may merge the log, and remove it, at any time
        return 0


# --- a team's -----------------------------------------------------------------------------------------

Upkeep = Callable[[str], list[tuple[Any, ...]]]
"""Carries out one maintenance statement in a lake, when it is our turn, and returns its rows."""


def compact_lake(upkeep: Upkeep, grace: timedelta) -> Compacted:
    """Rows in the catalogue become files, small files become large ones, and files that nothing needs are removed.

    Each step takes a turn of its own, so that nobody who records waits for all of them."""
    before = _lake_size(upkeep)
    flushed = sum(rows for *_, rows in upkeep("from ducklake_flush_inlined_data('warehouse')"))
    for step in _STEPS:
        upkeep(f"select count(*) from {step.format(before=_moment(grace))}")
    removed = sum(len(upkeep(f"select path from {step.format(before=_moment(grace))}")) for step in _REMOVAL)
    return Compacted(before, _lake_size(upkeep), flushed, removed)


def orphaned_files(upkeep: Upkeep, grace: timedelta) -> list[str]:
    """Files on OBS that the catalogue does not know: of writers that died."""
    orphans = f"ducklake_delete_orphaned_files('warehouse', dry_run => true, older_than => {_moment(grace)})"
    return sorted(str(file) for (file,) in upkeep(f"select path from {orphans}"))


def _moment(grace: timedelta) -> str:
    return f"'{(datetime.now(UTC) - grace).isoformat(sep=' ')}'::timestamptz"


def _lake_size(upkeep: Upkeep) -> Size:
    [(files, size)] = upkeep(
        """select sum(file_count + delete_file_count), sum(file_size_bytes + delete_file_size_bytes)
        from ducklake_table_info('warehouse')"""
    )
    return Size(int(size or 0), int(files or 0))
