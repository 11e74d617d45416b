"""The leaderboard's table of single runs, with the validity of each."""

from collections.abc import Sequence

import streamlit as st

from aisbench_core.warehouse.measures.sorts import RUN_SORTS
from aisbench_core.warehouse.values.runs import BoardQuery
from pages._ui.grid.sorting import read_sorting
from pages._ui.grid.table import show_grid
from pages._ui.runs.run_actions import OUTCOME, show_actions
from pages._ui.runs.run_rows import ListedRun, build_rows, list_columns
from pages._ui.runs.validity import show_verdict_of
from pages._ui.shell.core import core
from pages._ui.shell.listing import page_of, show_pages
from pages._ui.shell.outcomes import show_outcome
from pages._ui.shell.words import t

KEY = "single-runs"  # of the table
VISIBLE = 25  # rows that are visible at a time

# What fits into a window of 1280 pixels.
SINGLE_RUN_COLUMNS = (
    *("run", "model", "version", "hardware", "size", "throughput", "per_card", "accuracy", "by", "launched", "status"),
)
TEXTS = ("model", "workload", "framework_version", "flavor", "created_by", "run_id", "validity", "state")


def show_single_runs(query: BoardQuery, keys: Sequence[str]) -> bool:
    """Every run by itself, the newest first; returns whether any is ticked."""
    page = page_of(core().warehouse.runs.list_rows, query)
    if not page.rows:
        st.info(t("board.no_match"), icon=":material/search:")
        return False
    listed = [ListedRun(row, row.run_id, row, row.tags) for row in page.rows]
    columns, rows = list_columns(listed, keys), build_rows(listed, keys, marks_rehearsals=False)
    sorting = read_sorting(RUN_SORTS, "created_at", texts=TEXTS)
    title = t("board.run_table")
    ticked = show_grid(columns, rows, title, key=KEY, is_tickable=True, sorting=sorting, visible=VISIBLE)
    show_pages(page.total, query.limit)
    if len(ticked) == 1:
        show_verdict_of(next(row for row in page.rows if row.run_id == ticked[0]))
    show_outcome(OUTCOME)
    show_actions(KEY, ticked)
    return bool(ticked)
