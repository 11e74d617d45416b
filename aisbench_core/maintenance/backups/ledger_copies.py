"""The way of a ledger from its file into PostgreSQL: all of it, compared and verified, or nothing."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice

from aisbench_core.base.errors import ConfigError
from aisbench_core.base.messages import Message
from aisbench_core.config.credentials import find_password
from aisbench_core.config.settings import Settings
from aisbench_core.domain.access import permitted
from aisbench_core.domain.access.changes import log_change
from aisbench_core.model import Actor, Clock
from aisbench_core.store.audit.audit import AuditCheck, verify_entries
from aisbench_core.store.ledger.database.address import ledger_address
from aisbench_core.store.ledger.database.connection import LedgerConnection, Row
from aisbench_core.store.ledger.database.ledger_schema import TABLES
from aisbench_core.store.ledger.database.rows import make_marks, without_nul
from aisbench_core.store.ledger.ledger import Ledger

BATCH = 500


@dataclass(frozen=True, slots=True)
class CopiedLedger:
    """The rows of each table, and the audit as it was verified in the copy."""

    rows: Mapping[str, int]
    audit: AuditCheck


@dataclass(frozen=True, slots=True)
class LedgerCopies:
    """Copies this console's ledger."""

    settings: Settings
    clock: Clock

    @permitted
    def copy(self, to: str, actor: Actor) -> CopiedLedger:
        """Copy the file into an empty database; nobody can write to either meanwhile.

        Raises ConfigError if somebody follows, or the database has a ledger with rows; AuditChanged for a broken chain;
        the database stays empty then."""
        target = Ledger(ledger_address(to, lambda: find_password(self.settings, "ledger")))
        source = self._open_source()
        log_change(actor, f"copy of the ledger to {to}")
        with source.transaction() as ours, target.transaction() as theirs:
            _require_empty(theirs)
            rows = {table: _copy_table(ours, theirs, table) for table in TABLES}
            theirs.execute("select setval(pg_get_serial_sequence('events', 'number'), max(number)) from events")
            return CopiedLedger(rows, verify_entries(theirs))

    def _open_source(self) -> Ledger:
        file = self.settings.ledger_path
        if not file.exists():
            raise ConfigError(Message("there is no {file} in the data folder", file=file.name))
        source = Ledger(file)
        beat = source.last_beat()
        if beat and beat.is_fresh(self.clock()):
            hint = Message("stop the console and the follower first, so that no change is lost")
            raise ConfigError(Message("{who} is following runs", who=beat.who), hint)
        return source


def _require_empty(con: LedgerConnection) -> None:
    for table in TABLES:
        if con.execute(f"select 1 from {table} limit 1").fetchone():  # noqa: S608  # names of ours
            raise ConfigError(
                Message("the database has a ledger already, with rows in {table}", table=table),
                Message("name an empty database"),
            )


def _copy_table(source: LedgerConnection, target: LedgerConnection, table: str) -> int:
    """Copy a table; returns the number of its rows, all of which were read again from the copy."""
    query = f"select * from {table}"  # noqa: S608  # names of ours
    rows = iter(source.execute(query))
    while batch := [dict(row) for row in islice(rows, BATCH)]:
        insertion = f"insert into {table} ({', '.join(batch[0])}) values {make_marks(batch[0])}"  # noqa: S608  # names of ours
        target.executemany(insertion, [tuple(row.values()) for row in batch])
    ours, theirs = _digest_rows(source.execute(query)), _digest_rows(target.execute(query))
    if ours != theirs:
        raise ConfigError(Message("the copy of {table} differs from the file; nothing was copied", table=table))
    return ours[0]


def _digest_rows(rows: Iterable[Row]) -> tuple[int, int]:
    """The number of rows, and a sum over them, as PostgreSQL can store them, that their order does not change."""
    count = total = 0
    for row in rows:
        cells = frozenset((column, without_nul(value)) for column, value in dict(row).items())
        count, total = count + 1, total + hash(cells)
    return count, total
