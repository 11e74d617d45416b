"""CSV: RFC 4180 in UTF-8. Lines are made in SQL, which is many times as quick as cell by cell in Python.

To look at each text of a row takes longer than all else, and nearly none needs a quote or a guard: so the names of a
row are looked at all together, and one by one only in rows where something was seen.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import IO

from duckdb import DuckDBPyConnection

from aisbench_core.model.columns import Kind, Wording
from aisbench_core.warehouse.exporting.columns import Sheet, SheetColumn
from aisbench_core.warehouse.exporting.lines import lines
from aisbench_core.warehouse.exporting.parts import Parameters

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

_SEEN = " or ".join(
    ["lowest < '0'", f"highest >= '{_WIDE[0]}'"] + [f"contains(together, {each})" for each in (*_QUOTED, "'='", "'@'")]
)
"""Whether a row's names may need quotes or guards: what is guarded begins below 0, with = or @, or is full-width."""


def write(cur: DuckDBPyConnection, sheet: Sheet, parts: Sequence[Parameters], target: IO[bytes], bom: bool) -> int:
    """Write header and rows; returns how many."""
    target.write(f"{MARK if bom else ''}{','.join(sheet.names)}\r\n".encode())
    count = 0
    for text, rows in lines(cur, _asked(sheet), parts):
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


def _asked(sheet: Sheet) -> str:
    """Each row as one text: nothing for what was not measured, a decimal point, times in ISO 8601 and UTC."""
    names = [column.name for column in sheet.columns if column.wording is Wording.NAME]
    all_names = ", ".join(names)
    usual = {column.name: _cell(column) for column in sheet.columns}
    careful = usual | {name: f"careful[{place}]" for place, name in enumerate(names, start=1)}
    rows = f"""(
        select *, case when {_SEEN} then list_transform([{all_names}], lambda name: {_text("name")}) end as careful
        from (
            select *, concat({all_names}) as together, least({all_names}) as lowest, greatest({all_names}) as highest
            from cells))"""
    return sheet.select(f"case when careful is null then {_line(usual)} else {_line(careful)} end", rows)


def _line(cells: Mapping[str, str]) -> str:
    joined = ", ',', ".join(cells.values())
    return f"concat({joined}, E'\\r\\n')"


def _cell(column: SheetColumn) -> str:
    name = column.name
    match column.kind:
        case Kind.TEXT if column.wording is Wording.PROSE:
            return _text(name)
        case Kind.TIME:
            return f"case when {name} is not null then concat({name}::DATE, 'T', {name}::TIME, 'Z') end"
        case Kind.NUMBER:  # as JSON it is the same within these bounds, and made in a third of the time
            return f"case when {name} between 1e-4 and 1e15 then to_json({name})::VARCHAR else {name}::VARCHAR end"
        case _:
            return f"{name}::VARCHAR"


def _text(name: str) -> str:
    """Guarded and quoted where need be.

    A pattern is slow: only texts that begin with none of 0 to 9, A to Z and what follows, up to the full-width forms,
    are held against it."""
    guarded = f"""case when ({name} < 'A' and {name} not between '0' and ':') or {name} >= '{_WIDE[0]}'
        then regexp_replace({name}, '{_PATTERN}', '''\\1') else {name} end"""
    special = " or ".join(f"contains({name}, {each})" for each in _QUOTED)
    return f"""case when {special} then concat('"', replace({guarded}, '"', '""'), '"') else {guarded} end"""
