"""Tables whose rows can be ticked: Space ticks the row of the focused cell; Enter, or a click on a cell, opens it.

Streamlit's table ticks with Shift+Space only, and shows the cell in a box with Space or Enter; a double click still
does."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from aisbench_core.base.formats import MISSING
from pages._ui.shell.navigation import open_page
from pages._ui.shell.tables import Width, configure_columns, height_of, title_cells

TICKS, OPENS = "ticks", "opens"  # what the keys of containers begin with: rows are ticked; are ticked and opened
HEAD, BOXES = 35, 34  # pixels: the heads of columns, which sort, and the column of boxes, which tick
DOUBLE_CLICK_MS = 350
TICK_WAIT_MS = 3000  # how long Enter waits for the link of a row that was ticked just before
LINKS = "open-ticked"  # the container with a link for each ticked row

# The table is a canvas, and sorting it is the browser's: only the table knows which row has the focus. So Enter ticks
# that row, and follows the link that comes (or, where the row was ticked before, goes) with the tick.
SCRIPT = """<script>
(() => {{
  if (window.rowKeys) return;
  window.rowKeys = true;
  const shiftSpace = {{key: " ", code: "Space", keyCode: 32, shiftKey: true, bubbles: true, cancelable: true}};
  const tick = grid => grid.dispatchEvent(new KeyboardEvent("keydown", shiftSpace));
  const links = () => new Map([...document.querySelectorAll(".st-key-{links} a")].map(link => [link.href, link]));
  const missing = (some, others) => [...some.keys()].find(href => !others.has(href));
  const idle = () => !document.querySelector('[data-test-script-state="running"]');
  const open = (grid, before, tries) => {{
    const now = links();
    const come = missing(now, before), gone = missing(before, now);
    if (come) return now.get(come).click();
    if (!grid.isConnected || !tries) return;
    if (gone) return tick(grid), open(grid, now, tries);
    if (tries % 20 === 10 && idle()) tick(grid);  // two ticks at once were none: the table sends only the last state
    setTimeout(open, 100, grid, before, tries - 1);
  }};
  // Rows ticked a moment before have no links yet: Enter would take the first link that comes for the one of its row.
  let spaced = {{links: links(), until: 0}};
  const openSoon = grid => {{
    if (!grid.isConnected) return;
    const now = links();
    const waits = performance.now() < spaced.until && !missing(spaced.links, now) && !missing(now, spaced.links);
    if (waits) return setTimeout(openSoon, 50, grid);
    spaced.until = 0;
    tick(grid);
    open(grid, now, 100);
  }};
  document.addEventListener("keydown", event => {{
    if (!event.isTrusted || event.shiftKey || event.ctrlKey || event.altKey || event.metaKey) return;
    const ticks = event.key === " ", opens = event.key === "Enter";
    const table = event.target.closest(`[class*="st-key-{opens}-"]${{ticks ? ', [class*="st-key-{ticks}-"]' : ""}}`);
    if (!(ticks || opens) || !table || !event.target.closest(".stDataFrameGlideDataEditor")) return;
    event.stopPropagation();
    event.preventDefault();
    if (event.repeat) return;
    if (opens) return openSoon(event.target);
    spaced = {{links: links(), until: performance.now() + {tick_wait}}};
    tick(event.target);
  }}, true);
  let clicked, pressed;
  const isCell = (canvas, event) => {{
    const box = canvas.getBoundingClientRect();
    const rows = canvas.closest(".stDataFrame").querySelector(".dvn-stack").getBoundingClientRect();
    const isRow = event.clientY > box.top + {head} && event.clientY < rows.bottom;
    return isRow && event.clientX > box.left + {boxes};
  }};
  document.addEventListener("mousedown", event => {{ pressed = [event.clientX, event.clientY]; }}, true);
  document.addEventListener("click", event => {{
    clearTimeout(clicked);
    const table = event.target.closest('[class*="st-key-{opens}-"] .stDataFrame');
    const canvas = table && table.querySelector("canvas");
    const moved = pressed && Math.hypot(event.clientX - pressed[0], event.clientY - pressed[1]) > 4;
    if (!canvas || !event.isTrusted || event.detail !== 1 || moved || !isCell(canvas, event)) return;
    if (event.shiftKey || event.ctrlKey || event.altKey || event.metaKey) return;
    clicked = setTimeout(() => {{
      if (!canvas.isConnected) return;
      const before = links();
      tick(canvas);
      open(canvas, before, 100);
    }}, {double_click});
  }}, true);
}})();
</script>"""


def install_row_keys() -> None:
    """Once in the browser: it serves the tables of all pages that are shown later."""
    names = {"links": LINKS, "ticks": TICKS, "opens": OPENS}
    pixels = {"head": HEAD, "boxes": BOXES, "double_click": DOUBLE_CLICK_MS, "tick_wait": TICK_WAIT_MS}
    st.html(SCRIPT.format(**names, **pixels), unsafe_allow_javascript=True)


def create_tickable(key: str) -> DeltaGenerator:
    """A container for a table whose rows Space ticks."""
    return st.container(key=f"{TICKS}-{key}")


def create_openable(key: str) -> DeltaGenerator:
    """A container for a table whose rows Space ticks, and Enter or a click opens."""
    return st.container(key=f"{OPENS}-{key}")


def show_openable(
    rows: Sequence[Mapping[str, Any]],
    titles: Mapping[str, str],
    alt: str,
    page: Path,
    selections: Sequence[Mapping[str, str]],
    *,
    key: str,
    visible: int,
    widths: Mapping[str, Width] | None = None,
    config: Mapping[str, Any] | None = None,
) -> None:
    """A table whose rows open a page, each with its selection; `titles`, `widths` and `config` are by field.

    `config` draws some columns in another way."""
    with create_openable(key):
        event: Any = st.dataframe(
            title_cells(rows, titles),
            hide_index=True,
            alt=alt,
            key=key,
            on_select="rerun",
            selection_mode="single-row",
            height=height_of(rows, visible),
            column_config=configure_columns(rows, titles, widths or {})
            | {titles[field]: drawn for field, drawn in (config or {}).items()},
            placeholder=MISSING,
        )
    # A selection outlives its rows: a filter may leave fewer of them than were there when one was ticked.
    for index in event["selection"]["rows"][:1]:
        if index < len(selections):
            open_page(page, selections[index])
