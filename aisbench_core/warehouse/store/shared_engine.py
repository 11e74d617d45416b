"""A DuckDB engine on a lake that threads share, and that is replaced when its connection breaks.

DuckLake forgets to release a transaction whose commit fails: its engine, and its connections to PostgreSQL, would stay
until the process ends, even if the engine is closed. Detaching the databases first releases them."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import duckdb

from aisbench_core.base.errors import AisbenchError, WarehouseBusy
from aisbench_core.base.messages import Message
from aisbench_core.warehouse.store.lake_refusals import UNUSABLE

# From one failure to the next attempt, twice as long each time: PostgreSQL in trouble is not to be stormed.
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 5.0


# Each holds a connection to PostgreSQL, and a writer another one for its turn: not more than 8 in a process.
MOST_AT_ONCE = 6
SLOT_SECONDS = 30.0


@dataclass(slots=True, eq=False)
class _Slot:
    is_free: bool = False


@dataclass(slots=True, eq=False)
class _Engine:
    con: duckdb.DuckDBPyConnection
    users: int = 0
    is_dropped: bool = False
    is_unusable: bool = False


class SharedEngine:
    """Started when it is first used. Threads may share it."""

    def __init__(self, start: Callable[[], duckdb.DuckDBPyConnection], databases: Sequence[str]) -> None:
        """`start` makes an engine with these databases attached, or raises AisbenchError."""
        self._start, self._databases = start, databases
        self._guard, self._starting = threading.Lock(), threading.Lock()
        self._engine: _Engine | None = None
        self._failures, self._failed_at = 0, 0.0
        self._error: AisbenchError | None = None
        self._slots, self._of_thread = threading.BoundedSemaphore(MOST_AT_ONCE), threading.local()

    @contextlib.contextmanager
    def use(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """The engine, which is not closed meanwhile. Raises what `start` does, and WarehouseBusy."""
        with self._hold_slot():
            engine = self._enter_engine()
            try:
                yield engine.con
                self._failures = 0
            except BaseException as error:
                engine.is_unusable |= isinstance(error, UNUSABLE) or isinstance(error.__cause__, UNUSABLE)
                raise
            finally:
                self._leave_engine(engine)

    def replace(self) -> None:
        """Start another one at the next use; this one is closed when nobody uses it any more."""
        with self._guard:
            engine, self._engine = self._engine, None
            if engine is None:
                return
            engine.is_dropped = True
            closes = not engine.users
        if closes:
            self._close_connection(engine)

    def fail(self, error: AisbenchError) -> None:
        """Replace it because of an error that is not the caller's; the next start waits a moment."""
        with self._guard:
            self._failures, self._failed_at, self._error = self._failures + 1, time.monotonic(), error
        self.replace()

    @contextlib.contextmanager
    def _hold_slot(self) -> Iterator[None]:
        """One of MOST_AT_ONCE; a thread that has one already needs no other."""
        held: _Slot | None = getattr(self._of_thread, "slot", None)
        if held and not held.is_free:
            yield
            return
        if not self._slots.acquire(timeout=SLOT_SECONDS):
            raise WarehouseBusy(
                Message("{count} queries of this process already use the warehouse", count=MOST_AT_ONCE),
                Message("try again in a moment"),
            )
        slot = self._of_thread.slot = _Slot()
        try:
            yield
        finally:
            slot.is_free = True  # perhaps in another thread than it was taken in
            self._slots.release()

    def _enter_engine(self) -> _Engine:
        began = time.monotonic()
        with self._starting:
            with self._guard:
                if self._engine:
                    self._engine.users += 1
                    return self._engine
            self._wait_pause(began)
            try:
                engine = _Engine(self._start(), users=1)
            except AisbenchError as error:
                self.fail(error)
                raise
            with self._guard:
                self._engine = engine
            return engine

    def _wait_pause(self, began: float) -> None:
        """Until another attempt is due. Who waited for an attempt of somebody else gets its error."""
        if self._error and self._failed_at > began:
            raise type(self._error)(self._error.message, self._error.hint)
        pause = min(FIRST_PAUSE_S * 2.0 ** min(self._failures - 1, 10), LONGEST_PAUSE_S) if self._failures else 0.0
        time.sleep(max(0.0, self._failed_at + pause - time.monotonic()))

    def _leave_engine(self, engine: _Engine) -> None:
        with self._guard:
            engine.users -= 1
            closes = engine.is_dropped and not engine.users
        if closes:
            self._close_connection(engine)

    def _close_connection(self, engine: _Engine) -> None:
        if not engine.is_unusable:
            close_engine(engine.con, self._databases)


def close_engine(engine: duckdb.DuckDBPyConnection, databases: Sequence[str]) -> None:
    """Close an engine and all its connections to these databases, whatever failed before."""
    for name in databases:
        with contextlib.suppress(duckdb.Error):  # it may not be attached
            engine.execute(f"detach {name}")
    engine.close()
