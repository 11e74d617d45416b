"""History: one question on one hardware over time; versions, changes, and whether the newest runs are worse."""

import streamlit as st

from pages._ui.history.baselines import show_baseline
from pages._ui.history.choice import choose_group, choose_history_query, choose_metric, selected_history
from pages._ui.history.results import show_changes, show_chart, show_history_runs, show_regression, show_tests
from pages._ui.leaderboard.board import choose_kind, show_kind
from pages._ui.shell import saved_views
from pages._ui.shell.core import asked, core
from pages._ui.shell.empty_warehouse import show_unrecorded
from pages._ui.shell.navigation import HISTORY
from pages._ui.shell.words import words

t = words()
saved_views.show_title(HISTORY, t("history.title"))
regions = asked(core().warehouse.regions)
if not regions:
    show_unrecorded()

kind = choose_kind(regions)
query = choose_history_query(kind)
show_kind(kind)
group = choose_group(query)
saved_views.show_missing()
if group is None:
    st.stop()

history = selected_history(group)
show_regression(history)
metric = choose_metric(history)
if metric is not None:
    show_chart(history, metric)
show_tests(history)
if metric is not None:
    show_changes(metric)
    show_history_runs(history, metric)
show_baseline(history)
