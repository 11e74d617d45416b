"""The leaderboard on a wall screen (`tv=1`): large type, no controls, refreshed by itself."""

from collections.abc import Mapping, Sequence

import streamlit as st

from aisbench_core.base.formats import MISSING, clipped, nodes_and_cards, number
from aisbench_core.warehouse.values.boards import BenchmarkBoard, describe_hardware
from aisbench_core.warehouse.values.compared import RunDot
from aisbench_core.warehouse.values.histories import TrendVerdict
from aisbench_core.warehouse.values.runs import BoardQuery
from pages._ui.leaderboard.block_columns import band_of, format_relation, framework_of, interval_text, rank_cells
from pages._ui.leaderboard.blocks import BLOCKS, benchmark_title
from pages._ui.leaderboard.changes import CHANGES, change_text, changes_of, trends_of
from pages._ui.runs.target import row_note
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


def show_tv(query: BoardQuery) -> None:
    """The first benchmarks of the query, each with its best configurations."""
    st.html(_STYLE)
    st.fragment(_draw_board, run_every=SECONDS)(query)


def _draw_board(query: BoardQuery) -> None:
    with errors_shown():
        page = run_cached(core().warehouse.benchmarks, query, ROWS)
        fingerprints = tuple(block.rows[0].fingerprint for block in page.rows)
        parameters = run_cached(core().warehouse.distinctions, query.region, fingerprints, rehearsal=page.rehearsal)
        if not page.rows:
            st.info(t("board.no_match"), icon=":material/search:")
        rows = tuple(row for block in page.rows for row in block.rows)
        newest = run_cached(core().warehouse.newest_dots, query, rows, NEWEST)
        changes = changes_of(rows, trends_of(query))
        for block in page.rows:
            st.markdown(benchmark_title(block, parameters))
            _show_block(block, newest, changes)
        hidden = max(0, page.total - BLOCKS)
        notes = [t("home.updated", at=format_time(core().clock(), "%H:%M:%S"))]
        st.caption(" · ".join([*notes, *([t("board.more_benchmarks", count=hidden)] if hidden else [])]))


def _show_block(
    block: BenchmarkBoard, newest: Mapping[str, Sequence[RunDot]], changes: Mapping[str, TrendVerdict]
) -> None:
    same_framework = framework_of(block.rows)
    has_notes = any(map(row_note, block.rows))
    cells = [
        {
            t("board.rank"): f":{band_of(rank)}-badge[{escape_markdown(rank)}]",
            t("board.flavor"): escape_markdown(describe_hardware(row)),
            t("board.block_size"): nodes_and_cards(row.node_count, row.cards_per_node),
            t("board.version"): escape_markdown(
                clipped(row.framework_version if same_framework else f"{row.framework} {row.framework_version}")
            ),
            t("board.block_median"): f"**{number(row.throughput)}**",
            t("board.relation"): format_relation(row, block.rows[0]),
            t("board.block_change"): _format_badge(changes.get(row.latest_run_id)),
            t("board.interval"): interval_text(row),
            t("board.block_runs"): str(row.runs),
            **(
                {t("board.note"): f":red-badge[{escape_markdown(row_note(row))}]" if row_note(row) else ""}
                if has_notes
                else {}
            ),
            t("board.block_trend"): format_sparkline([dot.throughput for dot in newest[row.latest_run_id]]),
        }
        for row, rank in zip(block.rows, rank_cells(block.rows), strict=True)
    ]
    st.table(cells, hide_index=True)


def _format_badge(found: TrendVerdict | None) -> str:
    return f":{CHANGES[found.verdict.outcome][1]}-badge[{escape_markdown(change_text(found))}]" if found else MISSING


def format_sparkline(values: Sequence[float]) -> str:
    """Values as letters of different height, the least one as the lowest; of less than two there is no line."""
    least, most = min(values, default=0.0), max(values, default=0.0)
    if len(values) < 2:
        return MISSING
    steps = len(BARS) - 1
    return "".join(BARS[round(steps * (value - least) / (most - least)) if most > least else 0] for value in values)
