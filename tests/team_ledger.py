"""Ledgers of each kind for tests: a file, and a team's in the PostgreSQL of the tests."""

from pathlib import Path

import pytest

from aisbench_core.store.ledger.database.address import LedgerAddress, ledger_address
from aisbench_core.store.ledger.database.postgres_connection import connect_postgres
from aisbench_core.store.ledger.database.postgres_schema import SCHEMA
from tests.postgres_server import PASSWORD, USER, PostgresServer

IN_A_FILE = pytest.mark.parametrize("ledger_url", ["sqlite"], indirect=True)
"""For tests of what happens to the file."""

PASSWORD_VARIABLE = "AISBENCH_LEDGER_PASSWORD"


def url_of(postgres: PostgresServer, database: str) -> str:
    """The setting `ledger` for a database."""
    return f"postgresql://{USER}@127.0.0.1:{postgres.port}/{database}"


def location_of(url: str, file: Path) -> Path | LedgerAddress:
    """Where a ledger of this kind is; without a URL in a file."""
    return ledger_address(url, lambda: PASSWORD) if url else file


def empty(url: str) -> None:
    """Remove the ledger from its database."""
    con = connect_postgres(ledger_address(url, lambda: PASSWORD))
    with con.session:
        con.execute(f"drop schema if exists {SCHEMA} cascade")
