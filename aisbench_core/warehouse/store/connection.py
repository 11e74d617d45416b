"""The way to the warehouse file: attached for the first borrower, detached after the last.

DuckDB gives the file to one process at a time, so nobody keeps it longer than a question takes; other processes wait a
bounded time for their turn. What stays is an engine with an empty database in memory: starting one takes several times
as long as attaching the file to it. Nothing here may open the file other than by attaching it: closing any other handle
on it, one of `duckdb.connect` too, would drop the lock that DuckDB holds.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import duckdb

from aisbench_core.errors import WarehouseBusy, WarehouseError
from aisbench_core.messages import Message
from aisbench_core.read_only import is_read_only, require_writable
from aisbench_core.warehouse.store import log_state
from aisbench_core.warehouse.store.file_format import quoted
from aisbench_core.warehouse.store.file_queue import RETRY_S, try_in_turn
from aisbench_core.warehouse.store.file_refusals import BROKEN, busy, refusal
from aisbench_core.warehouse.store.lake import spill_folder
from aisbench_core.warehouse.store.migrations import is_outdated, migrate
from aisbench_core.warehouse.store.new_file import create, log_of, revision_of
from aisbench_core.warehouse.store.schema import parsed

T = TypeVar("T")

PATIENCE_S = 15.0
"""How long a borrower waits for its turn before WarehouseBusy."""

HOLD_S = 0.2
"""How long newcomers may join an open connection; later ones wait until it was closed, so that others get a turn."""

AWAY_S = 0.02
"""How long the file stays closed after a full hold: several retries of another process."""

_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,  # never reach for the network
    "autoload_known_extensions": False,
    "threads": 1,  # one is as fast below 120,000 runs (a row group)
    "checkpoint_threshold": "1MB",  # while the file is open; see MERGED_FROM
}

MERGED_FROM = 30_000
"""Bytes, those of five runs: a log of so many is merged into the file by the last who leaves it. More would make every
open replay more, fewer every closing slower; who stores many runs while it is open waits for it once."""

NAME = "warehouse"
"""What the file is called inside the engine."""


class Connection:
    """The warehouse file, lent out one cursor at a time; safe between threads and between processes."""

    def __init__(self, path: Path, patience_s: float = PATIENCE_S) -> None:
        self.path = path
        self.patience_s = patience_s
        self._turn = threading.Condition()
        self._writers = threading.Lock()
        self._engine: duckdb.DuckDBPyConnection | None = None
        self._is_open = False
        self._is_read_only = False
        self.edition = 0
        self._borrowers = 0
        self._waiting = 0
        self._opened_at = 0.0
        self._closed_until = 0.0

    @contextlib.contextmanager
    def cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor of one's own. Raises WarehouseBusy or WarehouseError; a borrower must not borrow again."""
        cur = self._borrow(time.monotonic() + self.patience_s)
        try:
            yield cur
        except BROKEN as error:
            raise refusal(self.path, error) from error
        finally:
            self._give_back(cur)

    @contextlib.contextmanager
    def moment(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor whose answers are all of one moment, whatever other threads store meanwhile; raises as `cursor`."""
        with self.cursor() as cur:
            cur.begin()
            yield cur

    def write(self, change: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
        """Carry out `change` in one transaction, maybe in a second one; of several threads one after the other.

        Without keys and constraints nothing else keeps two of them from storing the same new run twice. Meanwhile
        `edition` numbers what is being written: one more than the write before, unless that failed or the file was
        closed since, and others may have had it. Raises ReadOnlyFolder where nothing can be stored."""
        require_writable(self.path.parent)
        if not self._writers.acquire(timeout=self.patience_s):
            raise WarehouseBusy(
                Message("other writers keep the warehouse {path} busy", path=self.path), Message("try again")
            )
        deadline = time.monotonic() + self.patience_s
        try:
            while True:
                try:
                    with self.cursor() as cur:
                        self.edition += 1
                        return _transaction(cur, change)
                except BaseException as error:
                    self.edition += 1  # what was written is not there
                    if not isinstance(error, duckdb.TransactionException):
                        raise
                    refused = refusal(self.path, error)  # a commit: no room, or whoever leaves still holds the log
                    if not isinstance(refused, WarehouseBusy) or time.monotonic() > deadline:
                        raise refused from error
                time.sleep(RETRY_S)
        finally:
            self._writers.release()

    def revision(self) -> str:
        """Changes with every change of the content. It is read from the file's state, without opening it."""
        return revision_of(self.path)

    def _borrow(self, deadline: float) -> duckdb.DuckDBPyConnection:
        if not self._turn.acquire(timeout=self.patience_s):
            raise busy(self.path)
        try:
            self._wait_in_line(deadline)
            engine = self._open(deadline)
            cur = _cursor(engine)
            self._borrowers += 1
            return cur
        finally:
            self._turn.release()

    def _wait_in_line(self, deadline: float) -> None:
        self._waiting += 1
        try:
            if not self._turn.wait_for(self._may_join, deadline - time.monotonic()):
                raise busy(self.path)
        finally:
            self._waiting -= 1

    def _may_join(self) -> bool:
        return not self._is_open or time.monotonic() - self._opened_at < HOLD_S

    def _open(self, deadline: float) -> duckdb.DuckDBPyConnection:
        """The engine with the file attached to it, waiting for others until the deadline."""
        engine = self._engine = self._engine or started(self.path)
        if self._is_open:
            return engine
        time.sleep(max(0.0, self._closed_until - time.monotonic()))
        self._is_read_only = is_read_only(self.path.parent)
        attach = _attach_read_only if self._is_read_only else _attach
        try:
            try_in_turn(self.path, deadline, lambda: attach(engine, self.path))
        except WarehouseBusy:
            raise
        except BaseException:
            self._drop(engine)
            raise
        self._is_open = True
        self.edition += 1
        self._opened_at = time.monotonic()
        return engine

    def _give_back(self, cur: duckdb.DuckDBPyConnection) -> None:
        cur.close()
        with self._turn:
            self._borrowers -= 1
            if self._borrowers == 0 and self._engine is not None:
                self._close(self._engine)

    def _close(self, engine: duckdb.DuckDBPyConnection) -> None:
        self._is_open = False
        self._closed_until = time.monotonic() + AWAY_S if self._waiting else 0.0
        try:
            merged = self._is_read_only or _merged(engine, log_of(self.path))
            if not self._is_read_only:
                log_state.note(self.path)
            if merged:
                engine.execute(f"detach {NAME}")
            else:
                self._drop(engine)
        except duckdb.Error as error:
            self._drop(engine)
            raise refusal(self.path, error) from error
        finally:
            self._turn.notify_all()

    def _drop(self, engine: duckdb.DuckDBPyConnection) -> None:
        """An engine that broke stays broken; the next borrower starts another one."""
        self._engine = None
        with contextlib.suppress(duckdb.Error):
            engine.close()


def started(path: Path) -> duckdb.DuckDBPyConnection:
    """An engine that has nothing but memory yet."""
    engine = duckdb.connect(":memory:", config={**_CONFIG, "temp_directory": _spill_folder(path)})
    engine.execute("pragma disable_checkpoint_on_shutdown")  # the log is durable, and merging it costs 20 ms
    return engine


def _spill_folder(path: Path) -> str:
    """Beside the file, or among temporary files; nowhere when those have no place: most questions need none."""
    if not is_read_only(path.parent):
        return f"{path}.tmp"
    try:
        return spill_folder()
    except OSError:
        return ""


def _cursor(engine: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    cur = engine.cursor()
    cur.execute(parsed(cur, f"use {NAME}"))
    return cur


def _attach(engine: duckdb.DuckDBPyConnection, path: Path) -> None:
    try:
        if not path.exists():
            with duckdb.connect(":memory:", config=_CONFIG) as con:
                create(path, con)
        attached(engine, path)
        try:
            log_state.check(path)
        except WarehouseError:
            engine.execute(f"detach {NAME}")
            raise
        with _cursor(engine) as cur:
            migrate(cur, path)
    except (OSError, duckdb.Error) as error:
        raise refusal(path, error) from error


def _attach_read_only(engine: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Attach the file as it is, with its log, which is read into memory; an empty warehouse where there is no file."""
    try:
        if not path.exists():
            engine.execute(f"attach ':memory:' as {NAME}")
            with _cursor(engine) as cur:
                migrate(cur, path)
            return
        attached(engine, path, ", read_only")
        log_state.check(path)
        with _cursor(engine) as cur:
            outdated = is_outdated(cur, path)
    except (OSError, duckdb.Error) as error:
        raise refusal(path, error) from error
    if outdated:
        raise WarehouseError(
            Message("the warehouse {path} is of an older version, and its folder is read-only", path=path),
            Message("run `aisbench leaderboard` once where the folder can be written, or on a copy of it"),
        )


def attached(engine: duckdb.DuckDBPyConnection, path: Path, how: str = "") -> None:
    """Attach the file that is there; whoever compacts may have put another one in its place while we opened it."""
    while True:
        before = path.stat().st_ino
        try:
            engine.execute(f"attach {quoted(path)} as {NAME} (type duckdb{how})")
        except duckdb.Error as error:
            raise refusal(path, error) from error
        if path.stat().st_ino == before:
            return
        engine.execute(f"detach {NAME}")


def _transaction(cur: duckdb.DuckDBPyConnection, change: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
    cur.begin()
    try:
        answer = change(cur)
        cur.commit()
    except BaseException:
        with contextlib.suppress(duckdb.Error):  # a failed commit has already rolled back
            cur.rollback()
        raise
    return answer


def _merged(engine: duckdb.DuckDBPyConnection, log: Path) -> bool:
    """Merge the log into its file if it is long; False when there is no room for that: then the log stays as it is."""
    try:
        if log.stat().st_size >= MERGED_FROM:
            engine.execute(f"checkpoint {NAME}")
    except FileNotFoundError:
        return True
    except duckdb.Error:
        return False
    return True
