"""The first moments of a warehouse: somebody else may be making it at the same time."""

from pathlib import Path
from typing import Any, cast

import duckdb
import pytest

from aisbench_core.base.errors import WarehouseError
from aisbench_core.warehouse.store.lake_refusals import is_ours
from aisbench_core.warehouse.store.migrations import is_outdated, migrate_tables


class Overtaken:
    """A look into a new warehouse that somebody else makes right after the first question was answered."""

    def __init__(self, con: duckdb.DuckDBPyConnection, *statements: str) -> None:
        self._con = con
        self._statements = list(statements)

    def execute(self, *question: Any) -> Any:
        try:
            return self._con.execute(*question)
        finally:
            while self._statements:
                self._con.cursor().execute(self._statements.pop(0))


def test_tables_that_appear_between_two_questions_are_not_another_program_s(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "made.duckdb") as made:
        migrate_tables(made, "made")
        [(sql,)] = made.execute("select sql from duckdb_tables() where table_name = 'schema_version'").fetchall()
        [(version,)] = made.execute("select max(version) from schema_version").fetchall()

    with duckdb.connect(tmp_path / "new.duckdb") as con:
        overtaken = Overtaken(con, sql, f"insert into schema_version values ({version})")

        assert not is_outdated(cast("duckdb.DuckDBPyConnection", overtaken), "new")


def test_tables_of_somebody_else_are(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "new.duckdb") as con:
        overtaken = Overtaken(con, "create table theirs (x int)")

        with pytest.raises(WarehouseError, match="another program"):
            is_outdated(cast("duckdb.DuckDBPyConnection", overtaken), "new")


@pytest.mark.parametrize(
    "said",
    [
        "Invalid Input Error: Attempting to fetch from an unsuccessful query result",
        'Invalid Error: Failed to prepare COPY "COPY (SELECT 1) TO STDOUT": server closed the connection unexpectedly',
    ],
)
def test_a_connection_that_breaks_off_in_an_answer_is_no_bug(said: str) -> None:
    assert not is_ours(duckdb.InvalidInputException(said))
    assert is_ours(duckdb.InvalidInputException("Invalid Input Error: Values list too short"))
