"""Spending: what runs cost per currency, and their node hours, by person, month, workload, profile or series."""

import streamlit as st

from pages._ui.shell.core import core, run_cached
from pages._ui.shell.filters import filter_bar, show_active_filters
from pages._ui.shell.status import create_heading
from pages._ui.shell.words import t
from pages._ui.spending import approval, budgets, choice, results

create_heading().title(t("spending.title"))
approval.show_waiting()
budgets.show_budgets()
st.header(t("spending.costs"))
facets = run_cached(core().warehouse.spending.facets)
if not facets.months:
    results.end_without_runs()
with filter_bar():
    query = choice.choose_query(facets)
show_active_filters(*choice.FILTERS)
spending = run_cached(core().warehouse.spending.of, query)
results.show_totals(spending)
results.show_months(spending)
results.show_spending(spending)
results.show_download(query)
