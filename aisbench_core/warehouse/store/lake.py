"""A team's warehouse: a DuckLake, attached when it is first needed, and kept attached.

Readers see one snapshot for as long as they hold their cursor, and wait for nobody. Writers take turns: DuckLake lets
them race for the next snapshot, and who loses starts anew, which can take many seconds. A lock in PostgreSQL, which
queues its waiters and forgets those that die, makes each wait only for those before it.

Its extensions come from installed packages: nothing is downloaded.
"""

import contextlib
import importlib.util
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import duckdb

from aisbench_core.base.errors import ConfigError, WarehouseError
from aisbench_core.base.messages import Message
from aisbench_core.warehouse.store import lake_refusals
from aisbench_core.warehouse.store.engine import CONFIG, NAME, Config, spill_folder
from aisbench_core.warehouse.store.lake_refusals import UNUSABLE, abandon_connections
from aisbench_core.warehouse.store.migrations import MISFITS, find_schema_error, is_outdated, migrate_tables
from aisbench_core.warehouse.store.shared_engine import SharedEngine, close_engine
from aisbench_core.warehouse.store.team import Access, TeamLocation
from aisbench_core.warehouse.store.warehouse_file import copy_tables, other_writers
from aisbench_core.warehouse.tables.schema import sql_text
from aisbench_core.warehouse.tables.store import Compacted, Size

# OBS, PostgreSQL, and the lake that needs both; in the order in which they are loaded.
EXTENSIONS = ("httpfs", "postgres_scanner", "ducklake")

# A write of up to so many rows goes into the catalogue; a larger one becomes a file of its own on OBS.
INLINED_ROWS = 500

_INSTALL = Message(
    "a team warehouse needs the extra `team`: pip install --constraint constraints.txt 'aisbench-console[team]', or "
    "--editable '.[team]' in a clone"
)


def start_lake_engine(config: Config) -> duckdb.DuckDBPyConnection:
    """An engine with the extensions. Raises ConfigError if the extra `team` is not installed, or for another DuckDB."""
    # Checking signatures means hashing 100 MB, a quarter of a second at every start, and whoever can replace the
    # extensions can replace DuckDB beside them. It is forbidden again below, so that no query can load others.
    engine = duckdb.connect(":memory:", config={**config, "allow_unsigned_extensions": True})
    for name in EXTENSIONS:
        try:
            engine.load_extension(str(_find_extension_file(name)))
        except duckdb.Error as error:
            reason = str(error).splitlines()[0]
            raise ConfigError(
                Message("DuckDB cannot load its extension {name}: {reason}", name=name, reason=reason), _INSTALL
            ) from error
    engine.execute("set allow_unsigned_extensions = false")
    return engine


def _find_extension_file(name: str) -> Path:
    package = f"duckdb_extension_{name}"
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise ConfigError(Message("the package {package} is not installed", package=package), _INSTALL)
    file = Path(spec.origin).parent / "extensions" / f"v{duckdb.__version__}" / f"{name}.duckdb_extension"
    if not file.is_file():
        raise ConfigError(
            Message("the package {package} is not for DuckDB {version}", package=package, version=duckdb.__version__),
            _INSTALL,
        )
    return file


def set_secrets(engine: duckdb.DuckDBPyConnection, access: Access) -> None:
    """Password and keys as secrets of the engine, which appear neither in its errors nor in the catalogue."""
    bucket = access.bucket
    _create_secret(engine, "catalog", type="postgres", password=access.password)
    _create_secret(
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
    engine.execute("set http_proxy = ?", [bucket.proxy])  # even if empty: DuckDB would take the environment's
    engine.execute("set http_proxy_username = ?", [bucket.proxy_user])
    engine.execute("set http_proxy_password = ?", [bucket.proxy_password])


def _create_secret(engine: duckdb.DuckDBPyConnection, name: str, **values: str) -> None:
    options = ", ".join(f"{key} {sql_text(value)}" for key, value in values.items() if value)
    try:
        engine.execute(f"create secret {name} ({options})")
    except duckdb.Error:  # its message repeats the statement
        raise WarehouseError(
            Message("DuckDB does not take the {name}'s password or keys", name=name),
            Message("look for stray characters"),
        ) from None


def attach_lake(
    engine: duckdb.DuckDBPyConnection, location: TeamLocation, access: Access, *, read_only: bool = False
) -> None:
    """Attach the lake as NAME; the engine must have its secrets."""
    secret = ", meta_secret catalog" if access.password else ""
    engine.execute(
        f"attach {sql_text(f'ducklake:postgres:{location.connection}')} as {NAME} "
        f"(data_path {sql_text(location.data_path)}, "
        f"data_inlining_row_limit {INLINED_ROWS}{secret}{', read_only' if read_only else ''})"
    )


T = TypeVar("T")

# How long unneeded files stay on OBS: a query that began before may still read them.
GRACE = timedelta(hours=1)

# How long a writer that does nothing keeps its turn: a frozen program must not block everybody else forever.
TURN_S = 600

RETRY_S = 0.05

# The name of the catalogue's PostgreSQL database inside the engine, for the writers' lock and direct queries.
_CATALOG = "catalog_db"

DATABASES = (NAME, _CATALOG)

# Our number among the advisory locks of the database.
_LOCK = 0x41495342

_STATE = """
    select to_regclass('ducklake_metadata') is not null as known, exists (
        select from pg_catalog.pg_tables
        where schemaname = current_schema() and tablename not like 'ducklake%') as others
"""
_OLD_SCHEMAS = "select exists (select from ducklake_inlined_data_tables group by table_id having count(*) > 1)"


class Lake:
    """Cursors on a team's warehouse; safe between threads, processes and machines."""

    path = None

    runs_per_copy = 10_000
    """Fewer than of a file: the way to OBS is longer, and other writers wait meanwhile."""

    edition = 0
    """Never one more than at the write before: others may write between any two of ours."""

    def __init__(self, location: TeamLocation, patience_s: float) -> None:
        self.location = location
        self._patience_s = patience_s
        self._shared = SharedEngine(self._start_shared, DATABASES)

    @contextlib.contextmanager
    def cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor in a transaction: all its answers are of one moment. Raises WarehouseError."""
        with self._use_engine() as engine, _run_transaction(engine) as cur:
            yield cur

    moment = cursor

    def write(self, change: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
        """Carry out `change` in one transaction when it is our turn. Raises WarehouseBusy and WarehouseError."""
        deadline = time.monotonic() + self._patience_s
        while True:
            with self._use_engine() as engine:
                try:
                    with _take_turn(engine, deadline), _run_transaction(engine) as cur:
                        return change(cur)
                except duckdb.TransactionException as error:  # somebody wrote without waiting for their turn
                    if not lake_refusals.is_conflict(error):
                        raise
                    if time.monotonic() > deadline:
                        raise other_writers(self.location) from error
            time.sleep(RETRY_S)

    def revision(self) -> str:
        """The number of the newest snapshot, which changes with every change of the content."""
        query = f"from postgres_query('{_CATALOG}', 'select max(snapshot_id) from ducklake_snapshot')"
        with self._use_engine() as engine, _open_cursor(engine) as cur:
            return str(cur.execute(query).fetchall()[0][0])

    def copy_to(self, draft: Path) -> None:
        """Write all tables into a new file, from one snapshot."""
        with self.cursor() as cur:
            copy_tables(cur, draft)
        with self.cursor() as cur:  # DuckDB detaches a file only after the transaction that has written to it
            cur.execute("detach fresh")

    def compact(self, grace: timedelta = GRACE) -> Compacted:
        """Merge small files and remove those that nobody has needed for `grace`; others go on meanwhile."""
        return compact_lake(self._run_maintenance, grace)

    def loose_files(self, grace: timedelta = GRACE) -> list[str]:
        """Files on OBS that the catalogue does not know."""
        return orphaned_files(self._run_maintenance, grace)

    def _run_maintenance(self, statement: str) -> list[tuple[Any, ...]]:
        """Carry out what cannot be part of a transaction, when it is our turn."""
        patience = time.monotonic() + self._patience_s
        with self._use_engine() as engine, _take_turn(engine, patience), _open_cursor(engine) as cur:
            return cur.execute(statement).fetchall()

    def _start_shared(self) -> duckdb.DuckDBPyConnection:
        return _start_engine(self.location, time.monotonic() + self._patience_s)

    @contextlib.contextmanager
    def _use_engine(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """The engine. Raises WarehouseError. A broken one is not used again: password and keys may have changed."""
        with self._shared.use() as engine:
            try:
                yield engine
            except duckdb.Error as error:
                if isinstance(error, MISFITS):
                    self._check_schema(engine, error)
                if lake_refusals.is_ours(error):
                    raise
                refused = lake_refusals.translate_error(self.location, error)
                self._shared.fail(refused)
                raise refused from error

    def _check_schema(self, engine: duckdb.DuckDBPyConnection, error: duckdb.Error) -> None:
        with contextlib.suppress(duckdb.Error), _run_transaction(engine) as cur:  # nobody answers a broken connection
            if changed := find_schema_error(cur, self.location):
                self._shared.replace()  # the next engine upgrades the tables
                raise changed from error


@contextlib.contextmanager
def _run_transaction(engine: duckdb.DuckDBPyConnection) -> Iterator[duckdb.DuckDBPyConnection]:
    with _open_cursor(engine) as cur:
        cur.begin()
        try:
            cur.execute(f"use {NAME}")  # within: outside it would be a transaction of its own
            yield cur
            cur.commit()
        except UNUSABLE:
            raise
        except BaseException:
            with contextlib.suppress(duckdb.Error):  # a failed commit has already rolled back
                cur.rollback()
            raise


@contextlib.contextmanager
def _take_turn(engine: duckdb.DuckDBPyConnection, deadline: float) -> Iterator[None]:
    """Keeps other writers away. Raises DuckDB's error of a lock timeout at the deadline."""
    patience_ms = max(1, int((deadline - time.monotonic()) * 1000))
    with _open_cursor(engine) as cur:
        cur.begin()  # PostgreSQL releases the lock with this transaction, however this process ends
        try:
            cur.execute(
                f"call postgres_execute('{_CATALOG}', 'set local lock_timeout = {patience_ms}; "
                f"set local idle_in_transaction_session_timeout = ''{TURN_S}s''; "
                "set local tcp_keepalives_idle = 30; set local tcp_keepalives_interval = 10; "
                f"select pg_advisory_xact_lock({_LOCK})')"
            )
            yield
        except UNUSABLE:
            raise
        except BaseException:
            _roll_back(cur)
            raise
        _roll_back(cur)


def _roll_back(cur: duckdb.DuckDBPyConnection) -> None:
    with contextlib.suppress(duckdb.Error):  # without PostgreSQL there is no lock either
        cur.rollback()


@contextlib.contextmanager
def _open_cursor(engine: duckdb.DuckDBPyConnection) -> Iterator[duckdb.DuckDBPyConnection]:
    cur = engine.cursor()
    try:
        cur.execute("set enable_progress_bar = false")  # it would appear on standard output, which is for answers
        yield cur
    except UNUSABLE:
        abandon_connections(engine, cur)
        raise
    except BaseException:
        cur.close()
        raise
    cur.close()


Change = Callable[[duckdb.DuckDBPyConnection, TeamLocation], object]


def upgrade_lake(location: TeamLocation, patience_s: float, change: Change) -> None:
    """Carry out `change` when it is our turn, where the tables may be those of a development version."""
    close_engine(_start_engine(location, time.monotonic() + patience_s, change), DATABASES)


def _start_engine(
    location: TeamLocation, deadline: float, change: Change = migrate_tables
) -> duckdb.DuckDBPyConnection:
    access = location.access()
    engine = start_lake_engine(CONFIG | {"temp_directory": spill_folder()})
    try:
        set_secrets(engine, access)
        _attach_lake(engine, location, access, deadline, change)
    except UNUSABLE as error:
        abandon_connections(engine)
        raise lake_refusals.translate_error(location, error, access.secrets) from error
    except BaseException as error:
        close_engine(engine, DATABASES)
        if isinstance(error, duckdb.Error):
            raise lake_refusals.translate_error(location, error, access.secrets) from error
        raise
    return engine


def _attach_lake(
    engine: duckdb.DuckDBPyConnection, location: TeamLocation, access: Access, deadline: float, change: Change
) -> None:
    secret = ", secret catalog" if access.password else ""
    engine.execute(f"attach {sql_text(location.connection)} as {_CATALOG} (type postgres{secret})")
    [(exists, has_others)] = engine.execute(f"from postgres_query('{_CATALOG}', {sql_text(_STATE)})").fetchall()
    if has_others and not exists:
        raise WarehouseError(
            Message("the database of the warehouse {path} belongs to another program", path=location),
            Message("create a database for the warehouse alone"),
        )
    if exists:
        attach_lake(engine, location, access)
        with _open_cursor(engine) as cur:
            cur.execute(f"use {NAME}")
            outdated = change is not migrate_tables or is_outdated(cur, location)
        # Old schemas are left where a process was killed between the migration and the flush below.
        [(old,)] = engine.execute(f"from postgres_query('{_CATALOG}', {sql_text(_OLD_SCHEMAS)})").fetchall()
        if not outdated and not old:
            return
    with _take_turn(engine, deadline):
        if exists:
            engine.execute(f"detach {NAME}")  # it remembers the tables as they were before our turn
        attach_lake(engine, location, access)
        with _open_cursor(engine) as cur:
            cur.execute(f"use {NAME}")
            change(cur, location)
            if exists:
                # Moves rows of old schemas from PostgreSQL into files while nobody reads them. Otherwise the next
                # compaction does, and then every process that has read the old schema ends at once: DuckLake looks for
                # tables that are gone, which DuckDB calls fatal (github.com/duckdb/ducklake/issues/1305).
                cur.execute(f"from ducklake_flush_inlined_data('{NAME}')").fetchall()


# --- compaction ---------------------------------------------------------------------------------------

_STEPS = (
    "ducklake_rewrite_data_files('warehouse')",
    "ducklake_merge_adjacent_files('warehouse')",
    "ducklake_expire_snapshots('warehouse', older_than => {before})",
)
_REMOVAL = (
    "ducklake_cleanup_old_files('warehouse', older_than => {before})",
    "ducklake_delete_orphaned_files('warehouse', older_than => {before})",
)

Upkeep = Callable[[str], list[tuple[Any, ...]]]
"""Carries out one maintenance statement in a lake, when it is our turn, and returns its rows."""


def compact_lake(upkeep: Upkeep, grace: timedelta) -> Compacted:
    """Rows in the catalogue become files, small files become large ones, and files that nothing needs are removed.

    Each step takes a turn of its own, so that nobody who records waits for all of them."""
    before = _lake_size(upkeep)
    flushed = sum(rows for *_, rows in upkeep("from ducklake_flush_inlined_data('warehouse')"))
    for step in _STEPS:
        upkeep(f"select count(*) from {step.format(before=_format_moment(grace))}")
    removed = sum(len(upkeep(f"select path from {step.format(before=_format_moment(grace))}")) for step in _REMOVAL)
    return Compacted(before, _lake_size(upkeep), flushed, removed)


def orphaned_files(upkeep: Upkeep, grace: timedelta) -> list[str]:
    """Files on OBS that the catalogue does not know: of writers that died."""
    orphans = f"ducklake_delete_orphaned_files('warehouse', dry_run => true, older_than => {_format_moment(grace)})"
    return sorted(str(file) for (file,) in upkeep(f"select path from {orphans}"))


def _format_moment(grace: timedelta) -> str:
    return f"'{(datetime.now(UTC) - grace).isoformat(sep=' ')}'::timestamptz"


def _lake_size(upkeep: Upkeep) -> Size:
    [(files, size)] = upkeep(
        """select sum(file_count + delete_file_count), sum(file_size_bytes + delete_file_size_bytes)
        from ducklake_table_info('warehouse')"""
    )
    return Size(int(size or 0), int(files or 0))
