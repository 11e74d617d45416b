"""The columns of stored tables, as they are declared when a table is written anew."""

from duckdb import DuckDBPyConnection

# Texts of some hundred characters that are similar in all runs: compressed, they take a sixth of the space.
PACKED = {"runs": ("spec", "launch", "system"), "results": ("raw", "checks", "problems")}


def stored_columns(con: DuckDBPyConnection, source: str) -> dict[str, list[str]]:
    """The declarations of columns, by table, of an attached database."""
    # One query for all tables: DuckDB takes as long for one.
    query = """select table_name, column_name, data_type from duckdb_columns()
        join duckdb_tables() using (database_name, schema_name, table_name)
        where database_name = ? order by duckdb_tables.table_oid, column_index"""
    columns: dict[str, list[str]] = {}
    for table, name, kind in con.execute(query, [source]).fetchall():
        packed = " using compression zstd" if name in PACKED.get(table, ()) else ""
        columns.setdefault(table, []).append(f"{name} {kind}{packed}")
    return columns
