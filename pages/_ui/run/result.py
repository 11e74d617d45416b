"""The result of an ended run, and where it can be compared."""

import streamlit as st

from aisbench_core.warehouse.values.runs import RunRow
from pages._ui.runs.recorded import board_selection, show_details, show_measured
from pages._ui.runs.validity import show_validity_badge
from pages._ui.shell import navigation
from pages._ui.shell.navigation import link_page
from pages._ui.shell.words import t


def show_run_outcome(recorded: RunRow | None) -> None:
    """What was measured, and what it is worth."""
    if recorded is None:
        st.caption(t("live.not_recorded"))
        return
    if recorded.throughput is None:
        show_validity_badge(recorded.validity)
    else:
        show_measured(recorded)
    show_details(recorded)
    with st.container(horizontal=True):
        link_page(navigation.LEADERBOARD, t("live.go_leaderboard"), board_selection(recorded))
        link_page(navigation.COMPARE, t("live.go_compare"), {"ids": [recorded.run_id]})
