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
    tables = _columns(con, source)
    con.begin()  # each creation on its own would be on the disk before the next
    for table, columns in tables.items():
        con.execute(f"create table fresh.{table} ({', '.join(columns)})")
    con.commit()
    for table in tables:
        con.execute(f"insert into fresh.{table} from {source}.{table}")
    con.execute("checkpoint fresh")
    con.execute("detach fresh")


def quoted(path: Path) -> str:
    """A path as SQL's text."""
    return "'" + str(path).replace("'", "''") + "'"


def _columns(con: DuckDBPyConnection, source: str) -> dict[str, list[str]]:
    """What each table is made of. It is one question: answering it costs the same for one table and for all."""
    asked = """select table_name, column_name, data_type from duckdb_columns()
        join duckdb_tables() using (database_name, schema_name, table_name)
        where database_name = ? order by duckdb_tables.table_oid, column_index"""
    columns: dict[str, list[str]] = {}
    for table, name, kind in con.execute(asked, [source]).fetchall():
        packed = " using compression zstd" if name in PACKED.get(table, ()) else ""
        columns.setdefault(table, []).append(f"{name} {kind}{packed}")
    return columns
