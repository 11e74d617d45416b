"""The warehouse file: attached for the first cursor, detached after the last.

DuckDB gives the file to one process at a time, so none keeps it longer than its queries take; others wait a bounded
time for their turn. The engine stays, with an empty database in memory: starting one takes several times as long as
attaching the file. Nothing here may open the file in any other way: closing another handle on it, even one of
`duckdb.connect`, would drop the POSIX lock that DuckDB holds.
"""

import contextlib
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import duckdb

from aisbench_core.base.errors import WarehouseBusy, WarehouseError
from aisbench_core.base.messages import Message
from aisbench_core.base.private_files import draft_of, find_abandoned, is_read_only, require_writable, sync_path
from aisbench_core.warehouse.store import warehouse_file
from aisbench_core.warehouse.store.engine import (
    CONFIG,
    NAME,
    PATIENCE_S,
    attach_file,
    attach_in_turn,
    copy_file,
    start_engine,
)
from aisbench_core.warehouse.store.file_queue import RETRY_S, try_in_turn
from aisbench_core.warehouse.store.migrations import MISFITS, find_schema_error, is_outdated, migrate_tables
from aisbench_core.warehouse.store.warehouse_file import BROKEN, log_of, make_busy_error, other_writers, translate_error
from aisbench_core.warehouse.tables.schema import parse_once
from aisbench_core.warehouse.tables.store import Compacted, Size

T = TypeVar("T")

# How long threads may join while the file is open; later ones wait until it was closed once, for other processes.
HOLD_S = 0.2

# How long the file stays closed then: several retries of another process.
AWAY_S = 0.02

# Bytes of the log (five runs) from which on it is merged into the file at closing. With more, each opening would have
# to replay more; with fewer, more closings would wait for a merge.
MERGED_FROM = 30_000


class FileStore:
    """Cursors on the warehouse file; safe between threads and between processes."""

    runs_per_copy = 122_880
    """A row group of DuckDB, which would compress smaller pieces again later."""

    def __init__(self, path: Path, patience_s: float = PATIENCE_S) -> None:
        self.path = path
        self.patience_s = patience_s
        self._turn = threading.Condition()
        self._writers = threading.Lock()
        self._engine: duckdb.DuckDBPyConnection | None = None
        self._is_open = False
        self._is_read_only = False
        self.edition = 0
        self._has_cleared = False
        self._cursors = 0
        self._waiting = 0
        self._opened_at = 0.0
        self._closed_until = 0.0

    @contextlib.contextmanager
    def cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor, one per thread at a time. Raises WarehouseBusy or WarehouseError."""
        cur = self._open_cursor(time.monotonic() + self.patience_s)
        try:
            yield cur
        except BROKEN as error:
            raise translate_error(self.path, error) from error
        except MISFITS as error:
            with contextlib.suppress(duckdb.Error):  # perhaps none was begun
                cur.rollback()
            if changed := find_schema_error(cur, self.path):
                raise changed from error
            raise
        finally:
            self._close_cursor(cur)

    @contextlib.contextmanager
    def moment(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor whose answers are all of one moment, whatever other threads store meanwhile."""
        with self.cursor() as cur:
            cur.begin()
            yield cur

    def write(self, change: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
        """Carry out `change` in one transaction, maybe in a second one; of several threads one after the other.

        The tables have no keys, so nothing else prevents two threads from storing the same run twice. `edition` is one
        more than at the write before, unless that failed, or the file was closed since, so that other processes may
        have written. Raises ReadOnlyFolder if the folder is read-only."""
        require_writable(self.path.parent)
        if not self._writers.acquire(timeout=self.patience_s):
            raise other_writers(self.path)
        deadline = time.monotonic() + self.patience_s
        try:
            self._clear_drafts()
            while True:
                try:
                    with self.cursor() as cur:
                        self.edition += 1
                        return _run_transaction(cur, change)
                except BaseException as error:
                    self.edition += 1  # the write is not in the file
                    if not isinstance(error, duckdb.TransactionException):
                        raise
                    refused = translate_error(
                        self.path, error
                    )  # no space, or a process that closes still holds the log
                    if not isinstance(refused, WarehouseBusy) or time.monotonic() > deadline:
                        raise refused from error
                time.sleep(RETRY_S)
        finally:
            self._writers.release()

    def revision(self) -> str:
        """A text from the file's state, which changes with every change of the content."""
        return warehouse_file.revision_of(self.path)

    def copy_to(self, draft: Path) -> None:
        """Write all tables into a new file: those of a copy, so that writers wait for the copying alone."""
        self._create_file()
        with tempfile.TemporaryDirectory(prefix="aisbench-snapshot-") as folder:
            copy = Path(folder) / f"{NAME}.duckdb"
            copy_file(self.path, copy, self.patience_s)
            with duckdb.connect(copy) as con:
                migrate_tables(con, self.path)
                warehouse_file.copy_tables(con, draft)

    def compact(self) -> Compacted:
        """Write the file anew; others wait meanwhile."""
        self._create_file()
        return compact_file(self.path, self.patience_s)

    def loose_files(self) -> list[str]:
        """None: what a process was writing when it died is no part of the file, and goes with the next write."""
        return []

    def _clear_drafts(self) -> None:
        """Once: drafts of dead processes can be as large as the file."""
        if not self._has_cleared:
            self._has_cleared = True
            for file in find_abandoned(self.path.parent):
                file.unlink(missing_ok=True)

    def _create_file(self) -> None:
        with self.cursor():
            pass

    def _open_cursor(self, deadline: float) -> duckdb.DuckDBPyConnection:
        if not self._turn.acquire(timeout=self.patience_s):
            raise make_busy_error(self.path)
        try:
            self._waiting += 1
            try:
                if not self._turn.wait_for(self._may_join, deadline - time.monotonic()):
                    raise make_busy_error(self.path)
            finally:
                self._waiting -= 1
            cur = _make_cursor(self._open_engine(deadline))
            self._cursors += 1
            return cur
        finally:
            self._turn.release()

    def _may_join(self) -> bool:
        return not self._is_open or time.monotonic() - self._opened_at < HOLD_S

    def _open_engine(self, deadline: float) -> duckdb.DuckDBPyConnection:
        """The engine with the file attached, which waits for other processes until the deadline."""
        engine = self._engine = self._engine or start_engine(self.path)
        if self._is_open:
            return engine
        time.sleep(max(0.0, self._closed_until - time.monotonic()))
        self._is_read_only = is_read_only(self.path.parent)
        attach_migrated = _attach_read_only if self._is_read_only else _attach_file
        try:
            try_in_turn(self.path, deadline, lambda: attach_migrated(engine, self.path))
        except WarehouseBusy:
            raise
        except BaseException:
            self._drop_engine(engine)
            raise
        self._is_open = True
        self.edition += 1
        self._opened_at = time.monotonic()
        return engine

    def _close_cursor(self, cur: duckdb.DuckDBPyConnection) -> None:
        cur.close()
        with self._turn:
            self._cursors -= 1
            if self._cursors == 0 and self._engine is not None:
                self._close_file(self._engine)

    def _close_file(self, engine: duckdb.DuckDBPyConnection) -> None:
        self._is_open = False
        self._closed_until = time.monotonic() + AWAY_S if self._waiting else 0.0
        try:
            merged = self._is_read_only or _try_merging(engine, log_of(self.path))
            if not self._is_read_only:
                warehouse_file.note_log(self.path)
            if merged:
                engine.execute(f"detach {NAME}")
            else:
                self._drop_engine(engine)
        except duckdb.Error as error:
            self._drop_engine(engine)
            raise translate_error(self.path, error) from error
        finally:
            self._turn.notify_all()

    def _drop_engine(self, engine: duckdb.DuckDBPyConnection) -> None:
        # A broken engine stays broken, so the next cursor starts another one.
        self._engine = None
        with contextlib.suppress(duckdb.Error):
            engine.close()


def _make_cursor(engine: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    cur = engine.cursor()
    cur.execute(parse_once(cur, f"use {NAME}"))
    return cur


def _attach_file(engine: duckdb.DuckDBPyConnection, path: Path) -> None:
    try:
        if not path.exists():
            with duckdb.connect(":memory:", config=CONFIG) as con:
                warehouse_file.create(path, con)
        attach_file(engine, path)
        try:
            warehouse_file.check_log(path)
        except WarehouseError:
            engine.execute(f"detach {NAME}")
            raise
        with _make_cursor(engine) as cur:
            migrate_tables(cur, path)
    except (OSError, duckdb.Error) as error:
        raise translate_error(path, error) from error


def _attach_read_only(engine: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Attach the file as it is, with its log replayed in memory; an empty warehouse if there is no file."""
    try:
        if not path.exists():
            engine.execute(f"attach ':memory:' as {NAME}")
            with _make_cursor(engine) as cur:
                migrate_tables(cur, path)
            return
        attach_file(engine, path, ", read_only")
        warehouse_file.check_log(path)
        with _make_cursor(engine) as cur:
            outdated = is_outdated(cur, path)
    except (OSError, duckdb.Error) as error:
        raise translate_error(path, error) from error
    if outdated:
        raise WarehouseError(
            Message("the warehouse {path} is of an older version, and its folder is read-only", path=path),
            Message("run `aisbench leaderboard` once where the folder can be written, or on a copy of it"),
        )


def _run_transaction(cur: duckdb.DuckDBPyConnection, change: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
    cur.begin()
    try:
        answer = change(cur)
        cur.commit()
    except BaseException:
        with contextlib.suppress(duckdb.Error):  # a failed commit has already rolled back
            cur.rollback()
        raise
    return answer


def _try_merging(engine: duckdb.DuckDBPyConnection, log: Path) -> bool:
    """Merge a long log into the file; False if there is no space for that, in which case the log stays."""
    try:
        if log.stat().st_size >= MERGED_FROM:
            engine.execute(f"checkpoint {NAME}")
    except FileNotFoundError:
        return True
    except duckdb.Error:
        return False
    return True


# --- compaction ---------------------------------------------------------------------------------------


def compact_file(path: Path, patience_s: float) -> Compacted:
    """Write a new file, and replace the old one with it; other processes wait meanwhile.

    The old file is held read-only while it is copied, which keeps writers away and changes neither file nor log.
    Raises WarehouseBusy if others do not release it, and WarehouseError if it cannot be used."""
    deadline = time.monotonic() + patience_s
    draft = draft_of(path)
    engine = start_engine(path)
    try:
        with attach_in_turn(engine, path, deadline):
            before = _file_size(path)
            engine.execute(f"checkpoint {NAME}")
        with _hold_file(engine, path, deadline):
            warehouse_file.write_anew(engine, NAME, draft)
            draft.chmod(stat.S_IMODE(path.stat().st_mode))  # outside the data folder it may be shared on purpose
            draft.replace(path)
            sync_path(path.parent)
    except (OSError, duckdb.Error) as error:
        raise translate_error(path, error) from error
    finally:
        engine.close()
        for file in (draft, log_of(draft), *find_abandoned(path.parent)):
            file.unlink(missing_ok=True)
    return Compacted(before, _file_size(path))


@contextlib.contextmanager
def _hold_file(engine: duckdb.DuckDBPyConnection, path: Path, deadline: float) -> Iterator[None]:
    """The file read-only, and without a log."""
    while True:  # another process may write between the checkpoint and this
        with attach_in_turn(engine, path, deadline, ", read_only"):
            if not _get_size(log_of(path)):
                yield
                return
        with attach_in_turn(engine, path, deadline):
            engine.execute(f"checkpoint {NAME}")


def _file_size(path: Path) -> Size:
    return Size(_get_size(path) + _get_size(log_of(path)), 1)


def _get_size(file: Path) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:  # a writer may merge the log, and remove it, at any time
        return 0
