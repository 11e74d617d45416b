"""Tokens in the ledger's file."""

from dataclasses import fields
from datetime import datetime

from aisbench_core.model import Role
from aisbench_core.model.token import Token
from aisbench_core.store.ledger.database.connection import Row
from aisbench_core.store.ledger.database.rows import insert_row
from aisbench_core.store.ledger.ledger import Ledger, as_text, as_time

_FIELDS = tuple(field.name for field in fields(Token))
_TIMES = ("created_at", "expires_at", "revoked_at", "last_used_at")


class TokenLedger:
    """Tokens with the hashes of their secrets. Threads and processes may share it."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def add(self, token: Token, secret_hash: str) -> None:
        """Store a new token."""
        with self._ledger.transaction() as con:
            insert_row(con, "tokens", _row_of(token) | {"secret_hash": secret_hash})

    def get(self, token_id: str) -> tuple[Token, str] | None:
        """A token and the hash of its secret; None if there is none with this id."""
        found = self._ledger.rows("select * from tokens where token_id = ?", [token_id])
        return next(((_token_of(row), row["secret_hash"]) for row in found), None)

    def starting_with(self, start: str) -> list[Token]:
        """The token with this id, or else up to two whose ids start with it."""
        return [_token_of(row) for row in self._ledger.starting_with("tokens", "token_id", start)]

    def all(self) -> list[Token]:
        """Every token, the newest first."""
        return [_token_of(row) for row in self._ledger.rows("select * from tokens order by created_at desc, token_id")]

    def revoke(self, token_id: str, at: datetime, who: str) -> None:
        """Store a revocation, unless there is an earlier one."""
        change = "update tokens set revoked_at = ?, revoked_by = ? where token_id = ? and revoked_at is null"
        with self._ledger.transaction() as con:
            con.execute(change, [as_text(at), who, token_id])

    def use(self, token_id: str, at: datetime) -> None:
        """Store that it was used."""
        with self._ledger.transaction() as con:
            con.execute("update tokens set last_used_at = ? where token_id = ?", [as_text(at), token_id])


def _row_of(token: Token) -> dict[str, object]:
    row = {name: getattr(token, name) for name in _FIELDS}
    return {name: as_text(value) if isinstance(value, datetime) else value for name, value in row.items()}


def _token_of(row: Row) -> Token:
    values = {name: row[name] for name in _FIELDS}
    values |= {name: as_time(values[name]) for name in _TIMES if values[name] is not None}
    return Token(**values | {"role": Role(values["role"]), "read_only": bool(values["read_only"])})
