"""Connections to a ledger in PostgreSQL: they take SQLite's statements and values, and psycopg's errors become ours."""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from aisbench_core.base.errors import AisbenchError, ConfigError, LedgerBusy, LedgerUnavailable
from aisbench_core.base.messages import Message, make_verbatim
from aisbench_core.store.ledger.database.address import LedgerAddress
from aisbench_core.store.ledger.database.connection import Cursor
from aisbench_core.store.ledger.database.postgres_schema import LEADER, PROFILES, SCHEMA, SEATS
from aisbench_core.store.ledger.database.rows import without_nul

try:
    import psycopg as psycopg  # for postgres.py, too
except ImportError as error:
    raise ConfigError(
        Message(
            "a ledger in PostgreSQL needs the package psycopg: {reason}",
            reason=make_verbatim(str(error).splitlines()[0]),
        ),
        Message("install the extra `team`: pip install --constraint constraints.txt 'aisbench-console[team]'"),
    ) from error

BUSY_SECONDS = 30
# A writer that does nothing for so long is frozen, and must not hold up all others.
FROZEN_SECONDS = 60
# What libpq says of an address before it connects: waiting does not help.
_INVALID_OPTION = re.compile(r"connection is bad: invalid |bad value for ")

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
        return self.session.execute(_translate_marks(sql).encode(), [_adapt_value(value) for value in parameters])

    def executemany(self, sql: str, parameters: Iterable[Sequence[Any]], /) -> Cursor:
        """Carry out a statement for each sequence of values."""
        cursor = self.session.cursor()
        rows = ([_adapt_value(value) for value in values] for values in parameters)
        cursor.executemany(_translate_marks(sql).encode(), rows)
        return cursor


def connect_postgres(address: LedgerAddress) -> PostgresConnection:
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
        psycopg.conninfo.make_conninfo(**options), autocommit=True, row_factory=_make_row, prepare_threshold=None
    )
    con.execute(_SESSION)
    return PostgresConnection(con)


class FollowerConnection:
    """The connection of a follower, which holds its locks. Raises psycopg's errors."""

    def __init__(self, address: LedgerAddress) -> None:
        self._con = connect_postgres(address)

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
def translate_errors(address: LedgerAddress) -> Iterator[None]:
    """Translates psycopg's errors."""
    try:
        yield
    except psycopg.Error as error:
        reason = make_verbatim((str(error) or type(error).__name__).splitlines()[0])
        if isinstance(error, psycopg.errors.LockNotAvailable):
            raise LedgerBusy(Message("the ledger is in use by other processes"), Message("try again")) from error
        if _INVALID_OPTION.match(reason):
            raise ConfigError(
                Message("the address of the ledger cannot be used: {reason}", reason=reason),
                Message("correct the setting `ledger` (AISBENCH_LEDGER)"),
            ) from None
        passing = (psycopg.OperationalError, psycopg.InterfaceError, psycopg.errors.ReadOnlySqlTransaction)
        kind = LedgerUnavailable if isinstance(error, passing) else AisbenchError
        raise kind(
            Message("the ledger {path} cannot be used: {reason}", path=make_verbatim(address), reason=reason),
            Message("check that PostgreSQL runs, that this machine may connect, and AISBENCH_LEDGER_PASSWORD"),
        ) from error


def _make_row(cursor: "psycopg.Cursor[Any]") -> Any:
    positions = {column.name: position for position, column in enumerate(cursor.description or ())}
    return lambda cells: PostgresRow(cells, positions)


@lru_cache(maxsize=1000)
def _translate_marks(sql: str) -> str:
    """With psycopg's marks. No statement of the ledger has a question mark in its texts."""
    return sql.replace("%", "%%").replace("?", "%s")


def _adapt_value(value: Any) -> Any:
    """As SQLite stores it: a truth value is a number, a text of ours is a text. PostgreSQL's texts hold no NUL."""
    return int(value) if isinstance(value, bool) else without_nul(value)
