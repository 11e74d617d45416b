"""Which runs the Spending page adds up; the URL has all of it."""

from collections.abc import Sequence
from datetime import date

import streamlit as st

from aisbench_core.warehouse.values.spending import SpendingBy, SpendingFacets, SpendingQuery
from pages._ui.shell import url
from pages._ui.shell.filters import filter_by
from pages._ui.shell.words import t

FILTERS = ("person", "workload", "profile")
MOST_ROWS = 200  # a table of more is for a spreadsheet

MONTH = "%Y-%m"


def choose_query(facets: SpendingFacets) -> SpendingQuery:
    """What a row is about, the months, and behind a button the other filters."""
    by = url.choose_option(
        st.selectbox, "by", t("spending.by"), SpendingBy, lambda each: t(f"spending.by_{each}"), width=200
    )
    first = _choose_month("from", t("spending.first"), facets.months)
    last = _choose_month("to", t("spending.last"), facets.months)
    with st.popover(t("board.filters"), icon=":material/filter_alt:"):
        people, workloads, profiles = (
            filter_by(name, options)
            for name, options in zip(FILTERS, (facets.people, facets.workloads, facets.profiles), strict=True)
        )
    return SpendingQuery(by, first, last, people, workloads, profiles, MOST_ROWS)


def _choose_month(key: str, label: str, months: Sequence[date]) -> date | None:
    by_name = {month.strftime(MONTH): month for month in months}
    name = url.choose_option(
        st.selectbox, key, label, ["", *by_name], lambda name: name or t("spending.every"), width=150
    )
    return by_name.get(name)
