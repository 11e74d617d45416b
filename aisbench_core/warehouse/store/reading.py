"""A warehouse to be read and nothing else, by people whose questions nobody has read before.

A file is copied, and the copy is asked: however long a question takes, nobody who records waits for it. A team's lake
is attached read-only, and answers each question from one snapshot. Either way the engine is then locked: it opens no
other file, loads nothing, and its settings stay as they are.
"""

import contextlib
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import duckdb

from aisbench_core.errors import DiskError, WarehouseError, disk_error, full_disks_named
from aisbench_core.messages import Message
from aisbench_core.warehouse.open import views
from aisbench_core.warehouse.store import extensions, lake_refusals, log_state
from aisbench_core.warehouse.store.compacting import patiently_attached
from aisbench_core.warehouse.store.connection import PATIENCE_S, started
from aisbench_core.warehouse.store.file_refusals import refusal
from aisbench_core.warehouse.store.foreign import copy_rows
from aisbench_core.warehouse.store.lake import NAME, attach_lake, keep, spill_folder
from aisbench_core.warehouse.store.migrations import is_outdated, migrate
from aisbench_core.warehouse.store.new_file import revision_of
from aisbench_core.warehouse.store.team import TeamPlace

MEMORY = "1GiB"
"""What one question may take of the memory; it may spill SPILL more to disk."""

SPILL = "8GiB"

_Config = dict[str, str | bool | int | float | list[str]]

_LOADS_NOTHING: _Config = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
_GUARDED: _Config = _LOADS_NOTHING | {
    "errors_as_json": True,  # with the place in the text that they are about
    "python_enable_replacements": False,  # no variable of a program is a table
    "memory_limit": MEMORY,
    "max_temp_directory_size": SPILL,
}

_COPY = "import shutil, sys; shutil.copyfile(sys.argv[1], sys.argv[2])"


class FileReader:
    """A copy of a warehouse file, taken anew when the file has changed. Threads may share it."""

    def __init__(self, path: Path, patience_s: float = PATIENCE_S, *, foreign: bool = False) -> None:
        """`foreign`: somebody else may have made the file; then the copy holds its rows alone."""
        self.place = path
        self._patience_s = patience_s
        self._foreign = foreign
        self._guard = threading.Lock()
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._engine: duckdb.DuckDBPyConnection | None = None
        self._revision = ""

    @contextlib.contextmanager
    def cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor on the newest content. Raises WarehouseBusy or WarehouseError.

        Where there is no room for a copy the file itself is asked, one question after the other."""
        with self._guard:
            try:
                engine = self._newest()
            except DiskError:
                if self._foreign:
                    raise
                with _in_place(self.place, self._patience_s) as cur:
                    yield cur
                return
            cur = engine.cursor()
        with cur:
            yield cur

    def close(self) -> None:
        """Forget the copy."""
        with self._guard:
            self._drop()

    def remove_copy(self) -> None:
        """Remove the copy although it may be in use: the process ends, and does not wait for the engine."""
        if folder := self._folder:
            folder.cleanup()

    def _newest(self) -> duckdb.DuckDBPyConnection:
        if self._engine is None or self._revision != revision_of(self.place):
            self._drop()
            try:
                self._engine = self._opened()
            finally:
                if self._engine is None:
                    self._drop()
        return self._engine

    def _opened(self) -> duckdb.DuckDBPyConnection:
        with full_disks_named():
            self._folder = tempfile.TemporaryDirectory(prefix="aisbench-reading-")
        copy = Path(self._folder.name) / f"{NAME}.duckdb"
        self._revision = (copy_rows if self._foreign else copied)(self.place, copy, self._patience_s)
        spill: _Config = {"temp_directory": str(copy.with_name("spill"))}
        locked: _Config = {"enable_external_access": False, "lock_configuration": True}
        try:
            with duckdb.connect(copy, config=_LOADS_NOTHING) as con:
                migrate(con, self.place)
                views.create(con)
            return duckdb.connect(copy, read_only=True, config=_GUARDED | spill | locked)
        except (OSError, duckdb.Error) as error:
            raise refusal(self.place, error) from error

    def _drop(self) -> None:
        engine, folder = self._engine, self._folder
        self._engine = self._folder = None
        if engine:
            engine.close()
        if folder:
            folder.cleanup()


@contextlib.contextmanager
def _in_place(path: Path, patience_s: float) -> Iterator[duckdb.DuckDBPyConnection]:
    """A cursor on the file itself, held read-only: writers wait meanwhile, for whom there is no room anyway."""
    engine = duckdb.connect(":memory:", config=_GUARDED | _LOADS_NOTHING | {"errors_as_json": False})
    try:
        with patiently_attached(engine, path, time.monotonic() + patience_s, ", read_only"), engine.cursor() as cur:
            _look_through(engine, path)
            engine.execute("set enable_external_access = false")
            engine.execute("set global errors_as_json = true")
            engine.execute("set lock_configuration = true")
            yield cur
    finally:
        engine.close()


def copied(path: Path, copy: Path, patience_s: float) -> str:
    """Copy a warehouse file with its log while nobody writes, and return its revision; nothing if there is no file.

    The file is held read-only meanwhile. Another process copies: closing it here would drop the lock that DuckDB holds
    for this one. Raises DiskError when there is no room for the copy."""
    if not path.exists():
        return revision_of(path)
    engine = started(path)
    try:
        with patiently_attached(engine, path, time.monotonic() + patience_s, ", read_only"):
            log_state.check(path)
            revision = revision_of(path)
            for ending in ("", ".wal"):
                if Path(f"{path}{ending}").exists():
                    _copy(f"{path}{ending}", f"{copy}{ending}")
    except (OSError, duckdb.Error) as error:
        full = disk_error(error, copy) if isinstance(error, OSError) else None
        raise full or refusal(path, error) from error
    finally:
        engine.close()
    return revision


def _copy(source: str, target: str) -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _COPY, source, target], capture_output=True, text=True, check=False
    )
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["it cannot be copied"])[-1]
        numbered = re.search(r"\[Errno (\d+)\] ([^:]+)", said)
        raise OSError(int(numbered[1]), numbered[2]) if numbered else OSError(said)


class LakeReader:
    """A team's warehouse, attached read-only. Threads may share it."""

    def __init__(self, place: TeamPlace) -> None:
        self.place = place
        self._guard = threading.Lock()
        self._engine: duckdb.DuckDBPyConnection | None = None

    @contextlib.contextmanager
    def cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor whose answers are all of one moment. Raises WarehouseError."""
        with self._guard:
            self._engine = self._engine or _lake_engine(self.place)
            cur = self._engine.cursor()
        with cur:
            cur.begin()
            try:
                yield cur
            except (WarehouseError, duckdb.Error):
                self.close()  # it may be the connection that broke
                raise
            finally:
                with contextlib.suppress(duckdb.Error):
                    cur.rollback()

    def close(self) -> None:
        """Leave the lake; the next question attaches it again."""
        with self._guard:
            self._engine = None

    def remove_copy(self) -> None:
        """There is none."""


def _lake_engine(place: TeamPlace) -> duckdb.DuckDBPyConnection:
    access = place.access()
    engine = extensions.started(_GUARDED | {"temp_directory": spill_folder(), "errors_as_json": False})
    try:
        keep(engine, access)
        attach_lake(engine, place, access, read_only=True)
        _look_through(engine, place)
        engine.execute("set allowed_directories = [?]", [place.data_path])
        engine.execute("set enable_external_access = false")
        engine.execute("set global errors_as_json = true")
        engine.execute("set lock_configuration = true")
    except duckdb.Error as error:
        raise lake_refusals.refusal(place, error, access.secrets) from error
    return engine


def _look_through(engine: duckdb.DuckDBPyConnection, place: Path | TeamPlace) -> None:
    """The warehouse's tables and our views under plain names: every cursor finds them without a setting."""
    with engine.cursor() as cur:
        cur.execute(f"use {NAME}")
        if is_outdated(cur, place):
            raise WarehouseError(
                Message("the warehouse {path} is of an older version", path=place),
                Message("let somebody who may write run `aisbench leaderboard`"),
            )
    asked = f"select table_name from duckdb_tables() where database_name = '{NAME}'"
    for (table,) in engine.execute(asked).fetchall():
        # The board's questions look rows up by their rowid, which a view would hide.
        engine.execute(f"create view {table} as select *, rowid from {NAME}.{table}")
    views.create(engine)


Reader = FileReader | LakeReader


def reader(place: Path | TeamPlace, patience_s: float = PATIENCE_S, *, foreign: bool = False) -> Reader:
    """What reads a warehouse; it looks at the place when it is first asked. `foreign`: a file of somebody else."""
    return LakeReader(place) if isinstance(place, TeamPlace) else FileReader(place, patience_s, foreign=foreign)
