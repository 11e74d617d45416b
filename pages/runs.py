"""Launch & stop: active runs first, then the ended ones, page by page."""

import streamlit as st

from aisbench_core.model import ACTIVE, TERMINAL, RunSort
from pages._ui.configure.drafts import MINE
from pages._ui.runs.cards import ask_before_stopping
from pages._ui.runs.region_jobs import ask_before_stopping_a_job, show_region_jobs
from pages._ui.runs.run_list import show_active, show_ended, state_of_list, watch_list
from pages._ui.shell import address
from pages._ui.shell.core import core
from pages._ui.shell.listing import choose_sort
from pages._ui.shell.navigation import CONFIGURE, link
from pages._ui.shell.words import words

t = words()
ledger = core().ledger
st.title(t("runs.title"))
with st.container(horizontal=True, vertical_alignment="bottom"):
    text = st.text_input(
        t("runs.filter"),
        placeholder=t("runs.search"),
        live=True,
        type="search",
        width=300,
        **address.text_in_url("q", forgets=["page"]),
    )
    sort, descending = choose_sort(list(RunSort), RunSort.LAUNCHED)
    link(CONFIGURE, t("runs.new"), {"draft": MINE})

before = state_of_list(text, RunSort(sort), descending)
active, ended = ledger.count(ACTIVE, text), ledger.count(TERMINAL, text)
st.header(t("runs.active", count=f"{active:,}"))
shown = show_active(text, RunSort(sort), descending, active)
st.header(t("runs.ended", count=f"{ended:,}"))
show_ended(text, RunSort(sort), descending, ended, shown)
show_region_jobs(text)
watch_list(before, text, RunSort(sort), descending)
ask_before_stopping()
ask_before_stopping_a_job()
