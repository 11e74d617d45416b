"""The storage format of a warehouse file: block size, version and compression."""

from pathlib import Path

from duckdb import DuckDBPyConnection

# Bytes. With smaller blocks DuckDB compresses no numbers; its default of 256 KiB, for each of 90 columns, slows down
# recording.
BLOCK = 65536

# The oldest DuckDB that reads the file; earlier formats compress no texts.
STORAGE = "v1.5.0"

# Texts of some hundred characters that are similar in all runs: compressed, they take a sixth of the space.
PACKED = {"runs": ("spec", "launch", "system"), "results": ("raw", "checks", "problems")}


def write_anew(con: DuckDBPyConnection, source: str, draft: Path) -> None:
    """Write every table of the attached database `source` into a new file."""
    con.execute(f"attach {quoted(draft)} as fresh (block_size {BLOCK}, storage_version '{STORAGE}')")
    tables = _columns(con, source)
    con.begin()  # else each creation would be synced to disk
    for table, columns in tables.items():
        con.execute(f"create table fresh.{table} ({', '.join(columns)})")
    con.commit()
    for table in tables:
        con.execute(f"insert into fresh.{table} from {source}.{table}")
    con.execute("checkpoint fresh")
    con.execute("detach fresh")


def copy_tables(con: DuckDBPyConnection, draft: Path) -> None:
    """Write every table of the current database into the new file, which stays attached as `fresh`."""
    con.execute(f"attach {quoted(draft)} as fresh (block_size {BLOCK}, storage_version '{STORAGE}')")
    con.execute("select table_name from duckdb_tables() where database_name = current_database() and not temporary")
    for (table,) in con.fetchall():
        con.execute(f"create table fresh.main.{table} as from {table}")


def quoted(path: Path) -> str:
    """A path as SQL literal."""
    return "'" + str(path).replace("'", "''") + "'"


def _columns(con: DuckDBPyConnection, source: str) -> dict[str, list[str]]:
    # One query for all tables: DuckDB takes as long for one.
    query = """select table_name, column_name, data_type from duckdb_columns()
        join duckdb_tables() using (database_name, schema_name, table_name)
        where database_name = ? order by duckdb_tables.table_oid, column_index"""
    columns: dict[str, list[str]] = {}
    for table, name, kind in con.execute(query, [source]).fetchall():
        packed = " using compression zstd" if name in PACKED.get(table, ()) else ""
        columns.setdefault(table, []).append(f"{name} {kind}{packed}")
    return columns
