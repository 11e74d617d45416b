"""What a table shows: columns, rows, cells and what stands in them."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from pages._ui.shell.navigation import Selection, address_of


class Tone(StrEnum):
    """What a colour says; a text or a sign beside it says the same."""

    PLAIN = "plain"
    GOOD = "good"
    BAD = "bad"
    WARN = "warn"
    INFO = "info"
    MUTED = "muted"


class Align(StrEnum):
    """Figures stand to the right, with their heads and digits under digits; everything else to the left."""

    LEFT = "left"
    RIGHT = "right"


@dataclass(frozen=True, slots=True)
class GridColumn:
    """A column, named by its field: its label depends on the language.

    `sort` is what the URL calls the order by this column; without one its head does not sort. What is longer than
    `width` pixels is cut and shown whole as a tooltip; a column that `fills` takes the room that the others leave. Of a
    `mixed` column each cell is of another kind: their decimals and units do not stand below each other. `below`:
    a second line of its head. `room`: pixels that its texts take at least."""

    key: str
    label: str
    align: Align = Align.LEFT
    sort: str = ""
    hint: str = ""
    width: int = 0
    fills: bool = False
    mixed: bool = False
    room: int = 0
    below: str = ""


@dataclass(frozen=True, slots=True)
class PageLink:
    """A page with its selection."""

    page: Path
    selection: Selection

    @property
    def address(self) -> str:
        return address_of(self.page, self.selection)


@dataclass(frozen=True, slots=True)
class Dot:
    """A state as a colour; `name` is read out."""

    tone: Tone
    name: str


@dataclass(frozen=True, slots=True)
class CellPart:
    """What follows a cell's text, such as ✓ or a badge; `name` is read out instead of a sign."""

    text: str
    tone: Tone = Tone.PLAIN
    name: str = ""
    title: str = ""
    is_badge: bool = False


@dataclass(frozen=True, slots=True)
class Spark:
    """A small curve. `axis`, its lowest and highest value, is the same in all rows; `band` is an interval across it."""

    values: tuple[float, ...]
    axis: tuple[float, float]
    name: str
    band: tuple[float, float] | None = None
    tone: Tone = Tone.INFO


@dataclass(frozen=True, slots=True)
class GridCell:
    """A text with what stands around it; `title` is its tooltip."""

    text: str = ""
    tone: Tone = Tone.PLAIN
    unit: str = ""
    title: str = ""
    link: PageLink | None = None
    dot: Dot | None = None
    parts: tuple[CellPart, ...] = ()
    spark: Spark | None = None
    is_strong: bool = False


@dataclass(frozen=True, slots=True)
class GridRow:
    """Cells by column. `name` is what a row is called where it is ticked; `link` is the page that it opens."""

    id: str
    name: str
    cells: Mapping[str, GridCell] = field(default_factory=dict)
    link: PageLink | None = None


def encode_column(column: GridColumn, sorts: Collection[str]) -> dict[str, object]:
    """A column for the browser; its head sorts if that is one of the table's sorts."""
    sort = column.sort if column.sort in sorts else ""
    return {
        "key": column.key,
        "label": column.label,
        "align": column.align.value,
        **_drop_empty(
            {
                "sort": sort,
                "hint": column.hint,
                "width": column.width,
                "fills": column.fills,
                "mixed": column.mixed,
                "room": column.room,
                "below": column.below,
            }
        ),
    }


def encode_row(row: GridRow, keys: Iterable[str]) -> dict[str, object]:
    """A row for the browser, with the cells of these columns."""
    cells = {key: _encode_cell(row.cells[key]) for key in keys if key in row.cells}
    return {"id": row.id, "name": row.name, "href": row.link.address if row.link else "", "cells": cells}


def _encode_cell(cell: GridCell) -> dict[str, object]:
    return _drop_empty(
        {
            "text": cell.text,
            "tone": cell.tone.value if cell.tone is not Tone.PLAIN else "",
            "unit": cell.unit,
            "title": cell.title,
            "href": cell.link.address if cell.link else "",
            "dot": {"tone": cell.dot.tone.value, "name": cell.dot.name} if cell.dot else None,
            "parts": [_encode_part(part) for part in cell.parts],
            "spark": _encode_spark(cell.spark) if cell.spark else None,
            "strong": cell.is_strong,
        }
    )


def _encode_part(part: CellPart) -> dict[str, object]:
    optional = {"name": part.name, "title": part.title, "badge": part.is_badge}
    return {"text": part.text, "tone": part.tone.value, **_drop_empty(optional)}


def _encode_spark(spark: Spark) -> dict[str, object]:
    return {
        "values": spark.values,
        "axis": spark.axis,
        "band": spark.band,
        "name": spark.name,
        "tone": spark.tone.value,
    }


def _drop_empty(values: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in values.items() if value}
