"""What can be done with a run, at the end of its title: what people mostly want as buttons, the rest in a menu."""

import streamlit as st

from aisbench_core.model import Run, RunState
from pages._ui.cards import run_cards as cards
from pages._ui.configure.clones import show_clone_button
from pages._ui.runs import cleaning, deleting, reproduce
from pages._ui.runs.priority import show_priority
from pages._ui.runs.system_form import show_system
from pages._ui.shell import navigation
from pages._ui.shell.evidence import show_bundle_button
from pages._ui.shell.navigation import link_page
from pages._ui.shell.words import t


def show_run_actions(run: Run, *, is_deleted: bool) -> None:
    """Of a run in the ledger."""
    if is_deleted:
        show_clone_button(run.run_id, key="one")
        return
    cards.show_stop(run, key="one")
    if run.waits_in_pool:
        show_priority(run)
    if run.state.is_terminal:
        is_completed = run.state is RunState.COMPLETED
        reproduce.show_reproduce_button(run.run_id, is_primary=is_completed)
        link_page(navigation.COMPARE, t("live.go_compare"), {"ids": [run.run_id]})
    with st.popover(t("run.more"), icon=":material/more_horiz:", key="run-more"):
        cards.show_collect_again(run, key="one")
        show_clone_button(run.run_id, key="one")
        if run.state.is_terminal:
            show_bundle_button(lambda: [run.run_id], "run")
            cleaning.show_clean_button(run)
            deleting.show_delete_button([run.run_id], key="one")
        show_system(run)
        if run.series_id:
            link_page(navigation.SERIES, t("series.of_run", cell=run.series_index), {"series": run.series_id})
        link_page(navigation.LIVE, t("live.all"), {})
