"""CSV: RFC 4180 in UTF-8. Lines are made in SQL, which is many times as quick as cell by cell in Python."""

import re
from datetime import datetime
from typing import IO

from duckdb import DuckDBPyConnection

from aisbench_core.warehouse.exporting.columns import Column, Kind, Sheet
from aisbench_core.warehouse.exporting.lines import lines

MARK = "\ufeff"
GUARD = "'"
"""Goes before a text that a spreadsheet would run: one that begins with = + - @ TAB or CR. And before one that begins
with guards and such a character, so that taking one guard away always gives the text that it was."""

_GUARDED = r"^'*[=+\-@\t\r]"


def write(cur: DuckDBPyConnection, sheet: Sheet, parameters: dict[str, object], target: IO[bytes], bom: bool) -> int:
    """Write header and rows; returns how many."""
    guarded = ", ".join(_guarded(column.name) for column in sheet.columns if column.kind is Kind.TEXT)
    asked = sheet.select(_line(sheet), f"(select * replace ({guarded}) from cells)")  # noqa: S608 (our own words)
    target.write(f"{MARK if bom else ''}{','.join(sheet.names)}\r\n".encode())
    count = 0
    for text, rows in lines(cur.execute(asked, parameters)):
        target.write(text)
        count += rows
    return count


def cell(value: object) -> str:
    """The same for one value that no column describes, as in an answer to SQL."""
    if value is None:
        return ""
    if isinstance(value, str):
        return f"{GUARD}{value}" if re.match(_GUARDED, value) else value
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value.isoformat()}Z" if isinstance(value, datetime) else str(value)


def _guarded(name: str) -> str:
    """A pattern is slow, so it is asked only about texts that begin with none of 0 to 9, A to Z and what follows."""
    pattern = _GUARDED.replace("'", "''")
    return f"""case when {name} < 'A' and ({name} < '0' or {name} >= ':') and regexp_matches({name}, '{pattern}')
        then '''' || {name} else {name} end as {name}"""


def _line(sheet: Sheet) -> str:
    """A row as a line: nothing for what was not measured, a decimal point, times in ISO 8601 and UTC."""
    cells = ", ',', ".join(_cell(column) for column in sheet.columns)
    return f"concat({cells}, chr(13), chr(10))"


def _cell(column: Column) -> str:
    name = column.name
    if column.kind is Kind.TEXT:
        special = " or ".join(f"contains({name}, {each})" for each in ("','", "'\"'", "chr(10)", "chr(13)"))
        return f"""case when {special} then '"' || replace({name}, '"', '""') || '"' else {name} end"""
    return f"replace({name}::VARCHAR, ' ', 'T') || 'Z'" if column.kind is Kind.TIME else f"{name}::VARCHAR"
