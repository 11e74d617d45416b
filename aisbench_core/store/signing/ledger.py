"""Public keys in the ledger: those of this console, and those of others that it trusts."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime

from aisbench_core.store.ledger.database.connection import LedgerConnection, Row
from aisbench_core.store.ledger.database.rows import insert_row, replace_row
from aisbench_core.store.ledger.ledger import as_text, as_time


@dataclass(frozen=True, slots=True)
class KnownKey:
    """A public key that the ledger knows. `owner`: the name of another console; empty for a key of this one.

    `public_key` is empty while only the fingerprint is known. `endorsement`: this console's key before signed it, in
    Base64; empty for the first key, and after a loss. `ended_at`: when it was replaced, or trust in it withdrawn."""

    fingerprint: str
    public_key: str
    owner: str
    added_at: datetime
    added_by: str
    endorsement: str = ""
    ended_at: datetime | None = None
    ended_by: str = ""

    @property
    def is_ours(self) -> bool:
        """Whether this console signs, or signed, with it."""
        return not self.owner

    @property
    def is_active(self) -> bool:
        """Whether this console signs with it, or trusts it."""
        return self.ended_at is None


_FIELDS: Sequence[str] = tuple(field.name for field in fields(KnownKey))


def list_keys(con: LedgerConnection) -> list[KnownKey]:
    """This console's keys, the newest first, then those of others by name."""
    return [_key_of(row) for row in con.execute("select * from signing_keys order by owner, added_at desc")]


def read_key(con: LedgerConnection, fingerprint: str) -> KnownKey | None:
    """The key with this fingerprint; None if it is unknown."""
    row = con.execute("select * from signing_keys where fingerprint = ?", [fingerprint]).fetchone()
    return _key_of(row) if row else None


def read_active_key(con: LedgerConnection) -> KnownKey | None:
    """The key with which this console signs; None before first use."""
    row = con.execute("select * from signing_keys where owner = '' and ended_at is null").fetchone()
    return _key_of(row) if row else None


def add_key(con: LedgerConnection, key: KnownKey) -> None:
    """Store a new key."""
    insert_row(con, "signing_keys", _row_of(key))


def replace_key(con: LedgerConnection, key: KnownKey) -> None:
    """Store a key in place of what was known of it."""
    replace_row(con, "signing_keys", "fingerprint", _row_of(key))


def end_key(con: LedgerConnection, key: KnownKey, at: datetime, who: str) -> None:
    """Store that it was replaced, or that trust in it was withdrawn."""
    change = "update signing_keys set ended_at = ?, ended_by = ? where fingerprint = ?"
    con.execute(change, [as_text(at), who, key.fingerprint])


def _row_of(key: KnownKey) -> dict[str, object]:
    values = {name: getattr(key, name) for name in _FIELDS}
    return {name: as_text(value) if isinstance(value, datetime) else value for name, value in values.items()}


def _key_of(row: Row) -> KnownKey:
    values = {name: row[name] for name in _FIELDS}
    times = {name: as_time(values[name]) for name in ("added_at", "ended_at") if values[name]}
    return KnownKey(**values | times)
