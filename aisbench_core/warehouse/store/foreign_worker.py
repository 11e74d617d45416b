"""The program that reads a warehouse file of somebody else; foreign.py starts it, and says what it may take."""

import contextlib
import fcntl
import json
import resource
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import duckdb

from aisbench_core.errors import AisbenchError, DiskError, WarehouseBusy, WarehouseError, disk_error
from aisbench_core.warehouse.store import foreign_rules as rules
from aisbench_core.warehouse.store.file_format import BLOCK, STORAGE, quoted
from aisbench_core.warehouse.store.file_queue import RETRY_S
from aisbench_core.warehouse.store.file_refusals import refusal
from aisbench_core.warehouse.store.migrations import LATEST, migrate
from aisbench_core.warehouse.store.new_file import log_of

THEIRS, OURS = "theirs", "ours"

_ADDRESSES = 4
"""Address space for each byte of memory: libraries and reserved areas take some of it."""

Asked = Mapping[str, Any]
Cursor = duckdb.DuckDBPyConnection


def main() -> None:
    """Read what is asked from standard input, and write the answer to standard output, both in JSON."""
    asked = json.load(sys.stdin)
    answer = {"error": "", "message": "", "hint": ""}
    try:
        _limit(asked)
        copy_rows(asked)
    except (AisbenchError, duckdb.Error, OSError, MemoryError) as error:
        told = _in_words(error, Path(asked["file"]), asked)
        answer = {"error": _kind(told), "message": told.message, "hint": told.hint}
    sys.stdout.write(json.dumps(answer))


def copy_rows(asked: Asked) -> None:
    """Write the rows of `file` into the new file `draft`."""
    file, draft = Path(asked["file"]), Path(asked["draft"])
    original = draft.with_name("original.duckdb")
    _copy_file(file, original, time.monotonic() + asked["patience_s"])
    with _engine(original, draft, asked) as con, contextlib.closing(con.cursor()) as cur:
        version = _version(cur, file)
        _copy_tables(cur, file, version)
        cur.execute(f"use {OURS}")
        migrate(cur, file)
        rules.check_values(cur, file)
        rules.count(cur)
        cur.execute(f"checkpoint {OURS}")
    for left in (original, log_of(original)):
        left.unlink(missing_ok=True)


def _limit(asked: Asked) -> None:
    seconds = int(asked["seconds"]) + 1
    for kind, most in (
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_AS, _ADDRESSES * asked["memory"]),
        (resource.RLIMIT_FSIZE, asked["written"]),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(kind)[1]
        with contextlib.suppress(OSError, ValueError):  # not every system has every limit
            resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


# --- the file -----------------------------------------------------------------------------------------


def _copy_file(file: Path, copy: Path, deadline: float) -> None:
    """Copy the file and its log while nobody writes, who may have the file open: DuckDB locks it in the same way."""
    with file.open("rb") as content:
        _lock(content.fileno(), file, deadline)
        with copy.open("wb") as target:
            shutil.copyfileobj(content, target)
        if log_of(file).exists():
            shutil.copyfile(log_of(file), log_of(copy))


def _lock(handle: int, file: Path, deadline: float) -> None:
    while True:
        try:
            fcntl.lockf(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError as error:
            if time.monotonic() > deadline:
                raise WarehouseBusy(f"{file} is in use by somebody else", "try again in a moment") from error
        else:
            return
        time.sleep(RETRY_S)


@contextlib.contextmanager
def _engine(original: Path, draft: Path, asked: Asked) -> Iterator[Cursor]:
    """Both files attached to an engine that reaches no other.

    Its own database is empty and in memory: names of functions never lead into the file."""
    engine = duckdb.connect(
        ":memory:",
        config={
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "memory_limit": f"{asked['memory']}B",
            "threads": 2,
            "temp_directory": "",
        },
    )
    allowed = [str(path) for file in (original, draft) for path in (file, log_of(file), f"{log_of(file)}.checkpoint")]
    try:
        engine.execute("set allowed_paths = ?", [allowed])
        engine.execute("set enable_external_access = false")
        engine.execute("set lock_configuration = true")
        engine.execute(f"attach {quoted(original)} as {THEIRS} (read_only, type duckdb)")
        engine.execute(f"attach {quoted(draft)} as {OURS} (block_size {BLOCK}, storage_version '{STORAGE}')")
        yield engine
    finally:
        engine.close()


# --- its tables ---------------------------------------------------------------------------------------


def _version(cur: Cursor, file: Path) -> int:
    there = rules.objects(cur, THEIRS)
    if rules.VERSION not in there:
        raise rules.not_a_warehouse(file)
    rules.check_table(cur, file, rules.VERSION, there, rules.VERSION_COLUMNS)
    [(version,)] = cur.execute(f"select max(version) from {THEIRS}.main.{rules.VERSION}").fetchall()
    if version is None or version < 1:
        raise rules.not_a_warehouse(file)
    if version > LATEST:
        raise rules.too_new(file, version)
    return int(version)


def _copy_tables(cur: Cursor, file: Path, version: int) -> None:
    there = rules.objects(cur, THEIRS)
    expected = rules.tables_of(version)
    for table, columns in expected.items():
        if table not in rules.OPTIONAL or table in there:
            rules.check_table(cur, file, table, there, columns)
    rules.create(cur, OURS, version)
    for table, columns in expected.items():
        if table in there:
            names = ", ".join(columns)
            values = ", ".join(_value(name, kind) for name, kind in columns.items())
            cur.execute(f"insert into {OURS}.main.{table} ({names}) select {values} from {THEIRS}.main.{table}")


def _value(name: str, kind: str) -> str:
    """JSON is looked at again: a column can be called so and hold any text."""
    return f"{name}::VARCHAR::JSON" if kind == "JSON" else name


# --- errors -------------------------------------------------------------------------------------------


def _in_words(error: Exception, file: Path, asked: Asked) -> AisbenchError:
    if isinstance(error, AisbenchError):
        return error
    if isinstance(error, (MemoryError, duckdb.OutOfMemoryException)):
        return WarehouseError(f"{file} needs more than {_size(asked['memory'])} of memory to be read", rules.HINT)
    if "File too large" in str(error):
        return WarehouseError(f"{file} holds more than {_size(asked['written'])} of rows", rules.HINT)
    if isinstance(error, OSError):
        return disk_error(error, Path(asked["draft"])) or WarehouseError(
            f"{file} cannot be read: {error.strerror or error}", rules.HINT
        )
    if isinstance(error, duckdb.ConversionException):
        return WarehouseError(f"{file} holds JSON that cannot be read: {_first_line(error)}", rules.HINT)
    return refusal(
        file, duckdb.Error(str(error).replace(str(Path(asked["draft"]).with_name("original.duckdb")), str(file)))
    )


def _kind(error: AisbenchError) -> str:
    return "busy" if isinstance(error, WarehouseBusy) else "disk" if isinstance(error, DiskError) else "other"


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _size(number: int) -> str:
    return f"{number / 1024**3:.3g} GiB"
