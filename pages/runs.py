"""Runs: pinned runs first, then the active ones, then the ended ones, page by page in one table."""

import streamlit as st

from aisbench_core.model import ACTIVE, RunSort
from pages._ui.configure.drafts import MINE
from pages._ui.grid.sorting import read_sorting
from pages._ui.runs import run_list
from pages._ui.runs.run_actions import OUTCOME, show_actions, show_questions
from pages._ui.runs.run_filters import PARTS, ListPart, choose_filters, show_filters
from pages._ui.runs.run_rows import choose_run_columns
from pages._ui.shell import saved_views, url
from pages._ui.shell.core import is_allowed
from pages._ui.shell.downloads import show_runs_export
from pages._ui.shell.navigation import CONFIGURE, REGION, RUNS, link_main_page, link_page
from pages._ui.shell.outcomes import show_outcome
from pages._ui.shell.status import title_tab
from pages._ui.shell.words import t

actions = saved_views.show_title(RUNS, t("runs.title"))
badge = actions.empty()
with st.container(horizontal=True, vertical_alignment="center"):
    choice = choose_filters()
    keys = choose_run_columns()
    with st.container(horizontal=True, vertical_alignment="center", width="content", key="tools-runs"):
        link_page(REGION, t("jobs.title"), {"show": "jobs"})
        if is_allowed("Runs.launch"):
            link_main_page(CONFIGURE, t("menu.configure"), {"draft": MINE})
with actions:
    show_runs_export(choice.list_ids)
show_filters(choice)
saved_views.show_missing()
sorting = read_sorting(list(RunSort), RunSort.LAUNCHED, texts=[RunSort.WORKLOAD, RunSort.STATE, RunSort.BY, RunSort.ID])

# Before anything is drawn: what changes while the page is drawn is noticed, too.
state = run_list.state_of_list(choice, sorting)
counts = [choice.count(part) for part in PARTS]
active = choice.count(ListPart(ACTIVE))
title_tab(f"▶ {active:,} {t('runs.title')}" if active else t("runs.title"))
if active:
    badge.badge(t("runs.running", count=f"{active:,}"), color="blue")
show_outcome(OUTCOME)
if any(counts):
    runs = run_list.read_runs(choice, sorting, counts)
    ticked = run_list.show_runs(runs, keys, sorting, is_deleted=choice.is_deleted)
    show_actions(run_list.KEY, [run.run_id for run in ticked], ticked)
    pages = url.Pages("page", sum(counts), run_list.PAGE)
    pages.show()
else:
    run_list.show_empty(choice)
run_list.watch_list(state, choice, sorting)
show_questions()
