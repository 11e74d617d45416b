"""JSON: one array, a row a line; null is what was not measured."""

from collections.abc import Sequence
from typing import IO

from duckdb import DuckDBPyConnection

from aisbench_core.model.columns import Kind
from aisbench_core.warehouse.exporting.columns import Sheet, SheetColumn
from aisbench_core.warehouse.exporting.parts import Parameters, text_batches


def write(cur: DuckDBPyConnection, sheet: Sheet, parts: Sequence[Parameters], target: IO[bytes]) -> int:
    """Write all rows; returns how many."""
    row = f"concat(',', chr(10), json_object({', '.join(map(_build_member, sheet.columns))})::VARCHAR)"
    target.write(b"[")
    count = 0
    for text, rows in text_batches(cur, sheet.select(row), parts):
        target.write(text if count else text[1:])  # no comma before the first
        count += rows
    target.write(b"\n]\n")
    return count


def _build_member(column: SheetColumn) -> str:
    value = f"replace({column.name}::VARCHAR, ' ', 'T') || 'Z'" if column.kind is Kind.TIME else column.name
    return f"'{column.name}', {value}"
