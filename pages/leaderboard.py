"""Leaderboard: one region at a time; who is fastest, run by run if wanted, and everything as a file."""

import streamlit as st

from pages._ui.leaderboard.board import (
    choose_board_query,
    choose_kind,
    choose_view,
    choose_worth,
    show_groups,
    show_kind,
    show_run_table,
)
from pages._ui.runs.validity import choose_ruleset, show_judged_by
from pages._ui.shell import saved_views
from pages._ui.shell.core import asked, core
from pages._ui.shell.downloads import show_results_export
from pages._ui.shell.empty_warehouse import show_unrecorded
from pages._ui.shell.navigation import LEADERBOARD
from pages._ui.shell.words import words

t = words()
saved_views.show_title(LEADERBOARD, t("board.title"))
regions = asked(core().warehouse.regions)
if not regions:
    show_unrecorded()

with st.container(horizontal=True):
    kind = choose_kind(regions)
    ruleset_id = choose_ruleset()
    view = choose_view()
query = choose_board_query(kind, ruleset_id)
saved_views.show_missing()
show_kind(kind)
if view == "runs":
    query = choose_worth(query)
    show_run_table(query)
else:
    show_groups(query)
show_judged_by(query)
show_results_export(query)
