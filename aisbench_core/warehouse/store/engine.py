"""DuckDB engines with an empty database in memory, to which a warehouse file is attached for as long as it is used."""

import contextlib
import re
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import duckdb

from aisbench_core.base.errors import disk_error
from aisbench_core.base.private_files import is_read_only
from aisbench_core.warehouse.store.file_queue import try_in_turn
from aisbench_core.warehouse.store.warehouse_file import check_log, revision_of, translate_error
from aisbench_core.warehouse.tables.schema import sql_text

# How long to wait for other processes before WarehouseBusy.
PATIENCE_S = 15.0

# What the warehouse's database is called inside the engine.
NAME = "warehouse"

Config = dict[str, str | bool | int | float | list[str]]

# Never reach for the network.
OFFLINE: Config = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}

CONFIG: Config = OFFLINE | {
    "threads": 1,  # as fast below 120,000 runs (a row group); in a lake more of them double the work of recording
    "checkpoint_threshold": "1MB",  # while the file is open; see MERGED_FROM
}

# DuckDB 2 warns that it copies a cursor's rows once more than a relation's. Of a relation with values DuckDB 1.5
# collects all rows before the first, so answers are cursors' while it is in use.
warnings.filterwarnings("ignore", message="Arrow output on a DB-API result", category=UserWarning)

_COPY = "import shutil, sys; shutil.copyfile(sys.argv[1], sys.argv[2])"


def start_engine(path: Path) -> duckdb.DuckDBPyConnection:
    """An engine for the file, which is not attached yet."""
    engine = duckdb.connect(":memory:", config={**CONFIG, "temp_directory": _spill_folder(path)})
    engine.execute("pragma disable_checkpoint_on_shutdown")  # the log is durable, and merging it costs 20 ms
    return engine


def _spill_folder(path: Path) -> str:
    """Beside the file, or among temporary files; nowhere if neither can be written, since few queries need it."""
    if not is_read_only(path.parent):
        return f"{path}.tmp"
    try:
        return spill_folder()
    except OSError:
        return ""


def spill_folder() -> str:
    """Where queries put what does not fit into memory. Raises OSError if no temporary folder can be written."""
    return str(Path(tempfile.gettempdir()) / "aisbench-warehouse")


def attach_file(engine: duckdb.DuckDBPyConnection, path: Path, options: str = "") -> None:
    """Attach the existing file as NAME; a compaction may replace it while we open it, so look again afterwards."""
    while True:
        before = path.stat().st_ino
        try:
            engine.execute(f"attach {sql_text(path)} as {NAME} (type duckdb{options})")
        except duckdb.Error as error:
            raise translate_error(path, error) from error
        if path.stat().st_ino == before:
            return
        engine.execute(f"detach {NAME}")


@contextlib.contextmanager
def attach_in_turn(engine: duckdb.DuckDBPyConnection, path: Path, deadline: float, options: str = "") -> Iterator[None]:
    """The file attached, when it is our turn. Raises WarehouseBusy if others keep it until the deadline."""
    try_in_turn(path, deadline, lambda: attach_file(engine, path, options))
    try:
        yield
    finally:
        engine.execute(f"detach {NAME}")


def copy_file(path: Path, copy: Path, patience_s: float) -> str:
    """Copy a warehouse file with its log and return its revision; do nothing if there is no file.

    The file is held read-only meanwhile, so nobody writes. Raises DiskError if there is no room for the copy."""
    if not path.exists():
        return revision_of(path)
    engine = start_engine(path)
    try:
        with attach_in_turn(engine, path, time.monotonic() + patience_s, ", read_only"):
            check_log(path)
            revision = revision_of(path)
            for ending in ("", ".wal"):
                if Path(f"{path}{ending}").exists():
                    _copy_in_process(f"{path}{ending}", f"{copy}{ending}")
    except (OSError, duckdb.Error) as error:
        full = disk_error(error, copy) if isinstance(error, OSError) else None
        raise full or translate_error(path, error) from error
    finally:
        engine.close()
    return revision


def _copy_in_process(source: str, target: str) -> None:
    """In a process of its own: closing the file in this one would drop the POSIX lock that DuckDB holds on it."""
    process = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _COPY, source, target], capture_output=True, text=True, check=False
    )
    if process.returncode:
        reason = (process.stderr.strip().splitlines() or ["it cannot be copied"])[-1]
        numbered = re.search(r"\[Errno (\d+)\] ([^:]+)", reason)
        raise OSError(int(numbered[1]), numbered[2]) if numbered else OSError(reason)
