"""The leaderboard on a wall screen (`tv=1`): large type, no controls, refreshed by itself."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from aisbench_core.base.formats import MISSING, clip_text, format_number
from aisbench_core.warehouse.values.runs import BoardQuery
from pages._ui.leaderboard.block_columns import block_cells
from pages._ui.leaderboard.blocks import BLOCKS, benchmark_name, benchmark_title
from pages._ui.leaderboard.changes import COLOURS, changes_of, trends_of
from pages._ui.leaderboard.columns import Cells, find_head, find_present
from pages._ui.leaderboard.sizes import SizeTab
from pages._ui.shell.core import core, run_cached
from pages._ui.shell.errors import errors_shown, escape_markdown
from pages._ui.shell.formats import format_time
from pages._ui.shell.words import t

SECONDS = 30  # between refreshes
NEWEST = 12  # runs of a sparkline
BARS = "▁▂▃▄▅▆▇█"  # letters, unlike drawings, grow with the type
ROWS = 5  # of each benchmark: more cannot be read from across a room

# Real HTML tables follow the size of the page's type, and that the screen: 24 px at a width of 1920. Tables that can
# be sorted are drawn at a fixed size. The filters are still there, because they read the address, but nobody sees them.
CONTROLS = "tv-controls"
_STYLE = f"""<style>
    html {{ font-size: max(14px, 1.25vw); }}
    div[data-testid="stMainBlockContainer"] {{ padding: 1rem 2rem; }}
    [data-testid="stTable"] :is(td, th) {{ font-size: 1rem; white-space: nowrap; }}
    [data-testid="stSidebar"], [data-testid="stHeader"], [data-testid="stExpandSidebarButton"], .st-key-{CONTROLS} {{
        display: none;
    }}
</style>"""


def is_tv() -> bool:
    """Whether the address asks for a wall screen."""
    return st.query_params.get("tv") == "1"


def show_tv(query: BoardQuery, tab: SizeTab) -> None:
    """The first benchmarks of the query, each with its best configurations."""
    st.html(_STYLE)
    st.fragment(_draw_board, run_every=SECONDS)(query, tab)


def _draw_board(query: BoardQuery, tab: SizeTab) -> None:
    with errors_shown():
        page = run_cached(core().warehouse.board.list_benchmarks, query, ROWS, per_card=tab.per_card)
        fingerprints = tuple(block.rows[0].fingerprint for block in page.rows)
        parameters = run_cached(
            core().warehouse.board.find_distinctions, query.region, fingerprints, rehearsal=page.rehearsal
        )
        if not page.rows:
            st.info(t("board.no_match"), icon=":material/search:")
        rows = tuple(row for block in page.rows for row in block.rows)
        newest = run_cached(core().warehouse.board.list_newest_dots, query, rows, NEWEST)
        changes = changes_of(rows, trends_of(query))
        for block in page.rows:
            st.markdown(benchmark_title(block, benchmark_name(block, parameters), tab))
            _show_block(block_cells(block.rows, newest, changes, per_card=tab.per_card))
        hidden = max(0, page.total - BLOCKS)
        notes = [t("home.updated", at=format_time(core().clock(), "%H:%M:%S"))]
        st.caption(" · ".join([*notes, *([t("board.more_benchmarks", count=hidden)] if hidden else [])]))


def _show_block(cells: Sequence[Cells]) -> None:
    present = {*find_present(cells, COLUMNS), "change"}  # a board whose columns come and go is hard to read
    table = [
        {find_head(name): mark(row.get(name)) for name, mark in COLUMNS.items() if name in present} for row in cells
    ]
    st.table(table, hide_index=True)


def _mark_change(texts: Sequence[str] | None) -> str:
    return f":{COLOURS[texts[0][0]]}-badge[{escape_markdown(texts[0])}]" if texts else MISSING


def _mark_note(note: str | None) -> str:
    return f":red-badge[{escape_markdown(note)}]" if note else ""


def format_sparkline(values: Sequence[float]) -> str:
    """Values as letters of different height, the least one as the lowest; of less than two there is no line."""
    least, most = min(values, default=0.0), max(values, default=0.0)
    if len(values) < 2:
        return MISSING
    steps = len(BARS) - 1
    return "".join(BARS[round(steps * (value - least) / (most - least)) if most > least else 0] for value in values)


# The columns, and how each is written in Markdown.
COLUMNS: Mapping[str, Callable[[Any], str]] = {
    "rank": lambda rank: f":gray-badge[{escape_markdown(rank)}]",
    "flavor": escape_markdown,
    "size": str,
    "version": lambda version: escape_markdown(clip_text(version)),
    "throughput": lambda value: f"**{format_number(value)}**",
    "relation": str,
    "change": _mark_change,
    "interval": str,
    "runs": str,
    "note": _mark_note,
    "trend": format_sparkline,
}
