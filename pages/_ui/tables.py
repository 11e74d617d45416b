"""Tables: numbers to the right and sorted as numbers, names cut to a column's width, a dash for what is missing."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import streamlit as st

from pages._ui.formats import NOT_MEASURED

ROW, HEAD = 35, 38
"""Heights of a row and of the head with its edges, in pixels."""

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
    height: Literal["content"] | int = "content" if seen is None else min(len(rows), seen) * ROW + HEAD
    st.dataframe(
        rows,
        hide_index=True,
        alt=alt,
        height=height,
        column_config=columns(rows, widths or {}),
        placeholder=NOT_MEASURED,
    )


def columns(rows: Sequence[Mapping[str, Any]], widths: Mapping[str, Width]) -> dict[str, Any]:
    """How each column is shown: one that holds numbers to the right, with separators of thousands."""
    titles = dict.fromkeys(title for row in rows for title in row)
    return {title: _column([row.get(title) for row in rows], widths.get(title)) for title in titles}


def _column(values: Sequence[Any], width: Width | None) -> Any:
    told = [value for value in values if value is not None]
    if told and all(isinstance(value, int | float) and not isinstance(value, bool) for value in told):
        return st.column_config.NumberColumn(format="localized", width=width)
    return st.column_config.TextColumn(width=width)
