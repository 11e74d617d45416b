"""CSV: RFC 4180 in UTF-8. Lines are made in SQL, many times as fast as cell by cell in Python.

Checking each text takes longer than everything else, and nearly none needs quotes or a guard. So the names of a row are
checked concatenated, and one by one only in rows where that finds something.
"""

from collections.abc import Mapping, Sequence
from typing import IO

from duckdb import DuckDBPyConnection

from aisbench_core.base.formats import FULL_WIDTH, GUARDED
from aisbench_core.model.columns import Kind, Wording
from aisbench_core.warehouse.exporting.columns import Sheet, SheetColumn
from aisbench_core.warehouse.exporting.parts import Parameters, text_batches

BYTE_ORDER_MARK = "\ufeff"
_PATTERN = GUARDED.replace("'", "''")
# What a text is quoted for, in SQL.
_QUOTED = ("','", "'\"'", "E'\\n'", "E'\\r'")

# Whether a row's names may need quotes or guards: what is guarded sorts below 0, or has =, @ or a full-width form.
_SUSPICIOUS = " or ".join(
    ["lowest < '0'", f"highest >= '{FULL_WIDTH[0]}'"]
    + [f"contains(joined, {text})" for text in (*_QUOTED, "'='", "'@'")]
)


def write(cur: DuckDBPyConnection, sheet: Sheet, parts: Sequence[Parameters], target: IO[bytes], bom: bool) -> int:
    """Write header and rows; returns how many rows."""
    target.write(f"{BYTE_ORDER_MARK if bom else ''}{','.join(sheet.names)}\r\n".encode())
    count = 0
    for text, rows in text_batches(cur, _build_lines(sheet), parts):
        target.write(text)
        count += rows
    return count


def _build_lines(sheet: Sheet) -> str:
    """Each row as one text: nothing for what was not measured, a decimal point, times in ISO 8601 and UTC."""
    names = [column.name for column in sheet.columns if column.wording is Wording.NAME]
    all_names = ", ".join(names)
    fast = {column.name: _format_cell(column) for column in sheet.columns}
    careful = fast | {name: f"careful[{position}]" for position, name in enumerate(names, start=1)}
    checked = f"list_transform([{all_names}], lambda name: {_quote_text('name')})"
    rows = f"""(
        select *, case when {_SUSPICIOUS} then {checked} end as careful
        from (
            select *, concat({all_names}) as joined, least({all_names}) as lowest, greatest({all_names}) as highest
            from cells))"""
    return sheet.select(f"case when careful is null then {_build_line(fast)} else {_build_line(careful)} end", rows)


def _build_line(cells: Mapping[str, str]) -> str:
    return "concat({}, E'\\r\\n')".format(", ',', ".join(cells.values()))


def _format_cell(column: SheetColumn) -> str:
    name = column.name
    match column.kind:
        case Kind.TEXT if column.wording is Wording.PROSE:
            return _quote_text(name)
        case Kind.TIME:
            return f"case when {name} is not null then concat({name}::DATE, 'T', {name}::TIME, 'Z') end"
        case Kind.NUMBER:  # within these bounds JSON writes the same text, in a third of the time
            return f"case when {name} between 1e-4 and 1e15 then to_json({name})::VARCHAR else {name}::VARCHAR end"
        case _:
            return f"{name}::VARCHAR"


def _quote_text(name: str) -> str:
    """Guarded and quoted where necessary."""
    # Regular expressions are slow, so texts that begin with 0 to 9, or A and above up to the full-width forms, skip it.
    escaped = f"""case when ({name} < 'A' and {name} not between '0' and ':') or {name} >= '{FULL_WIDTH[0]}'
        then regexp_replace({name}, '{_PATTERN}', '''\\1') else {name} end"""
    special = " or ".join(f"contains({name}, {text})" for text in _QUOTED)
    return f"""case when {special} then concat('"', replace({escaped}, '"', '""'), '"') else {escaped} end"""
