"""Tables: numbers to the right and sorted as numbers, names cut to a column's width, a dash for what is missing."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import streamlit as st

from aisbench_core.formats import MISSING
from pages._ui.shell.errors import plain

ROW, HEAD = 35, 38
"""Heights of a row and of the head with its edges, in pixels."""

SCROLLBAR = 14
"""Height of the bar below columns that do not fit: without room of its own it covers the last row."""

PLAIN_BELOW = 1000
"""Numbers that need no separators are shown as they are: with separators, Streamlit shows three decimals at most."""

NARROW = 816
"""What a table has on a window of 1280 pixels."""

LETTER, EDGES = 6.3, 18
"""Of a cell, in pixels: a Latin letter on average, and both edges together."""

MOST_UNBROKEN = 150
"""How wide a name may be that is kept on one line."""

_ENDLESS = re.compile(r"[^\s-]{40}")

Width = Literal["small", "medium", "large"] | int
"""By name, or in pixels."""


def show_table(
    rows: Sequence[Mapping[str, Any]],
    alt: str,
    *,
    widths: Mapping[str, Width] | None = None,
    seen: int | None = None,
) -> None:
    """A table of values by column title. `seen`: how many rows are seen at once; all of them unless told."""
    wide = sum(_pixels(title) for title in dict.fromkeys(title for row in rows for title in row)) > NARROW
    height: Literal["content"] | int = "content" if seen is None and not wide else height_of(rows, seen or len(rows))
    st.dataframe(
        rows,
        hide_index=True,
        alt=alt,
        height=height,
        column_config=columns(rows, widths or {}),
        placeholder=MISSING,
    )


def height_of(rows: Sequence[Mapping[str, Any]], seen: int) -> int:
    """Pixels of a table of which so many rows are seen at once, with room for the bar that scrolls its columns."""
    return min(len(rows), seen) * ROW + HEAD + SCROLLBAR


def show_side_by_side(rows: Sequence[Mapping[str, str]], alt: str) -> None:
    """A table that sets several things beside each other, one in each column but the first, which names.

    What is too wide for a page of NARROW pixels is wrapped: a table that can be sorted would be scrolled sideways."""
    titles = dict.fromkeys(title for row in rows for title in row)
    wanted = sum(max(_pixels(text) for text in (title, *(row[title] for row in rows))) for title in titles)
    if wanted <= NARROW:
        st.dataframe(rows, hide_index=True, alt=alt, height="content")
    else:
        first, *others = titles
        names = {title: plain(title) for title in others} | {first: _unbroken(first)}
        cells = [
            {names[first]: _unbroken(row[first])} | {names[title]: _broken(row[title]) for title in others}
            for row in rows
        ]
        st.table(cells, hide_index=True, alt=alt)


def _unbroken(name: str) -> str:
    """A short name stays on one line; Chinese ones could be broken after each letter."""
    joined = name.replace(" ", "\N{NO-BREAK SPACE}") if name.isascii() else "\N{WORD JOINER}".join(name)
    return plain(joined if _pixels(name) <= MOST_UNBROKEN else name)


def _broken(text: str) -> str:
    """Texts break at blanks and hyphens; one without any for long would make its column as wide as itself."""
    return _ENDLESS.sub("\\g<0>\N{ZERO WIDTH SPACE}", plain(text))


def _pixels(text: str) -> int:
    """About how wide a text is in a cell; Chinese letters are twice as wide as Latin ones."""
    return EDGES + math.ceil(sum(LETTER if ord(letter) < 0x2E80 else 2 * LETTER for letter in text))


def columns(rows: Sequence[Mapping[str, Any]], widths: Mapping[str, Width]) -> dict[str, Any]:
    """How each column is shown: one that holds numbers to the right, with separators of thousands."""
    titles = dict.fromkeys(title for row in rows for title in row)
    return {title: _column([row.get(title) for row in rows], widths.get(title)) for title in titles}


def _column(values: Sequence[Any], width: Width | None) -> Any:
    told = [value for value in values if value is not None]
    if told and all(isinstance(value, int | float) and not isinstance(value, bool) for value in told):
        few = max(abs(value) for value in told) < PLAIN_BELOW
        return st.column_config.NumberColumn(format="plain" if few else "localized", width=width)
    return st.column_config.TextColumn(width=width)
