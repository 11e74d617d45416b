"""The table of all pages: dense rows that can be ticked, opened and sorted, with digits under digits.

A page says what stands in it and asks which rows are ticked:

    columns = [GridColumn("run", t("board.run")), GridColumn("throughput", "Samples/s", Align.RIGHT, sort="throughput")]
    cells = {"run": GridCell(name, dot=Dot(Tone.GOOD, "Completed")), "throughput": GridCell("8,000.5")}
    rows = [GridRow(run_id, name, cells, PageLink(LIVE, {"run": run_id}))]
    sorting = read_sorting(["launched", "throughput"], "launched")
    ticked = show_grid(columns, rows, t("runs.title"), key="runs", is_tickable=True, sorting=sorting)
    if ticked:
        with create_action_bar("runs", len(ticked)):
            link_page(COMPARE, t("compare.title"), {"ids": ticked})

It is an HTML table: rows are 32 pixels high, their height is known before the browser draws them, and what does not fit
in the window's width scrolls within the table. A row opens by a click, or Enter; its first cell is a link, so that it
opens in another tab as well. Arrow keys move from row to row, Space ticks (Shift with a click or an arrow: all up to
there), Esc clears. Heads sort by the URL's parameters `sort` and `order`: the page reads its rows in that order.
Cells hold text, never HTML.
"""

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import streamlit as st

from pages._ui.grid.sorting import Sorting, store_sort
from pages._ui.grid.values import GridColumn, GridRow, encode_column, encode_row
from pages._ui.shell.callbacks import repeat_if_aborted
from pages._ui.shell.navigation import open_address
from pages._ui.shell.words import t

HEAD, ROW, BELOW = 34, 32, 16  # heights in pixels, BELOW of a second line in the head
EDGE = 10  # room below the last row, for the bar that scrolls columns that do not fit


def show_grid(
    columns: Sequence[GridColumn],
    rows: Sequence[GridRow],
    name: str,
    *,
    key: str,
    is_tickable: bool = False,
    sorting: Sorting[Any] | None = None,
    visible: int = 0,
    has_head: bool = True,
) -> tuple[str, ...]:
    """Show the table, `visible` rows at a time or all of them; the ids of the rows that are ticked, in the order
    in which they were: what was ticked first is the baseline of a comparison.

    `name` describes it to those who cannot see it. Without `has_head`, only they are told what the columns are: a
    table above has the same ones."""
    state = _read_state(key)
    keys = [column.key for column in columns]
    data = {
        "name": name,
        "columns": [encode_column(column, sorting.sorts if sorting else ()) for column in columns],
        "rows": [encode_row(row, keys) for row in rows],
        "tickable": is_tickable,
        "sorted": {"by": sorting.by, "down": sorting.is_descending} if sorting else None,
        "ticked": state["ids"],
        "cleared": st.session_state.get(_cleared_slot(key), 0),
        "scrolls": 0 < visible < len(rows),
        "headless": not has_head,
        "words": {"tick": t("grid.tick", name="{name}"), "all": t("grid.tick_all")},
    }
    result = _build_component()(
        key=_widget_key(key),
        data=data,
        height=_measure_table(columns, min(len(rows), visible or len(rows)), has_head=has_head),
        on_ticked_change=_keep_state,
        on_opened_change=_keep_state,
        on_sorted_change=partial(_sort_rows, key, sorting),
    )
    if result.opened:
        open_address(result.opened["page"], result.opened["parameters"])
    shown = {row.id for row in rows}
    return tuple(row_id for row_id in _read_state(key)["ids"] if row_id in shown)


def grid_height(rows: int) -> int:
    """Pixels of a table of so many rows."""
    return HEAD + rows * ROW + EDGE


def _measure_table(columns: Sequence[GridColumn], rows: int, *, has_head: bool) -> int:
    below = BELOW if any(column.below for column in columns) else 0
    return grid_height(rows) + (below if has_head else -HEAD)


def clear_ticks(key: str) -> None:
    """Tick no row any more, for callbacks and actions that are done."""
    st.session_state[_cleared_slot(key)] = _read_state(key)["at"]


@cache
def _build_component() -> Callable[..., Any]:
    script = "export default drawn => globalThis.drawGrid(drawn);"
    return st.components.v2.component("aisbench_grid", js=script, isolate_styles=False)


def _read_state(key: str) -> dict[str, Any]:
    """What was ticked last, and when; nothing if it was cleared since."""
    ticked = dict(st.session_state.get(_widget_key(key)) or {}).get("ticked") or {"ids": [], "at": 0}
    is_cleared = ticked["at"] <= st.session_state.get(_cleared_slot(key), 0)
    return {"ids": [] if is_cleared else ticked["ids"], "at": ticked["at"]}


def _keep_state() -> None:
    """Streamlit keeps what is ticked; without a callback it would not know of it."""


@repeat_if_aborted
def _sort_rows(key: str, sorting: Sorting[Any] | None) -> None:
    if sorting:
        store_sort(sorting, str(dict(st.session_state[_widget_key(key)]).get("sorted", "")))


def _widget_key(key: str) -> str:
    return f"grid-{key}"


def _cleared_slot(key: str) -> str:
    return f"grid.cleared.{key}"
