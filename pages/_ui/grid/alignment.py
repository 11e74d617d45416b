"""Tables below each other whose columns stand below each other: each column has the room that all of them need."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from pages._ui.grid.values import Align, GridCell, GridColumn, GridRow

LETTER, WIDE_FROM, SPARK = 6.6, "\u2e80", 96  # pixels of a letter, the first of the wide letters, pixels of a curve

Table = tuple[Sequence[GridColumn], Sequence[GridRow]]


def align_tables(tables: Sequence[Table]) -> list[Table]:
    """The same tables, with the widest need of each column, by its key."""
    needs: defaultdict[str, int] = defaultdict(int)
    for columns, rows in tables:
        for column in columns:
            needs[column.key] = max(needs[column.key], _measure_column(column, rows))
    return [([replace(each, room=needs[each.key]) for each in columns], rows) for columns, rows in tables]


def _measure_column(column: GridColumn, rows: Sequence[GridRow]) -> int:
    cells = [cell for row in rows if (cell := row.cells.get(column.key))]
    width = max(map(_measure_text, (column.label, *map(_join_text, cells))))
    if column.align is Align.RIGHT:  # decimals stand below each other
        parts = [cell.text.partition(".") for cell in cells] or [("", "", "")]
        width = max(width, sum(max(_measure_text(each[index]) for each in parts) for index in (0, 2)))
    width = min(width, column.width) if column.width else width
    return max(width, SPARK if any(cell.spark for cell in cells) else 0)


def _join_text(cell: GridCell) -> str:
    return " ".join(filter(None, (cell.text, cell.unit, *(part.text for part in cell.parts))))


def _measure_text(text: str) -> int:
    return round(LETTER * sum(1 if letter < WIDE_FROM else 2 for letter in text))
