"""CSV: RFC 4180 in UTF-8. Lines are made in SQL, which is many times as quick as cell by cell in Python."""

import re
from datetime import datetime
from typing import IO

from duckdb import DuckDBPyConnection

from aisbench_core.warehouse.exporting.columns import Column, Kind, Sheet
from aisbench_core.warehouse.exporting.lines import lines

MARK = "\ufeff"
GUARD = "'"
"""Goes before a text that a spreadsheet would run: one that begins with = + - @, their full-width forms, TAB, CR or LF.
And before one that begins with guards and such a character, so that taking one guard away always gives the text that it
was."""

_WIDE = "\uff0b\uff0d\uff1d\uff20"
_GUARDED = rf"^('*[=+\-@\t\r\n{_WIDE}])"
_PATTERN = _GUARDED.replace("'", "''")
_QUOTED = ("','", "'\"'", "E'\\n'", "E'\\r'")
"""What a text is quoted for, in SQL."""


def write(cur: DuckDBPyConnection, sheet: Sheet, parameters: dict[str, object], target: IO[bytes], bom: bool) -> int:
    """Write header and rows; returns how many."""
    target.write(f"{MARK if bom else ''}{','.join(sheet.names)}\r\n".encode())
    count = 0
    for text, rows in lines(cur.execute(sheet.select(_line(sheet)), parameters)):
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


def _line(sheet: Sheet) -> str:
    """A row as a line: nothing for what was not measured, a decimal point, times in ISO 8601 and UTC."""
    cells = ", ',', ".join(_cell(column) for column in sheet.columns)
    return f"concat({cells}, E'\\r\\n')"


def _cell(column: Column) -> str:
    name = column.name
    if column.kind is Kind.TIME:
        return f"case when {name} is not null then concat({name}::DATE, 'T', {name}::TIME, 'Z') end"
    return _text(name) if column.kind is Kind.TEXT and not column.is_ours else f"{name}::VARCHAR"


def _text(name: str) -> str:
    """Guarded and quoted where need be, in few words: with a column as wide as this, the engine plans for long.

    A pattern is slow: only texts that begin with none of 0 to 9, A to Z and what follows, up to the full-width forms,
    are held against it."""
    guarded = f"regexp_replace({name}, '{_PATTERN}', '''\\1')"
    special = " or ".join(f"contains({name}, {each})" for each in _QUOTED)
    return f"""case when {special} then concat('"', replace({guarded}, '"', '""'), '"')
        when ({name} < 'A' and {name} not between '0' and ':') or {name} >= '{_WIDE[0]}' then {guarded}
        else {name} end"""
