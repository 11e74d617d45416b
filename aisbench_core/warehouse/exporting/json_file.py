"""JSON: one array, a row a line; null is what was not measured."""

from typing import IO

from duckdb import DuckDBPyConnection

from aisbench_core.warehouse.exporting.columns import Column, Kind, Sheet

BATCH = 2000


def write(cur: DuckDBPyConnection, sheet: Sheet, parameters: dict[str, object], target: IO[bytes]) -> int:
    """Write all rows; returns how many."""
    row = f"json_object({', '.join(_member(column) for column in sheet.columns)})::VARCHAR"
    cur.execute(sheet.select(row), parameters)
    target.write(b"[")
    count = 0
    while rows := cur.fetchmany(BATCH):
        target.write((",\n" if count else "\n").encode() + ",\n".join(each[0] for each in rows).encode())
        count += len(rows)
    target.write(b"\n]\n")
    return count


def _member(column: Column) -> str:
    value = f"replace({column.name}::VARCHAR, ' ', 'T') || 'Z'" if column.kind is Kind.TIME else column.name
    return f"'{column.name}', {value}"
