"""Leaderboard: configurations, or single runs, ranked by throughput in each benchmark, with filters and export."""

from dataclasses import replace

import streamlit as st

from pages._ui.empty_warehouse import recorded_regions
from pages._ui.leaderboard import blocks, board, changes, single_runs, sizes, tv
from pages._ui.pictures import Picture
from pages._ui.runs.conditions import show_conditions
from pages._ui.runs.validity import show_rulesets
from pages._ui.shell import saved_views
from pages._ui.shell.core import core
from pages._ui.shell.downloads import show_results_export
from pages._ui.shell.errors import end_page, escape_markdown
from pages._ui.shell.filters import choose_region, filter_bar, show_active_filters, show_dispute, show_rehearsal
from pages._ui.shell.navigation import INFERENCE, LEADERBOARD, link_page
from pages._ui.shell.status import watch_results
from pages._ui.shell.words import t

if tv.is_tv():
    title = st.empty()
    with st.container(key=tv.CONTROLS):
        region = choose_region(recorded_regions(Picture.LEADERBOARD))
        query = board.choose_board_query(region, "blocks")
    title.title(f"{t('board.title')} · {escape_markdown(region.region)}")
    show_rehearsal(region)
    tab = sizes.read_tab()
    tv.show_tv(replace(tab.narrow(query), limit=blocks.BLOCKS), tab)
    end_page()
actions = saved_views.show_title(LEADERBOARD, t("board.title"))
drawn = core().warehouse.revision()
regions = recorded_regions(Picture.LEADERBOARD)
with filter_bar():
    region = choose_region(regions, width=250, label_visibility="collapsed")
    view = board.choose_view()
    query = board.choose_board_query(region, view)
filters = board.list_filters(view, query)
show_active_filters(*filters)
show_dispute(query)
show_conditions(query.where)
tab = sizes.choose_tab(query, filters) if view == "blocks" else sizes.SizeTab()
with actions:
    names = board.choose_board_columns(view, query)
    show_results_export(query)  # of all tabs: the first one is no filter that somebody chose
query = tab.narrow(query)
saved_views.show_missing()
show_rehearsal(region)
if view == "blocks":
    ticked = blocks.show_blocks(replace(query, limit=blocks.BLOCKS), names, tab)
else:
    ticked = single_runs.show_single_runs(query, names) if view == "runs" else board.show_groups(query, names)
show_rulesets(query)
watch_results(drawn, ticked=ticked)
if view != "runs":
    changes.complete_changes(query)
link_page(INFERENCE, t("menu.inference"), {})
