"""Markdown and LaTeX: the columns that a paper has room for, with labels and units, as people read them."""

from collections.abc import Mapping, Sequence
from typing import IO, Any

from duckdb import DuckDBPyConnection

from aisbench_core.base.errors import Problem, SpecError
from aisbench_core.base.formats import MISSING, format_number
from aisbench_core.base.messages import Message
from aisbench_core.base.text_tables import TextColumn, TextTable, TextTableFormat, format_text_table
from aisbench_core.model.columns import Kind, by_exported
from aisbench_core.warehouse.exporting.columns import Sheet, SheetColumn
from aisbench_core.warehouse.exporting.parts import Parameters
from aisbench_core.warehouse.values.exports import ExportTable

# More are no table that people read.
MAX_ROWS = 1_000

NUMBERS = (Kind.INTEGER, Kind.NUMBER)

PRINTED: Mapping[ExportTable, Sequence[str]] = {
    ExportTable.RUNS: (
        *("run_id", "model_name", "framework", "framework_version", "accelerator", "flavor", "node_count"),
        *("cards_per_node", "throughput_cluster", "throughput_per_card", "accuracy", "platform_duration_s"),
        *("cost", "validity"),
    ),
    ExportTable.SERIES: (
        *("model_name", "framework", "framework_version", "accelerator", "flavor", "node_count", "cards_per_node"),
        *("runs_valid", "median", "ci95_low", "ci95_high", "cv_pct", "median_per_card", "median_accuracy"),
        *("efficiency_pct", "cost"),
    ),
}
"""The columns of each table; one without any value is left out."""

_TITLES = {
    "median": "Median throughput", "ci95_low": "95 % CI from", "ci95_high": "to", "cv_pct": "CV",
    "median_per_card": "Median per card", "median_accuracy": "Median accuracy", "efficiency_pct": "Efficiency",
    "runs_valid": "Valid runs",
}  # fmt: skip


def write(
    cur: DuckDBPyConnection,
    sheet: Sheet,
    parts: Sequence[Parameters],
    target: IO[bytes],
    table: ExportTable,
    mark: str,
    form: TextTableFormat,
) -> int:
    """Write all rows; returns how many. `mark`: the caption. Raises SpecError when there are more than MAX_ROWS."""
    rows: list[dict[str, Any]] = []
    for part in parts:
        cells = cur.execute(f"{sheet.select('*')} limit {MAX_ROWS + 1}", part).fetchall()
        rows += [dict(zip(sheet.names, row, strict=True)) for row in cells]
    if len(rows) > MAX_ROWS:
        problem = Message("a table to print has at most {most_rows:,} rows: narrow the filter", most_rows=MAX_ROWS)
        raise SpecError(Message("export"), [Problem("format", problem, form)])
    target.write(format_text_table(_build_table(sheet, PRINTED[table], rows, mark), form).encode())
    return len(rows)


def _build_table(sheet: Sheet, names: Sequence[str], rows: Sequence[Mapping[str, Any]], mark: str) -> TextTable:
    by_name = {column.name: column for column in sheet.columns}
    columns = [by_name[name] for name in names if not rows or any(row[name] is not None for row in rows)]
    # The unit of all rows stands in the heads; of several units each row has its own behind its numbers.
    shared = {name: units.pop() for name in by_name if len(units := {row[name] for row in rows}) == 1}
    heads = [
        TextColumn(_build_title(column, shared.get(column.unit, column.unit)), column.kind in NUMBERS)
        for column in columns
    ]
    return TextTable(mark, heads, [[_format_cell(column, row, shared) for column in columns] for row in rows])


def _build_title(column: SheetColumn, unit: str | None) -> str:
    known = by_exported().get(column.name)
    title = _TITLES.get(column.name) or (known.label if known else "") or column.name.replace("_", " ").capitalize()
    has_unit = unit and unit not in ("1", "throughput_unit", "currency")
    return f"{title} ({unit})" if has_unit else title


def _format_cell(column: SheetColumn, row: Mapping[str, Any], shared: Mapping[str, Any]) -> str:
    value = row[column.name]
    if value is None:
        return MISSING
    if column.kind is not Kind.NUMBER:
        return str(value)
    unit = row.get(column.unit) if column.unit in row and column.unit not in shared else ""
    return format_number(value, unit or "")
