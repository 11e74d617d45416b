"""Tables: numbers to the right and sorted as numbers, names cut to a column's width, a dash for what is missing."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, count
from typing import Any, Literal

import pyarrow as pa
import streamlit as st

from aisbench_core.base.formats import MISSING
from pages._ui.shell.errors import escape_markdown

ROW, HEAD = 35, 38  # heights of a row and of the head with its edges, in pixels
SCROLLBAR = 14  # height of the bar below columns that do not fit: without room of its own it covers the last row

# Numbers that need no separators are shown as they are: with separators, Streamlit shows three decimals at most.
PLAIN_BELOW = 1000

MAX_DECIMALS = 6  # a column with smaller numbers than these can show is left to the browser

NARROW = 816  # width of a table in a window of 1280 pixels
LETTER, EDGES = 6.3, 18  # of a cell, in pixels: a Latin letter on average, and both edges together
MAX_UNBROKEN = 150  # how wide a name may be that is kept on one line, in pixels

# Only Chromium lets keys reach what scrolls sideways; elsewhere such a table has to be a stop of the tab key.
SCROLLED_BY_KEYS = """<script>
(() => {
  if (window.scrolledByKeys) return;
  window.scrolledByKeys = true;
  let due = false;
  const name = () => {
    due = false;
    for (const table of document.querySelectorAll('[data-testid="stTable"] table')) {
      const scroller = table.parentElement, isWide = scroller.scrollWidth > scroller.clientWidth;
      if (isWide === scroller.hasAttribute("tabindex")) continue;
      const label = table.getAttribute("aria-label") || "";
      const attributes = {tabindex: "0", role: "group", "aria-label": label};
      for (const [key, value] of Object.entries(attributes))
        isWide ? scroller.setAttribute(key, value) : scroller.removeAttribute(key);
    }
  };
  const later = () => { if (!due) { due = true; setTimeout(name, 50); } };
  new MutationObserver(later).observe(document.body, {childList: true, subtree: true});
  addEventListener("resize", later);
  later();
})();
</script>"""

_ENDLESS = re.compile(r"[^\s-]{40}")

Width = Literal["small", "medium", "large"] | int  # by name, or in pixels


def install_table_keys() -> None:
    """Once in the browser: wide tables of all pages can be scrolled by the arrow keys."""
    st.html(SCROLLED_BY_KEYS, unsafe_allow_javascript=True)


def show_table(
    rows: Sequence[Mapping[str, Any]],
    titles: Mapping[str, str],
    alt: str,
    *,
    widths: Mapping[str, Width] | None = None,
    visible: int = 0,
) -> None:
    """A table of rows by field, `visible` of them at a time; 0: all of them.

    `titles` names the columns and their order, by field, as `widths` do. `alt` describes the table to those who cannot
    see it."""
    titles = tell_apart(titles)
    wide = sum(map(text_width, titles.values())) > NARROW
    # In pixels, not as high as its content: Streamlit keeps the room before it has loaded what draws the table.
    height: Any = height_of(rows, visible or len(rows)) - (0 if visible or wide else SCROLLBAR) if rows else "content"
    config = configure_columns(rows, titles, widths or {})
    cells = title_cells(rows, titles)
    data = _to_arrow(cells) if _is_text(cells) else cells
    st.dataframe(data, hide_index=True, alt=alt, height=height, column_config=config, placeholder=MISSING, lazy=False)


def tell_apart(titles: Mapping[str, str]) -> dict[str, str]:
    """The same titles, numbered where several are equal: the cells of one column would stand in the other's place."""
    named: dict[str, str] = {}
    for field, title in titles.items():
        numbered = chain([title], (f"{title} ({number})" for number in count(2)))
        named[field] = next(each for each in numbered if each not in named.values())
    return named


def title_cells(rows: Sequence[Mapping[str, Any]], titles: Mapping[str, str]) -> list[dict[str, Any]]:
    """The cells by the titles of their columns: these are also the head of the CSV file that the table saves."""
    return [{title: row.get(field) for field, title in titles.items()} for row in rows]


def _is_text(rows: Sequence[Mapping[str, Any]]) -> bool:
    return bool(rows) and all(value is None or isinstance(value, str) for row in rows for value in row.values())


def _to_arrow(rows: Sequence[Mapping[str, str | None]]) -> pa.Table:
    """Without pandas, which takes longer than all else on the page of a running job."""
    return pa.table({title: pa.array([row[title] for row in rows], pa.string()) for title in rows[0]})


def height_of(rows: Sequence[Mapping[str, Any]], visible: int) -> int:
    """Pixels of a table that shows so many rows at a time, with room for the bar that scrolls its columns."""
    return min(len(rows), visible) * ROW + HEAD + SCROLLBAR


def fits_page(rows: Sequence[Mapping[str, str]], titles: Mapping[str, str]) -> bool:
    """Whether each of these texts has room on one line of a page of NARROW pixels."""
    widths = (max(text_width(text) for text in (title, *(row[key] for row in rows))) for key, title in titles.items())
    return sum(widths) <= NARROW


def show_wrapped(rows: Sequence[Mapping[str, str]], titles: Mapping[str, str], alt: str) -> None:
    """A table that compares several things, each in a column; the first column names what is compared.

    Its texts are wrapped: a table that can be sorted would be scrolled sideways."""
    titles = tell_apart(titles)
    first, *rest = titles
    cells = [
        {_prevent_breaks(titles[first]): _prevent_breaks(row[first])}
        | {escape_markdown(titles[key]): _allow_breaks(row[key]) for key in rest}
        for row in rows
    ]
    st.table(cells, hide_index=True, alt=alt)


def _prevent_breaks(name: str) -> str:
    """A short name on one line: browsers break Chinese ones after any letter."""
    joined = name.replace(" ", "\N{NO-BREAK SPACE}") if name.isascii() else "\N{WORD JOINER}".join(name)
    return escape_markdown(joined if text_width(name) <= MAX_UNBROKEN else name)


def _allow_breaks(text: str) -> str:
    """Texts break at blanks and hyphens; one without any for long would make its column as wide as itself."""
    return _ENDLESS.sub("\\g<0>\N{ZERO WIDTH SPACE}", escape_markdown(text))


def text_width(text: str) -> int:
    """About how wide a text is in a cell; Chinese characters are twice as wide as Latin ones."""
    return EDGES + math.ceil(sum(LETTER if ord(letter) < 0x2E80 else 2 * LETTER for letter in text))


def shared_prefix(names: Iterable[str]) -> str:
    """The first part of all names, such as "modelarts."; empty where they differ in it or have no other."""
    firsts = {"".join(name.partition(".")[:2]) for name in names}
    return first if len(firsts) == 1 and (first := firsts.pop()).endswith(".") else ""


def without_prefix(names: Sequence[str]) -> list[str]:
    """Names of hardware without the part that all share: the ends, by which they differ, are then seen."""
    prefix = shared_prefix(names)
    return [name.removeprefix(prefix) for name in names]


def configure_columns(
    rows: Sequence[Mapping[str, Any]], titles: Mapping[str, str], widths: Mapping[str, Width]
) -> dict[str, Any]:
    """How each column is shown, by its title: one that holds numbers to the right, with separators of thousands."""
    return {
        title: _configure_column([row.get(field) for row in rows], widths.get(field)) for field, title in titles.items()
    }


def _configure_column(values: Sequence[Any], width: Width | None) -> Any:
    present = [value for value in values if value is not None]
    if present and all(isinstance(value, int | float) and not isinstance(value, bool) for value in present):
        return st.column_config.NumberColumn(format=number_format(present), width=width)
    return st.column_config.TextColumn(width=width)


def number_format(values: Sequence[float]) -> Any:
    """How a column shows these numbers: with separators of thousands where there are any."""
    return _choose_format(values) if max(abs(value) for value in values) < PLAIN_BELOW else "localized"


def _choose_format(values: Sequence[float]) -> str:
    """A format with as many decimals as the longest value has: with `plain`, browsers show 941.5300000000001."""
    texts = [repr(value) for value in values]
    decimals = max(0 if text.endswith(".0") else len(text.partition(".")[2]) for text in texts)
    return "plain" if decimals > MAX_DECIMALS or any("e" in text for text in texts) else f"%.{decimals}f"
