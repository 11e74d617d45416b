"""A team's ledger in PostgreSQL: the same schema and statements as in SQLite, and the same guarantees.

Writers take turns, as SQLite's do: a transaction begins with a lock that PostgreSQL frees when its holder ends, dies or
does nothing for a minute. So what a transaction reads is what it changes, numbers follow each other without gaps, and
no transaction has to be repeated. Readers wait for nobody."""

import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from aisbench_core.model import Clock
from aisbench_core.store.ledger.database.address import LedgerAddress
from aisbench_core.store.ledger.database.clock import DatabaseClock
from aisbench_core.store.ledger.database.ledger_schema import prepare_tables
from aisbench_core.store.ledger.database.postgres_connection import (
    PostgresConnection,
    connect_postgres,
    psycopg,
    translate_errors,
)
from aisbench_core.store.ledger.database.postgres_leases import DatabaseLeases
from aisbench_core.store.ledger.database.postgres_schema import WRITERS, PostgresDialect

# Connections that wait for their next use, in each process.
MOST_IDLE = 8

DIALECT = PostgresDialect()


class LedgerDatabase:
    """A ledger's database (a LedgerStore); connections are used again."""

    def __init__(self, address: LedgerAddress, machine: Clock) -> None:
        self._address = address
        self._clock = DatabaseClock(self._get_time, machine)
        self._guard = threading.Lock()
        self._idle: list[PostgresConnection] = []
        weakref.finalize(self, _close_connections, self._idle)

    def revision(self) -> str | None:
        """The snapshot that a reader would get now: another one after every commit in the server."""
        with self.connection() as con:
            return str(con.execute("select cast(pg_current_snapshot() as text)").fetchone()[0])

    def clock_ahead(self) -> timedelta:
        """How far PostgreSQL's clock is ahead of this machine's; zero while that is not known."""
        return self._clock.ahead()

    def _get_time(self) -> datetime:
        with self.connection() as con:
            seconds = con.execute("select extract(epoch from clock_timestamp())").fetchone()[0]
        return datetime.fromtimestamp(float(seconds), UTC)

    def leases(self, lock: Path, *, substitute: bool) -> DatabaseLeases:  # noqa: ARG002  # of a ledger that is a file
        """Decides who follows what, by locks in the database."""
        return DatabaseLeases(self._address, substitute=substitute)

    @contextmanager
    def connection(self) -> Iterator[PostgresConnection]:
        """For reading. Raises LedgerUnavailable when PostgreSQL does not answer."""
        with translate_errors(self._address):
            con = self._get_connection()
            try:
                yield con
            finally:
                self._give_back(con)

    @contextmanager
    def snapshot(self) -> Iterator[PostgresConnection]:
        """For reading, at one moment. Raises as `connection` does."""
        with self.connection() as con, _run_transaction(con, "begin isolation level repeatable read read only"):
            yield con

    @contextmanager
    def transaction(self) -> Iterator[PostgresConnection]:
        """For writing, when it is our turn. Raises as `connection` does."""
        with self.connection() as con, _run_transaction(con, "begin"):
            con.execute("select pg_advisory_xact_lock(?)", [WRITERS])
            yield con

    def _get_connection(self) -> PostgresConnection:
        """A connection to a ledger of our version. One that waited may be broken by now: then a new one."""
        while True:
            with self._guard:
                waiting = self._idle.pop() if self._idle else None
            con = waiting or connect_postgres(self._address)
            try:
                prepare_tables(con, DIALECT)
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


def _close_connections(connections: list[PostgresConnection]) -> None:
    for con in connections:
        con.session.close()


@contextmanager
def _run_transaction(con: PostgresConnection, begin: str) -> Iterator[None]:
    """A transaction, which an error undoes."""
    con.execute(begin)
    try:
        yield
    except BaseException:
        with suppress(psycopg.Error):  # without a connection there is no transaction either
            con.execute("rollback")
        raise
    con.execute("commit")
