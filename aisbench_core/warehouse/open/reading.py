"""Read-only access to a warehouse, for SQL that people write.

A file is copied and the copy is queried, so that writers never wait for a query, however long. A team's lake is
attached read-only, and answers each query from one snapshot. The engine is then locked: it opens no other file, loads
no extension, and its settings cannot be changed.
"""

import contextlib
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import duckdb

from aisbench_core.base.errors import DiskError, WarehouseError, full_disks_named
from aisbench_core.base.messages import Message
from aisbench_core.warehouse.answers import views
from aisbench_core.warehouse.store import lake_refusals
from aisbench_core.warehouse.store.engine import (
    NAME,
    OFFLINE,
    PATIENCE_S,
    Config,
    attach_in_turn,
    copy_file,
    spill_folder,
)
from aisbench_core.warehouse.store.foreign.copying import copy_rows
from aisbench_core.warehouse.store.lake import attach_lake, set_secrets, start_lake_engine
from aisbench_core.warehouse.store.migrations import is_outdated, migrate_tables
from aisbench_core.warehouse.store.shared_engine import SharedEngine, close_engine
from aisbench_core.warehouse.store.team import TeamLocation
from aisbench_core.warehouse.store.warehouse_file import revision_of, translate_error

# Memory of one query, which may spill SPILL more to disk.
MEMORY = "1GiB"

SPILL = "8GiB"

MOST_THREADS = 8
"""Of one query: each takes address space, of which its process has only so much (open/memory.py)."""


def query_threads(cores: int) -> int:
    """How many threads one query gets: it leaves others half of the cores."""
    return max(1, min(MOST_THREADS, cores // 2))


def usable_cores() -> int:
    """The cores that this process may use, which are fewer than the host's in a container with a set of its own."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_GUARDED: Config = OFFLINE | {
    "errors_as_json": True,  # with the position in the SQL
    "python_enable_replacements": False,  # else Python variables of the caller would be tables
    "memory_limit": MEMORY,
    "max_temp_directory_size": SPILL,
    "threads": query_threads(usable_cores()),
}


class FileReader:
    """A copy of a warehouse file, renewed when the file has changed. Threads may share it."""

    def __init__(self, path: Path, patience_s: float = PATIENCE_S, *, foreign: bool = False) -> None:
        """`foreign`: somebody else made the file, so that only its rows are copied."""
        self.location = path
        self._patience_s = patience_s
        self._foreign = foreign
        self._guard = threading.Lock()
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._engine: duckdb.DuckDBPyConnection | None = None
        self._revision = ""

    @contextlib.contextmanager
    def cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor on the newest content. Raises WarehouseBusy or WarehouseError.

        Without space for a copy, queries read the file itself, one after the other."""
        with self._guard:
            try:
                engine = self._get_newest()
            except DiskError:
                if self._foreign:
                    raise
                with _file_itself(self.location, self._patience_s) as cur:
                    yield cur
                return
            cur = engine.cursor()
        with cur:
            yield cur

    def link_copy(self, folder: Path) -> Path:
        """The newest content as a file in the folder, which another process can open with CopyReader.

        Raises OSError, DiskError, WarehouseBusy or WarehouseError."""
        with self._guard:
            self._get_newest()
            link = folder / f"{NAME}.duckdb"
            link.hardlink_to(self._copy)
        return link

    def close(self) -> None:
        """Remove the copy; the next query makes another one."""
        with self._guard:
            self._drop_copy()

    def remove_copy(self) -> None:
        """Remove the copy although it may be in use: at exit, without waiting for the engine."""
        if folder := self._folder:
            folder.cleanup()

    def _get_newest(self) -> duckdb.DuckDBPyConnection:
        if self._engine is None or self._revision != revision_of(self.location):
            self._drop_copy()
            try:
                self._engine = self._open_engine()
            finally:
                if self._engine is None:
                    self._drop_copy()
        return self._engine

    def _open_engine(self) -> duckdb.DuckDBPyConnection:
        with full_disks_named():
            self._folder = tempfile.TemporaryDirectory(prefix="aisbench-reading-")
        copy = self._copy
        self._revision = (copy_rows if self._foreign else copy_file)(self.location, copy, self._patience_s)
        try:
            with duckdb.connect(copy, config=OFFLINE) as con:
                migrate_tables(con, self.location)
                views.create(con)
            return _open_copy(copy)
        except (OSError, duckdb.Error) as error:
            raise translate_error(self.location, error) from error

    @property
    def _copy(self) -> Path:
        return Path(self._folder.name if self._folder else "") / f"{NAME}.duckdb"

    def _drop_copy(self) -> None:
        engine, folder = self._engine, self._folder
        self._engine = self._folder = None
        if engine:
            engine.close()
        if folder:
            folder.cleanup()


class CopyReader:
    """A copy that another process made, with its views; it removes it as well."""

    def __init__(self, copy: Path) -> None:
        self.location = copy

    @contextlib.contextmanager
    def cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor on the copy. Raises WarehouseError."""
        try:
            engine = _open_copy(self.location)
        except (OSError, duckdb.Error) as error:
            raise translate_error(self.location, error) from error
        with engine:
            yield engine

    def close(self) -> None:
        """Nothing is kept open."""


def _open_copy(copy: Path) -> duckdb.DuckDBPyConnection:
    spill: Config = {"temp_directory": str(copy.with_name("spill"))}
    locked: Config = {"enable_external_access": False, "lock_configuration": True}
    return duckdb.connect(copy, read_only=True, config=_GUARDED | spill | locked)


@contextlib.contextmanager
def _file_itself(path: Path, patience_s: float) -> Iterator[duckdb.DuckDBPyConnection]:
    """A cursor on the file itself, read-only: writers wait meanwhile, but without free space they cannot write."""
    engine = duckdb.connect(":memory:", config=_GUARDED | {"errors_as_json": False})
    try:
        with attach_in_turn(engine, path, time.monotonic() + patience_s, ", read_only"), engine.cursor() as cur:
            _create_views(engine, path)
            _restrict_engine(engine)
            yield cur
    finally:
        engine.close()


class LakeReader:
    """A team's warehouse, attached read-only. Threads may share it."""

    def __init__(self, location: TeamLocation) -> None:
        self.location = location
        self._shared = SharedEngine(partial(_lake_engine, location), [NAME])

    @contextlib.contextmanager
    def cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor whose answers are all of one moment. Raises WarehouseError."""
        with self._shared.use() as engine, engine.cursor() as cur:
            cur.begin()
            try:
                yield cur
            except (WarehouseError, duckdb.Error) as error:
                if not (isinstance(error, duckdb.Error) and lake_refusals.is_ours(error)):
                    self.close()  # the connection may be broken
                raise
            finally:
                with contextlib.suppress(duckdb.Error):
                    cur.rollback()

    def close(self) -> None:
        """Detach the lake; the next query attaches it again."""
        self._shared.replace()

    def remove_copy(self) -> None:
        """There is none."""


def _lake_engine(location: TeamLocation) -> duckdb.DuckDBPyConnection:
    access = location.access()
    engine = start_lake_engine(_GUARDED | {"temp_directory": spill_folder(), "errors_as_json": False})
    try:
        set_secrets(engine, access)
        attach_lake(engine, location, access, read_only=True)
        _create_views(engine, location)
        engine.execute("set allowed_directories = [?]", [location.data_path])
        _restrict_engine(engine)
    except BaseException as error:
        close_engine(engine, [NAME])
        if isinstance(error, duckdb.Error):
            raise lake_refusals.translate_error(location, error, access.secrets) from error
        raise
    return engine


def _restrict_engine(engine: duckdb.DuckDBPyConnection) -> None:
    engine.execute("set enable_external_access = false")
    engine.execute("set global errors_as_json = true")  # last, because errors of ours so far are read as text
    engine.execute("set lock_configuration = true")


def _create_views(engine: duckdb.DuckDBPyConnection, location: Path | TeamLocation) -> None:
    """The tables and views under plain names in the engine's own database, so that cursors need no `use`."""
    with engine.cursor() as cur:
        cur.execute(f"use {NAME}")
        if is_outdated(cur, location):
            raise WarehouseError(
                Message("the warehouse {path} is of an older version", path=location),
                Message("let somebody who may write run `aisbench leaderboard`"),
            )
    tables = engine.execute(f"select table_name from duckdb_tables() where database_name = '{NAME}'").fetchall()
    for (table,) in tables:
        # The leaderboard's queries look rows up by their rowid, which a view would hide.
        engine.execute(f"create view {table} as select *, rowid from {NAME}.{table}")
    views.create(engine)


Reader = FileReader | LakeReader


def make_reader(location: Path | TeamLocation, patience_s: float = PATIENCE_S, *, foreign: bool = False) -> Reader:
    """A reader, which opens the warehouse when it is first used. `foreign`: somebody else made the file."""
    if isinstance(location, TeamLocation):
        return LakeReader(location)
    return FileReader(location, patience_s, foreign=foreign)
