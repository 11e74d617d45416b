"""Who follows: one process of all that share a ledger, until it ends, dies, or loses its database."""

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from aisbench_core.errors import AisbenchError
from aisbench_core.running.stores.address import LedgerAddress

if TYPE_CHECKING:
    from aisbench_core.running.stores.postgres import PostgresConnection

LOG = logging.getLogger(__name__)


class FileLeader:
    """By a lock on a file, for a ledger that is one; the system frees it when its holder dies (a Leader)."""

    def __init__(self, file: Path) -> None:
        self._lock = FileLock(file)

    def acquire(self, seconds: float) -> bool:
        """Wait so long at most."""
        try:
            self._lock.acquire(seconds)
        except Timeout:
            return False
        return True

    def is_leading(self) -> bool:
        """A lock on a file is lost by nothing but `release`."""
        return True

    def release(self) -> None:
        """Let another process follow."""
        self._lock.release()


class DatabaseLeader:
    """By a lock of a connection to the ledger's database, on whichever machine (a Leader).

    PostgreSQL frees it as soon as its holder dies, and some seconds after its machine or network did. A holder that
    has lost its connection is told by `is_leading`; what it was doing meanwhile is safe, as every step can be repeated,
    jobs have unique names, and outcomes are stored by compare-and-set."""

    def __init__(self, address: LedgerAddress) -> None:
        self._address = address
        self._con: PostgresConnection | None = None
        self._last_error = ""

    def acquire(self, seconds: float) -> bool:
        """Wait so long at most. While there is no database nobody leads."""
        from aisbench_core.running.stores.postgres import refusals, try_to_lead

        try:
            with refusals(self._address):
                self._con, leads = try_to_lead(self._con, self._address, seconds)
        except AisbenchError as error:
            self._forget()
            if str(error) != self._last_error:
                LOG.error("cannot follow: %s", error)  # noqa: TRY400  # ours need no traceback
            self._last_error = str(error)
            return False
        self._last_error = ""
        return leads

    def is_leading(self) -> bool:
        """Whether the connection that holds the lock still stands."""
        from aisbench_core.running.stores.postgres import refusals

        try:
            with refusals(self._address):
                return self._con is not None and bool(self._con.execute("select 1").fetchone())
        except AisbenchError as error:
            LOG.warning("does not follow any more: %s", error)
            return False

    def release(self) -> None:
        """Let another process follow, at once."""
        self._forget()

    def _forget(self) -> None:
        con, self._con = self._con, None
        if con is not None:
            con.session.close()
