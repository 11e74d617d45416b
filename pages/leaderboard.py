"""Leaderboard: configurations, or single runs, ranked by throughput, one region at a time, with filters and export."""

import streamlit as st

from pages._ui.leaderboard import board
from pages._ui.runs.validity import choose_ruleset, show_rulesets
from pages._ui.shell import saved_views
from pages._ui.shell.downloads import show_results_export
from pages._ui.shell.empty_warehouse import recorded_regions
from pages._ui.shell.filters import choose_region, show_rehearsal
from pages._ui.shell.navigation import LEADERBOARD
from pages._ui.shell.words import t

saved_views.show_title(LEADERBOARD, t("board.title"))
regions = recorded_regions()
with st.container(horizontal=True):
    region = choose_region(regions)
    ruleset_id = choose_ruleset()
    view = board.choose_view()
query = board.choose_board_query(region, ruleset_id)
saved_views.show_missing()
show_rehearsal(region)
if view == "runs":
    query = board.choose_validity(query)
    board.show_run_table(query)
else:
    board.show_groups(query)
show_rulesets(query)
show_results_export(query)
