"""Copies the rows of a warehouse file that somebody else made.

Its catalogue can hold views instead of tables, generated columns, and macros with names of functions, which run with
the rights of whoever queries them. So a process of its own (`main`) copies the rows of base tables into a file with
our tables, without access to any other file, and with limits on time, memory and disk.
"""

import contextlib
import fcntl
import json
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import duckdb

from aisbench_core.base.errors import AisbenchError, DiskError, WarehouseBusy, WarehouseError, disk_error
from aisbench_core.base.messages import Message, message_of
from aisbench_core.base.messages.stored import from_json, to_json
from aisbench_core.warehouse.queries.group_statistics import regroup_runs
from aisbench_core.warehouse.store import warehouse_file
from aisbench_core.warehouse.store.engine import OFFLINE, PATIENCE_S
from aisbench_core.warehouse.store.file_queue import RETRY_S
from aisbench_core.warehouse.store.foreign import rules
from aisbench_core.warehouse.store.migrations import LATEST, RELEASED, migrate_tables, too_new, too_old
from aisbench_core.warehouse.store.warehouse_file import log_of, make_busy_error, revision_of, translate_error
from aisbench_core.warehouse.tables.schema import sql_text

_PROGRAM = f"import sys; sys.path.insert(0, sys.argv[1]); from {__name__} import main; main()"
_ROOT = Path(__file__).parents[4]
_ERRORS = {"busy": WarehouseBusy, "disk": DiskError}
_MB = 1024**2
# SIGKILL and SIGXCPU: the system's limit of processor time.
_TIME_LIMIT = (9, 24)


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """What reading one file may take: seconds, bytes of memory, and bytes that are written."""

    seconds: float
    memory: int = 1024 * _MB
    written: int = 1024 * _MB

    @classmethod
    def of(cls, size: int) -> "ReadLimits":
        """Those of a file of so many bytes: a file of 10,000 runs takes a few seconds."""
        return cls(seconds=120 + size / _MB, written=1024 * _MB + 64 * size)


def copy_rows(file: Path, draft: Path, patience_s: float = PATIENCE_S, limits: ReadLimits | None = None) -> str:
    """Write the rows of a warehouse file into a new file, in our newest schema, and return the file's revision.

    The folder of `draft` must hold nothing else. The file may be in use; it is only read. Raises WarehouseBusy,
    DiskError, and WarehouseError if it is no warehouse, of a newer version, or holds what no warehouse holds."""
    limits = limits or ReadLimits.of(file.stat().st_size if file.exists() else 0)
    revision = revision_of(file)
    request = {"file": str(file), "draft": str(draft), "patience_s": patience_s, **asdict(limits)}
    too_slow = WarehouseError(
        Message("{file} cannot be read within {seconds:.0f} s", file=file, seconds=limits.seconds), rules.HINT
    )
    try:
        process = subprocess.run(
            [sys.executable, "-I", "-c", _PROGRAM, str(_ROOT)],
            input=json.dumps(request).encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={},  # nothing of ours, such as keys, is there to be read
            timeout=limits.seconds + patience_s,
            check=False,
        )
        answer = json.loads(process.stdout)
    except subprocess.TimeoutExpired:
        raise too_slow from None
    except ValueError:  # the process was ended: by the system, or by DuckDB, which a damaged file can crash
        if -process.returncode in _TIME_LIMIT:
            raise too_slow from None
        raise WarehouseError(
            Message("{file} cannot be read as a warehouse: it is damaged", file=file), rules.HINT
        ) from None
    if answer["error"]:
        message, hint = (message_of(from_json(*answer[part])) for part in ("message", "hint"))
        raise _ERRORS.get(answer["error"], WarehouseError)(message, hint)
    return revision


THEIRS, OURS = "theirs", "ours"

# Bytes of address space for each byte of memory: libraries and reserved areas take some of it.
_ADDRESSES = 4

Request = Mapping[str, Any]
Cursor = duckdb.DuckDBPyConnection


def main() -> None:
    """Read the request from standard input, and write the answer to standard output, both in JSON."""
    request = json.load(sys.stdin)
    answer: dict[str, object] = {"error": ""}
    try:
        _limit_process(request)
        write_rows(request)
    except (AisbenchError, duckdb.Error, OSError, MemoryError) as error:
        ours = _translate_error(error, Path(request["file"]), request)
        answer = {
            "error": "busy" if isinstance(ours, WarehouseBusy) else "disk" if isinstance(ours, DiskError) else "other",
            "message": [ours.message, to_json(ours.message)],
            "hint": [ours.hint, to_json(ours.hint)],
        }
    sys.stdout.write(json.dumps(answer))


def write_rows(request: Request) -> None:
    """Write the rows of `file` into the new file `draft`. Raises WarehouseError about what no warehouse holds."""
    file, draft = Path(request["file"]), Path(request["draft"])
    original = draft.with_name("original.duckdb")
    _copy_file(file, original, time.monotonic() + request["patience_s"])
    with duckdb.connect(":memory:", config=OFFLINE) as con:
        migrate_tables(con, draft)
        # Not `create`, which makes the folder, too: it may be gone with an import that was killed.
        warehouse_file.write_anew(con, "memory", draft)
    with _open_engine(original, draft, request) as con, contextlib.closing(con.cursor()) as cur:
        version = _read_version(cur, file)
        _copy_tables(cur, file, version)
        cur.execute(f"use {OURS}")
        migrate_tables(cur, file)
        rules.check_values(cur, file)
        regroup_runs(cur)  # whatever the file said of groups
        cur.execute(f"checkpoint {OURS}")
    for copy in (original, log_of(original)):
        copy.unlink(missing_ok=True)


def _limit_process(request: Request) -> None:
    for kind, limit in (
        (resource.RLIMIT_CPU, int(request["seconds"]) + 1),
        (resource.RLIMIT_AS, _ADDRESSES * request["memory"]),
        (resource.RLIMIT_FSIZE, request["written"]),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(kind)[1]
        with contextlib.suppress(OSError, ValueError):  # not every system has every limit
            resource.setrlimit(kind, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))


# --- the file -----------------------------------------------------------------------------------------


def _copy_file(file: Path, copy: Path, deadline: float) -> None:
    """Copy the file and its log while nobody writes: DuckDB's writers hold an exclusive lock of the same kind."""
    with file.open("rb") as content:
        _lock_file(content.fileno(), file, deadline)
        with copy.open("wb") as target:
            shutil.copyfileobj(content, target)
        if log_of(file).exists():
            shutil.copyfile(log_of(file), log_of(copy))


def _lock_file(handle: int, file: Path, deadline: float) -> None:
    while True:
        try:
            fcntl.lockf(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError as error:
            if time.monotonic() > deadline:
                raise make_busy_error(file) from error
        else:
            return
        time.sleep(RETRY_S)


@contextlib.contextmanager
def _open_engine(original: Path, draft: Path, request: Request) -> Iterator[Cursor]:
    """Both files attached to an engine that can open no other.

    Its own database is empty and in memory, so that no name of a function resolves to a macro of the file."""
    engine = duckdb.connect(
        ":memory:", config={**OFFLINE, "memory_limit": f"{request['memory']}B", "threads": 2, "temp_directory": ""}
    )
    allowed = [str(path) for file in (original, draft) for path in (file, log_of(file), f"{log_of(file)}.checkpoint")]
    try:
        engine.execute("set allowed_paths = ?", [allowed])
        engine.execute("set enable_external_access = false")
        engine.execute("set lock_configuration = true")
        engine.execute(f"attach {sql_text(original)} as {THEIRS} (read_only, type duckdb)")
        engine.execute(f"attach {sql_text(draft)} as {OURS}")
        yield engine
    finally:
        engine.close()


# --- its tables ---------------------------------------------------------------------------------------


def _read_version(cur: Cursor, file: Path) -> int:
    existing = rules.list_objects(cur, THEIRS)
    if rules.VERSION not in existing:
        raise rules.not_a_warehouse(file)
    rules.known_columns(cur, file, rules.VERSION, existing, {"version": "INTEGER"})
    [(version,)] = cur.execute(f"select max(version) from {THEIRS}.main.{rules.VERSION}").fetchall()
    if version is None or version < 1:
        raise rules.not_a_warehouse(file)
    if version > LATEST:
        raise too_new(file, version, LATEST)
    if version < RELEASED:
        raise too_old(file, version)
    return int(version)


def _copy_tables(cur: Cursor, file: Path, version: int) -> None:
    existing = rules.list_objects(cur, THEIRS)
    rules.create(cur, OURS, version)
    required = {"runs"} if version < LATEST else rules.READ.keys() - {rules.SNAPSHOT}
    for table, known in rules.READ.items():
        if table in existing or table in required:
            columns = rules.known_columns(cur, file, table, existing, known, known if version == LATEST else ())
            names = ", ".join(columns)
            # To DuckDB a column of type JSON is one of text, so that in a foreign file it can hold any.
            values = ", ".join(f"{name}::VARCHAR::JSON" if known[name] == "JSON" else name for name in columns)
            cur.execute(f"insert into {OURS}.main.{table} ({names}) select {values} from {THEIRS}.main.{table}")


# --- errors -------------------------------------------------------------------------------------------


def _translate_error(error: Exception, file: Path, request: Request) -> AisbenchError:
    draft = Path(request["draft"])
    if isinstance(error, AisbenchError):
        return error
    if isinstance(error, OSError) and (full := disk_error(error, draft)) and "File too large" not in str(error):
        return full
    if isinstance(error, (MemoryError, duckdb.OutOfMemoryException)):
        memory = f"{request['memory'] / 1024**3:.3g} GiB"
        message = Message("{file} needs more than {size} of memory to be read", file=file, size=memory)
    elif "File too large" in str(error):
        written = f"{request['written'] / 1024**3:.3g} GiB"
        message = Message("{file} holds more than {size} of rows", file=file, size=written)
    elif isinstance(error, OSError):
        message = Message("{file} cannot be read: {reason}", file=file, reason=error.strerror or error)
    elif isinstance(error, duckdb.ConversionException):
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        message = Message("{file} holds JSON that cannot be read: {reason}", file=file, reason=reason)
    else:
        return translate_error(
            file, duckdb.Error(str(error).replace(str(draft.with_name("original.duckdb")), str(file)))
        )
    return WarehouseError(message, rules.HINT)
