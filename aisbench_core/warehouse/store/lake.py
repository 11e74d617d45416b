"""The way to a team's warehouse: a DuckLake, attached when it is first needed and then kept.

Readers see one snapshot for as long as they hold their cursor, and wait for nobody. Writers take turns: DuckLake lets
them race for the next snapshot and start anew when they lose, so that one of them may lose for many seconds. A lock in
PostgreSQL, which serves its line in order and forgets holders that die, lets each wait for those before it only.
"""

import contextlib
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import duckdb

from aisbench_core.errors import WarehouseBusy, WarehouseError
from aisbench_core.messages import Message
from aisbench_core.warehouse.store import extensions, lake_refusals, unusable
from aisbench_core.warehouse.store.migrations import is_outdated, migrate
from aisbench_core.warehouse.store.team import Access, TeamPlace

T = TypeVar("T")

INLINED_ROWS = 500
"""A write of up to so many rows goes into the catalogue; a larger one becomes a file of its own on OBS."""

TURN_S = 600
"""How long a writer that does nothing keeps its turn: a frozen program must not stop everybody else for ever."""

RETRY_S = 0.05

NAME = "warehouse"
"""What the lake is called inside the engine."""

_LINE = "line"
"""What the same database is called for the writers' lock."""

_LOCK = 0x41495342
"""Our number among the advisory locks of the database."""

_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,  # never reach for the network
    "autoload_known_extensions": False,
    "threads": 1,  # more of them double the work of recording one run
}

_STATE = """
    select to_regclass('ducklake_metadata') is not null as known, exists (
        select from pg_catalog.pg_tables
        where schemaname = current_schema() and tablename not like 'ducklake%') as others
"""


_OLD_SCHEMAS = "select exists (select from ducklake_inlined_data_tables group by table_id having count(*) > 1)"


class Lake:
    """A team's warehouse, lent out one cursor at a time; safe between threads, processes and machines."""

    def __init__(self, place: TeamPlace, patience_s: float) -> None:
        self.place = place
        self._patience_s = patience_s
        self._guard = threading.Lock()
        self._engine: duckdb.DuckDBPyConnection | None = None

    @contextlib.contextmanager
    def cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor of one's own, in a transaction: all its answers are of one moment. Raises WarehouseError."""
        with self._words(), _transaction(self._running()) as cur:
            yield cur

    moment = cursor

    edition = 0
    """Never that of the write before and one more: others may write between any two of ours."""

    def write(self, change: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
        """Carry out `change` in one transaction when it is our turn. Raises WarehouseBusy and WarehouseError."""
        deadline = time.monotonic() + self._patience_s
        while True:
            with self._words():
                try:
                    with self.turn(deadline), _transaction(self._running()) as cur:
                        return change(cur)
                except duckdb.TransactionException as error:  # somebody wrote without waiting for their turn
                    if not lake_refusals.is_conflict(error):
                        raise
                    if time.monotonic() > deadline:
                        raise WarehouseBusy(
                            Message("other writers keep the warehouse {path} busy", path=self.place),
                            Message("try again"),
                        ) from error
            time.sleep(RETRY_S)

    def upkeep(self, work: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
        """Carry out work that is no transaction of ours, when it is our turn. Raises as `write` does."""
        with self._words(), self.turn(time.monotonic() + self._patience_s), _cursor(self._running()) as cur:
            return work(cur)

    @contextlib.contextmanager
    def turn(self, deadline: float) -> Iterator[None]:
        """Keeps other writers away. Raises WarehouseBusy at the deadline."""
        with self._words(), _turn(self._running(), deadline):
            yield

    def revision(self) -> str:
        """Changes with every change of the content: the number of the newest snapshot."""
        with self._words():
            asked = f"from postgres_query('{_LINE}', 'select max(snapshot_id) from ducklake_snapshot')"
            with _cursor(self._running()) as cur:
                return str(cur.execute(asked).fetchall()[0][0])

    def _running(self) -> duckdb.DuckDBPyConnection:
        with self._guard:
            if self._engine is None:
                self._engine = _started(self.place, time.monotonic() + self._patience_s)
            return self._engine

    @contextlib.contextmanager
    def _words(self) -> Iterator[None]:
        """DuckDB's errors become ours. What broke is not used again: password and keys may have changed, too."""
        try:
            yield
        except lake_refusals.BROKEN as error:
            if lake_refusals.is_ours(error):
                raise
            with self._guard:
                self._engine = None
            raise lake_refusals.refusal(self.place, error) from error


def spill_folder() -> str:
    """Where questions put what does not fit into memory. Raises OSError when no folder for that can be written."""
    return str(Path(tempfile.gettempdir()) / "aisbench-warehouse")


@contextlib.contextmanager
def _transaction(engine: duckdb.DuckDBPyConnection) -> Iterator[duckdb.DuckDBPyConnection]:
    with _cursor(engine) as cur:
        cur.begin()
        try:
            cur.execute(f"use {NAME}")  # within: outside it would be a transaction of its own
            yield cur
            cur.commit()
        except unusable.ERRORS:
            raise
        except BaseException:
            with contextlib.suppress(duckdb.Error):  # a failed commit has already rolled back
                cur.rollback()
            raise


@contextlib.contextmanager
def _turn(engine: duckdb.DuckDBPyConnection, deadline: float) -> Iterator[None]:
    """PostgreSQL's advisory lock, held by a transaction of its own: it ends with us, however we end."""
    patience_ms = max(1, int((deadline - time.monotonic()) * 1000))
    with _cursor(engine) as line:
        line.begin()
        try:
            line.execute(
                f"call postgres_execute('{_LINE}', 'set local lock_timeout = {patience_ms}; "
                f"set local idle_in_transaction_session_timeout = ''{TURN_S}s''; "
                "set local tcp_keepalives_idle = 30; set local tcp_keepalives_interval = 10; "
                f"select pg_advisory_xact_lock({_LOCK})')"
            )
            yield
        except unusable.ERRORS:
            raise
        except BaseException:
            _give_up(line)
            raise
        _give_up(line)


def _give_up(line: duckdb.DuckDBPyConnection) -> None:
    with contextlib.suppress(duckdb.Error):  # without PostgreSQL there is no lock either
        line.rollback()


@contextlib.contextmanager
def _cursor(engine: duckdb.DuckDBPyConnection) -> Iterator[duckdb.DuckDBPyConnection]:
    cur = engine.cursor()
    try:
        cur.execute("set enable_progress_bar = false")  # waiting would show one on standard output: the answer's
        yield cur
    except unusable.ERRORS:
        unusable.leave(engine, cur)
        raise
    except BaseException:
        cur.close()
        raise
    cur.close()


def _started(place: TeamPlace, deadline: float) -> duckdb.DuckDBPyConnection:
    access = place.access()
    engine = extensions.started(_CONFIG | {"temp_directory": spill_folder()})
    try:
        keep(engine, access)
        _attach(engine, place, access, deadline)
    except duckdb.Error as error:
        if isinstance(error, unusable.ERRORS):
            unusable.leave(engine)
        raise lake_refusals.refusal(place, error, access.secrets) from error
    return engine


def keep(engine: duckdb.DuckDBPyConnection, access: Access) -> None:
    """Password and keys as secrets of the engine, which shows them to nobody: not in errors, not in the catalogue."""
    bucket = access.bucket
    _secret(engine, "catalog", type="postgres", password=access.password)
    _secret(
        engine,
        "bucket",
        type="s3",
        key_id=bucket.access_key,
        secret=bucket.secret_key,
        session_token=bucket.security_token,
        endpoint=bucket.host,
        region=bucket.region,
        url_style="path",
        use_ssl=str(bucket.tls).lower(),
        verify_ssl=str(bucket.verify_tls).lower(),
    )
    engine.execute("set http_proxy = ?", [bucket.proxy])  # also empty: the environment's must not lead away from here
    engine.execute("set http_proxy_username = ?", [bucket.proxy_user])
    engine.execute("set http_proxy_password = ?", [bucket.proxy_password])


def _secret(engine: duckdb.DuckDBPyConnection, name: str, **values: str) -> None:
    told = ", ".join(f"{key} {_text(value)}" for key, value in values.items() if value)
    try:
        engine.execute(f"create secret {name} ({told})")
    except duckdb.Error:
        raise WarehouseError(
            Message("DuckDB does not take the {name}'s password or keys", name=name),
            Message("look for stray characters"),
        ) from None


def _attach(engine: duckdb.DuckDBPyConnection, place: TeamPlace, access: Access, deadline: float) -> None:
    secret = ", secret catalog" if access.password else ""
    engine.execute(f"attach {_text(place.connection)} as {_LINE} (type postgres{secret})")
    [(known, others)] = engine.execute(f"from postgres_query('{_LINE}', {_text(_STATE)})").fetchall()
    if others and not known:
        raise lake_refusals.foreign(place)
    if known:
        attach_lake(engine, place, access)
        if not _is_outdated(engine, place) and not _has_old_schemas(engine):
            return
    with _turn(engine, deadline):
        if known:
            engine.execute(f"detach {NAME}")  # it remembers the tables as they were when our turn had not come
        attach_lake(engine, place, access)
        with _cursor(engine) as cur:
            cur.execute(f"use {NAME}")
            migrate(cur, place)
            if known:
                _forget_old_schemas(cur)


def _has_old_schemas(engine: duckdb.DuckDBPyConnection) -> bool:
    """Whether somebody was killed between the last step and the next function."""
    [(found,)] = engine.execute(f"from postgres_query('{_LINE}', {_text(_OLD_SCHEMAS)})").fetchall()
    return bool(found)


def _forget_old_schemas(cur: duckdb.DuckDBPyConnection) -> None:
    """Move rows of former schemas from PostgreSQL into files, while nobody reads them.

    Otherwise the next compaction does it, and every process that has this schema in its memory then ends at once:
    DuckLake looks for the tables that are gone, DuckDB calls that fatal (github.com/duckdb/ducklake/issues/1305)."""
    cur.execute(f"from ducklake_flush_inlined_data('{NAME}')").fetchall()


def attach_lake(
    engine: duckdb.DuckDBPyConnection, place: TeamPlace, access: Access, *, read_only: bool = False
) -> None:
    """Attach the lake as NAME; the engine must `keep` its secrets already."""
    secret = ", meta_secret catalog" if access.password else ""
    engine.execute(
        f"attach {_text(f'ducklake:postgres:{place.connection}')} as {NAME} (data_path {_text(place.data_path)}, "
        f"data_inlining_row_limit {INLINED_ROWS}{secret}{', read_only' if read_only else ''})"
    )


def _is_outdated(engine: duckdb.DuckDBPyConnection, place: TeamPlace) -> bool:
    with _cursor(engine) as cur:
        cur.execute(f"use {NAME}")
        return is_outdated(cur, place)


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
