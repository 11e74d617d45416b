"""Leaderboard: configurations, or single runs, ranked by throughput in each benchmark, with filters and export."""

from dataclasses import replace

import streamlit as st

from pages._ui.leaderboard import block_columns, blocks, board, tv
from pages._ui.runs.validity import show_rulesets
from pages._ui.shell import saved_views
from pages._ui.shell.core import core
from pages._ui.shell.downloads import show_results_export
from pages._ui.shell.empty_warehouse import recorded_regions
from pages._ui.shell.errors import end_page
from pages._ui.shell.filters import choose_region, show_rehearsal
from pages._ui.shell.navigation import LEADERBOARD
from pages._ui.shell.status import watch_results
from pages._ui.shell.words import t

if tv.is_tv():
    st.title(t("board.title"))
    with st.container(key=tv.CONTROLS):
        region = choose_region(recorded_regions())
        query = board.choose_board_query(region, "blocks")
    show_rehearsal(region)
    tv.show_tv(replace(query, limit=blocks.BLOCKS))
    end_page()
saved_views.show_title(LEADERBOARD, t("board.title"))
drawn = core().warehouse.revision()
regions = recorded_regions()
# One line in a window of 1280 pixels, so that the first rows stand above the fold: what is chosen labels each control.
with st.container(horizontal=True, vertical_alignment="bottom", gap="xsmall", key="filter-bar"):
    region = choose_region(regions, width=215, label_visibility="collapsed")
    view = board.choose_view()
    query = board.choose_board_query(region, view)
    names = block_columns.choose_columns(query) if view == "blocks" else []
board.show_active_filters()
saved_views.show_missing()
show_rehearsal(region)
if view == "blocks":
    ticked = blocks.show_blocks(replace(query, limit=blocks.BLOCKS), names)
else:
    ticked = board.show_run_table(query) if view == "runs" else board.show_groups(query)
show_rulesets(query)
show_results_export(query)
watch_results(drawn, ticked=ticked)
