"""Four answers about a run on one screen: how far it is, how fast, what it costs, and whether it is healthy."""

import streamlit as st

from aisbench_core.formats import MISSING, duration, money, number
from aisbench_core.model import Run, RunState
from pages._ui.run.health import show_alerts
from pages._ui.runs import cards
from pages._ui.runs.job_details import job_details, show_queue
from pages._ui.shell.core import core, ledger_answer
from pages._ui.shell.formats import when
from pages._ui.shell.words import t


def show_answers(run: Run) -> None:
    """The state with its reason, then the four answers."""
    details = job_details(run.run_id)
    with st.container(horizontal=True, vertical_alignment="center"):
        cards.state_badge(run)
        if run.started_at and not run.state.is_terminal:
            lasted = (core().clock() - run.started_at).total_seconds()
            st.caption(t("live.started", at=when(run.started_at), lasted=duration(max(0.0, lasted))))
        if page := core().regions.job_page(run):
            st.link_button(t("job.page"), page, help=t("job.page_help"), icon=":material/open_in_new:", type="tertiary")
        if not run.state.is_terminal:
            _show_time()
    cards.show_detail(run)
    show_queue(run, details)
    show_alerts(run, details)
    cards.show_stages(run, ledger_answer(core().ledger.progress, run.run_id))
    if run.state is not RunState.STOPPED or run.started_at:
        _show_cost(run)


def _show_cost(run: Run) -> None:
    """Node hours and money so far; a rehearsal costs nothing, and an unknown price is not zero."""
    hours = run.node_hours(core().clock())
    if hours is None:
        return
    spent = core().regions.cost({(run.profile, run.spec.flavor): hours})
    amounts = [money(amount, currency) for currency, amount in spent.items()]
    left, right = st.columns(2)
    left.metric(t("run.node_hours"), number(hours, digits=3), border=True)
    right.metric(t("run.cost"), " + ".join(amounts) or MISSING, border=True, help=t("run.cost_help"))


def _show_time() -> None:
    """When the answers were drawn last, so that one sees that they still update."""
    st.caption(t("live.updated", at=when(core().clock(), "%H:%M:%S")))
