"""A team's ledger in PostgreSQL: the same schema and statements as in SQLite, and the same guarantees.

Writers take turns, as SQLite's do: a transaction begins with a lock that PostgreSQL frees when its holder ends, dies or
does nothing for a minute. So what a transaction reads is what it changes, numbers follow each other without gaps, and
no transaction has to be repeated. Readers wait for nobody."""

import re
import threading
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

from aisbench_core.errors import AisbenchError, ConfigError, LedgerUnavailable
from aisbench_core.messages import Message, verbatim
from aisbench_core.model import Clock
from aisbench_core.running.ledger_schema import migrate
from aisbench_core.running.stores.address import LedgerAddress
from aisbench_core.running.stores.clock import DatabaseClock
from aisbench_core.running.stores.connection import Cursor
from aisbench_core.running.stores.leases import DatabaseLeases
from aisbench_core.running.stores.postgres_schema import (
    LEADER,
    PROFILES,
    SCHEMA,
    SEATS,
    WRITERS,
    PostgresDialect,
)
from aisbench_core.running.stores.rows import without_nul

try:
    import psycopg
except ImportError as error:
    raise ConfigError(
        Message(
            "a ledger in PostgreSQL needs the package psycopg: {reason}", reason=verbatim(str(error).splitlines()[0])
        ),
        Message("install the extra `team`: pip install --constraint constraints.txt 'aisbench-console[team]'"),
    ) from error

BUSY_SECONDS = 30
# A writer that does nothing for so long is frozen, and must not hold up all others.
FROZEN_SECONDS = 60
# What libpq says of an address before it connects: waiting does not help.
_INVALID_OPTION = re.compile(r"connection is bad: invalid |bad value for ")
# Connections that wait for their next use, in each process.
MOST_IDLE = 8

_DEFAULTS = {
    "application_name": "aisbench", "client_encoding": "UTF8", "connect_timeout": "5",
    "keepalives_idle": "30", "keepalives_interval": "10", "keepalives_count": "3", "tcp_user_timeout": "30000",
}  # fmt: skip
# So PostgreSQL notices within 15 seconds that the machine or the network of a client is gone, and frees its locks: by
# probes while nothing is sent, and by the other limit while an answer is under way.
_WATCHED = (
    "set tcp_keepalives_idle = 5; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 2; "
    "set tcp_user_timeout = '15s'"
)
_SESSION = (
    f"{_WATCHED}; set search_path = {SCHEMA}; set lock_timeout = '{BUSY_SECONDS}s'; "
    f"set idle_in_transaction_session_timeout = '{FROZEN_SECONDS}s'"
)
# A lock by one number of 64 bits has its upper and lower half here, and 1 as its kind.
_SEAT_COUNT = (
    "select count(*) from pg_locks where locktype = 'advisory' and granted and mode = 'ShareLock' and classid = 0"
    " and objid = ? and objsubid = 1 and database = (select oid from pg_database where datname = current_database())"
)

DIALECT = PostgresDialect()


class PostgresRow:
    """A row whose cells are found by position and by column, as SQLite's are."""

    __slots__ = ("_cells", "_positions")

    def __init__(self, cells: Sequence[Any], positions: dict[str, int]) -> None:
        self._cells = cells
        self._positions = positions

    def __getitem__(self, key: Any, /) -> Any:
        return self._cells[self._positions[key] if isinstance(key, str) else key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._cells)

    def __len__(self) -> int:
        return len(self._cells)

    def keys(self) -> list[str]:
        """The columns in their order, so that a row becomes a dict."""
        return list(self._positions)


class PostgresConnection:
    """A connection (a LedgerConnection) that takes the statements and values of SQLite."""

    def __init__(self, con: "psycopg.Connection[PostgresRow]") -> None:
        self.session = con

    def execute(self, sql: str, parameters: Sequence[Any] = (), /) -> Cursor:
        """Carry out a statement, with a value for each of its ? marks."""
        return self.session.execute(_translated(sql).encode(), [_adapted(value) for value in parameters])

    def executemany(self, sql: str, parameters: Iterable[Sequence[Any]], /) -> Cursor:
        """Carry out a statement for each sequence of values."""
        cursor = self.session.cursor()
        rows = ([_adapted(value) for value in values] for values in parameters)
        cursor.executemany(_translated(sql).encode(), rows)
        return cursor


class LedgerDatabase:
    """A ledger's database (a LedgerStore); connections are used again."""

    def __init__(self, address: LedgerAddress, machine: Clock) -> None:
        self._address = address
        self._clock = DatabaseClock(self._now, machine)
        self._guard = threading.Lock()
        self._idle: list[PostgresConnection] = []
        weakref.finalize(self, _close, self._idle)

    def revision(self) -> str | None:
        """The snapshot that a reader would get now: another one after every commit in the server."""
        with self.connection() as con:
            return str(con.execute("select cast(pg_current_snapshot() as text)").fetchone()[0])

    def clock_ahead(self) -> timedelta:
        """How far PostgreSQL's clock is ahead of this machine's; zero while that is not known."""
        return self._clock.ahead()

    def _now(self) -> datetime:
        with self.connection() as con:
            seconds = con.execute("select extract(epoch from clock_timestamp())").fetchone()[0]
        return datetime.fromtimestamp(float(seconds), UTC)

    def leases(self, lock: Path, *, substitute: bool) -> DatabaseLeases:  # noqa: ARG002  # of a ledger that is a file
        """Decides who follows what, by locks in the database."""
        return DatabaseLeases(self._address, substitute=substitute)

    @contextmanager
    def connection(self) -> Iterator[PostgresConnection]:
        """For reading. Raises LedgerUnavailable when PostgreSQL does not answer."""
        with refusals(self._address):
            con = self._current()
            try:
                yield con
            finally:
                self._give_back(con)

    @contextmanager
    def snapshot(self) -> Iterator[PostgresConnection]:
        """For reading, at one moment. Raises as `connection` does."""
        with self.connection() as con, _ending(con, "begin isolation level repeatable read read only"):
            yield con

    @contextmanager
    def transaction(self) -> Iterator[PostgresConnection]:
        """For writing, when it is our turn. Raises as `connection` does."""
        with self.connection() as con, _ending(con, "begin"):
            con.execute("select pg_advisory_xact_lock(?)", [WRITERS])
            yield con

    def _current(self) -> PostgresConnection:
        """A connection to a ledger of our version. One that waited may be broken by now: then a new one."""
        while True:
            with self._guard:
                waiting = self._idle.pop() if self._idle else None
            con = waiting or connect(self._address)
            try:
                migrate(con, DIALECT)  # another console may have upgraded it since
            except BaseException as error:
                con.session.close()
                if waiting and isinstance(error, psycopg.OperationalError):
                    continue
                raise
            return con

    def _give_back(self, con: PostgresConnection) -> None:
        idle = con.session.info.transaction_status is psycopg.pq.TransactionStatus.IDLE
        with self._guard:
            if idle and not con.session.broken and len(self._idle) < MOST_IDLE:
                self._idle.append(con)
                return
        con.session.close()


def _close(connections: list[PostgresConnection]) -> None:
    for con in connections:
        con.session.close()


def connect(address: LedgerAddress) -> PostgresConnection:
    """A new connection. Raises psycopg's errors, and ConfigError for an address that its client cannot read."""
    try:
        named = psycopg.conninfo.conninfo_to_dict(address.url)
    except psycopg.ProgrammingError:  # its message repeats the address
        raise ConfigError(
            Message("the address of the ledger cannot be read by PostgreSQL's client"),
            Message("correct the setting `ledger` (AISBENCH_LEDGER)"),
        ) from None
    secret = address.password()
    options = _DEFAULTS | {name: str(value) for name, value in named.items()} | ({"password": secret} if secret else {})
    con = psycopg.connect(
        psycopg.conninfo.make_conninfo(**options), autocommit=True, row_factory=_rows, prepare_threshold=None
    )
    con.execute(_SESSION)
    return PostgresConnection(con)


class FollowerConnection:
    """The connection of a follower, which holds its locks. Raises psycopg's errors."""

    def __init__(self, address: LedgerAddress) -> None:
        self._con = connect(address)

    def take_seat(self) -> bool:
        """Be one of those that share the profiles; always succeeds."""
        self._con.execute("select pg_advisory_lock_shared(?)", [SEATS])
        return True

    def seats(self) -> int:
        """How many followers share the profiles."""
        return int(self._con.execute(_SEAT_COUNT, [SEATS]).fetchone()[0])

    def waits_to_lead(self, seconds: float) -> bool:
        """Wait so long at most for the lock of the leader; whether we have it."""
        self._con.execute(f"set lock_timeout = {int(seconds * 1000)}")
        try:
            self._con.execute("select pg_advisory_lock(?)", [LEADER])
        except psycopg.errors.LockNotAvailable:
            return False
        return True

    def tries_to_lead(self) -> bool:
        """Whether nobody else leads, so that we do now."""
        return bool(self._con.execute("select pg_try_advisory_lock(?)", [LEADER]).fetchone()[0])

    def stop_leading(self) -> None:
        """Let another one lead."""
        self._con.execute("select pg_advisory_unlock(?)", [LEADER])

    def tries_to_follow(self, profile: str) -> bool:
        """Whether nobody else follows the runs of a profile, so that we do now."""
        return bool(self._con.execute("select pg_try_advisory_lock(?, hashtext(?))", [PROFILES, profile]).fetchone()[0])

    def give_up(self, profile: str) -> None:
        """Let another one follow the runs of a profile."""
        self._con.execute("select pg_advisory_unlock(?, hashtext(?))", [PROFILES, profile])

    def stands(self) -> bool:
        """Whether the database still answers."""
        return bool(self._con.execute("select 1").fetchone())

    def close(self) -> None:
        """Free all locks."""
        self._con.session.close()


@contextmanager
def refusals(address: LedgerAddress) -> Iterator[None]:
    """Translates psycopg's errors."""
    try:
        yield
    except psycopg.Error as error:
        reason = verbatim((str(error) or type(error).__name__).splitlines()[0])
        if isinstance(error, psycopg.errors.LockNotAvailable):
            raise LedgerUnavailable(Message("the ledger is in use by other processes"), Message("try again")) from error
        if _INVALID_OPTION.match(reason):
            raise ConfigError(
                Message("the address of the ledger cannot be used: {reason}", reason=reason),
                Message("correct the setting `ledger` (AISBENCH_LEDGER)"),
            ) from None
        passing = (psycopg.OperationalError, psycopg.InterfaceError, psycopg.errors.ReadOnlySqlTransaction)
        kind = LedgerUnavailable if isinstance(error, passing) else AisbenchError
        raise kind(
            Message("the ledger {path} cannot be used: {reason}", path=verbatim(address), reason=reason),
            Message("check that PostgreSQL runs, that this machine may connect, and AISBENCH_LEDGER_PASSWORD"),
        ) from error


@contextmanager
def _ending(con: PostgresConnection, begin: str) -> Iterator[None]:
    """A transaction, which an error undoes."""
    con.execute(begin)
    try:
        yield
    except BaseException:
        with suppress(psycopg.Error):  # without a connection there is no transaction either
            con.execute("rollback")
        raise
    con.execute("commit")


def _rows(cursor: "psycopg.Cursor[Any]") -> Any:
    positions = {column.name: position for position, column in enumerate(cursor.description or ())}
    return lambda cells: PostgresRow(cells, positions)


@lru_cache(maxsize=1000)
def _translated(sql: str) -> str:
    """With psycopg's marks. No statement of the ledger has a question mark in its texts."""
    return sql.replace("%", "%%").replace("?", "%s")


def _adapted(value: Any) -> Any:
    """As SQLite stores it: a truth value is a number, a text of ours is a text. PostgreSQL's texts hold no NUL."""
    return int(value) if isinstance(value, bool) else without_nul(value)
