"""Every active run on one page, which updates itself while there are any."""

import streamlit as st

from aisbench_core.model import Run
from pages._ui.cards import run_cards as cards
from pages._ui.cards.job_details import job_details, show_alert, show_queue
from pages._ui.shell import navigation
from pages._ui.shell.core import core, is_allowed, ledger_answer
from pages._ui.shell.errors import errors_shown, escape_markdown
from pages._ui.shell.formats import format_time
from pages._ui.shell.navigation import link_page
from pages._ui.shell.words import t

SECONDS = 2.5


def follow_all() -> None:
    """Every active run, kept up to date."""
    active = bool(ledger_answer(core().ledger.active))
    st.fragment(_all_runs, run_every=SECONDS if active else None)(active)


def _all_runs(was_active: bool) -> None:
    with errors_shown():
        runs = ledger_answer(core().ledger.active)
        if was_active and not runs:
            st.rerun()
        if not runs:
            st.info(t("live.nothing"), icon=":material/bedtime:")
            with st.container(horizontal=True):
                if is_allowed("Runs.launch"):
                    navigation.link_main_page(navigation.CONFIGURE, t("menu.configure"), {})
                link_page(navigation.RUNS, t("live.go_runs"), {})
        titles = cards.run_titles(runs)
        for run in runs:
            with st.container(border=True, key=f"run-{run.run_id}"):
                with st.container(horizontal=True, vertical_alignment="center"):
                    cards.state_badge(run)
                    link_page(navigation.LIVE, escape_markdown(titles[run.run_id]), {"run": run.run_id})
                st.caption(f"{escape_markdown(_describe_run(run))} · {cards.started_text(run)}")
                details = job_details(run.run_id)
                show_alert(run, details)
                cards.show_line(run, ledger_answer(core().ledger.progress, run.run_id))
                cards.show_detail(run)
                show_queue(run, details)
        if runs:
            # When the list was drawn last, so that one sees that it still updates.
            st.caption(t("live.updated", at=format_time(core().clock(), "%H:%M:%S")))


def _describe_run(run: Run) -> str:
    """Where it is; a run that people gave a name says what it is, too."""
    return cards.run_facts(run) if core().annotations.of(run.run_id).name else run.profile
