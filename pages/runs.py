"""Runs: active runs first, then the ended ones, page by page."""

import streamlit as st

from aisbench_core.model import ACTIVE, TERMINAL, RunSort
from pages._ui.cards.run_cards import show_stop_dialog
from pages._ui.configure.drafts import MINE
from pages._ui.runs import run_list
from pages._ui.shell.core import core, ledger_answer
from pages._ui.shell.listing import choose_sort, choose_text
from pages._ui.shell.navigation import CONFIGURE, REGION, link_page
from pages._ui.shell.status import create_heading, title_tab
from pages._ui.shell.words import t

create_heading().title(t("runs.title"))
with st.container(horizontal=True, vertical_alignment="bottom"):
    text = choose_text(t("runs.filter"), t("runs.search"))
    sort, descending = choose_sort(list(RunSort), RunSort.LAUNCHED)
    link_page(CONFIGURE, t("runs.new"), {"draft": MINE})

# Before anything is drawn: what changes while the page is drawn is noticed, too.
state = run_list.state_of_list(text, sort, descending)
active, ended = (ledger_answer(core().ledger.count, states, text) for states in (ACTIVE, TERMINAL))
title_tab(f"▶ {active:,} {t('runs.title')}" if active else t("runs.title"))
st.header(t("runs.active", count=f"{active:,}"))
shown = run_list.show_active(text, sort, descending, active)
st.header(t("runs.ended", count=f"{ended:,}"))
run_list.show_ended(text, sort, descending, ended, shown)
link_page(REGION, t("jobs.title"), {"show": "jobs"})
run_list.watch_list(state, text, sort, descending)
show_stop_dialog()
