"""Statements that insert rows, in the words that SQLite and PostgreSQL share."""

from collections.abc import Collection, Mapping
from typing import Any

from aisbench_core.store.ledger.database.connection import LedgerConnection


def insert_row(con: LedgerConnection, table: str, row: Mapping[str, object]) -> None:
    """Insert a row, given by column, within a transaction."""
    con.execute(_build_insertion(table, row), list(row.values()))


def insert_new(con: LedgerConnection, table: str, row: Mapping[str, object]) -> None:
    """Insert a row, unless there is one with its key."""
    con.execute(f"{_build_insertion(table, row)} on conflict do nothing", list(row.values()))


def replace_row(con: LedgerConnection, table: str, key: str, row: Mapping[str, object]) -> None:
    """Insert a row; these columns of one with the same `key`, a column, are replaced."""
    changes = ", ".join(f"{name} = excluded.{name}" for name in row)
    con.execute(f"{_build_insertion(table, row)} on conflict ({key}) do update set {changes}", list(row.values()))


def without_nul(value: Any) -> Any:
    """A value as PostgreSQL can store it: its texts hold no NUL."""
    return str.__str__(value).replace("\0", "\N{REPLACEMENT CHARACTER}") if isinstance(value, str) else value


def _build_insertion(table: str, row: Mapping[str, object]) -> str:
    return f"insert into {table} ({', '.join(row)}) values {make_marks(row)}"  # noqa: S608  # names of ours


def make_marks(values: Collection[object]) -> str:
    """As many ? marks as there are values, in parentheses; without values null, which nothing equals."""
    return f"({', '.join('?' for _ in values) or 'null'})"
