"""How a warehouse file is laid out: large enough blocks, and long texts that are packed."""

from pathlib import Path

from duckdb import DuckDBPyConnection

BLOCK = 65536
"""Bytes. In smaller ones DuckDB packs no numbers; its own 256 KiB, for each of 90 columns, make recording dear."""

STORAGE = "v1.5.0"
"""The oldest DuckDB that reads the file; what older ones read has nothing that packs texts well."""

PACKED = {"runs": ("spec", "launch", "system"), "results": ("raw", "checks", "problems")}
"""Texts of some hundred letters that resemble those of other runs: together they take a sixth of their room."""


def write_anew(con: DuckDBPyConnection, source: str, draft: Path) -> None:
    """Write every table of the attached database `source` into a new file."""
    con.execute(f"attach {quoted(draft)} as fresh (block_size {BLOCK}, storage_version '{STORAGE}')")
    for table in _tables(con, source):
        con.execute(f"create table fresh.{table} ({_columns(con, source, table)})")
        con.execute(f"insert into fresh.{table} from {source}.{table}")
    con.execute("checkpoint fresh")
    con.execute("detach fresh")


def quoted(path: Path) -> str:
    """A path as SQL's text."""
    return "'" + str(path).replace("'", "''") + "'"


def _tables(con: DuckDBPyConnection, source: str) -> list[str]:
    asked = "select table_name from duckdb_tables() where database_name = ? order by table_oid"
    return [name for (name,) in con.execute(asked, [source]).fetchall()]


def _columns(con: DuckDBPyConnection, source: str, table: str) -> str:
    asked = """select column_name, data_type from duckdb_columns()
        where database_name = ? and table_name = ? order by column_index"""
    packed = PACKED.get(table, ())
    return ", ".join(
        f"{name} {kind}{' using compression zstd' if name in packed else ''}"
        for name, kind in con.execute(asked, [source, table]).fetchall()
    )
