"""Launches that wait for an approval: what each costs, what is left of its budgets, and the decision."""

from collections.abc import Callable, Collection
from pathlib import Path

import streamlit as st

from aisbench_core.base.formats import format_money
from aisbench_core.model import REASON_LETTERS, Run, RunState, Series
from pages._ui.layout import LINKS
from pages._ui.shell import navigation
from pages._ui.shell.callbacks import repeat_if_aborted
from pages._ui.shell.core import Right, actor, core, ledger_answer, right_to
from pages._ui.shell.dialogs import Dialog
from pages._ui.shell.errors import escape_markdown
from pages._ui.shell.formats import format_time
from pages._ui.shell.outcomes import report_outcome, show_outcome
from pages._ui.shell.words import t
from pages._ui.spending.budgets import show_use

OUTCOME, LASTS_S = "approval-outcome", 10.0  # the pages of runs and series are drawn anew when a launch goes on
REASON = "decline-reason"
DECLINING = Dialog("declining")  # about the id of a run or a series

Decision = Callable[..., object]


def show_run_approval(run: Run) -> None:
    """Of a held run: until when it waits, what it is expected to cost, what is left of its budgets, and buttons."""
    show_outcome(OUTCOME, LASTS_S)
    if run.state is not RunState.HELD:
        return
    cost = format_money(run.expected_cost, run.currency) if run.expected_cost is not None else t("approval.unknown")
    with st.container(border=True, key="approval"):
        text = t(
            "approval.run",
            who=escape_markdown(run.created_by),
            cost=escape_markdown(cost),
            until=format_time(run.next_step_at),
        )
        st.warning(text, icon=":material/approval:")
        for use in core().approvals.uses(run):
            show_use(use)
        _show_buttons(run.run_id, {run.created_by})
    DECLINING.show(t("approval.decline_title"), _show_decline, core().approvals.decline, t("approval.decline_question"))


def show_series_approval(series: Series) -> None:
    """Of a held series: why it waits, and buttons."""
    show_outcome(OUTCOME, LASTS_S)
    if not series.held:
        return
    with st.container(border=True, key="approval"):
        reason = escape_markdown(t.message(series.held))
        st.warning(
            t("approval.series", who=escape_markdown(series.created_by), reason=reason), icon=":material/approval:"
        )
        _show_buttons(series.series_id, ledger_answer(core().approvals.requesters, series.series_id))
    consequence = t("approval.decline_series_question")
    DECLINING.show(t("approval.decline_title"), _show_decline, core().approvals.decline_series, consequence)


def show_waiting_notice() -> None:
    """How many launches wait, with the way to them; nothing if none does."""
    waiting = ledger_answer(core().approvals.list_waiting)
    count = len(waiting.runs) + len(waiting.series)
    if count:
        text = t("approval.waiting", count=count) if count > 1 else t("approval.waiting_one")
        with st.container(key=f"{LINKS}-waiting"):  # one line in a narrow window, too: what stands below does not move
            navigation.link_page(navigation.SPENDING, f":orange[{text}]", {}, icon=":material/approval:")


def show_waiting() -> None:
    """Every launch that waits, the newest first, with a link to its page, where it is decided."""
    waiting = ledger_answer(core().approvals.list_waiting)
    if not waiting.runs and not waiting.series:
        return
    st.header(t("approval.title"))
    for run in waiting.runs:
        name = f"{core().run_names.of([run])[run.run_id]} · {run.run_id}"
        _show_line(navigation.LIVE, name, {"run": run.run_id}, run.created_by, run.detail)
    for series in waiting.series:
        link = {"series": series.series_id}
        _show_line(navigation.SERIES, f"{series.title} · {series.series_id}", link, series.created_by, series.held)


def _show_line(page: Path, name: str, link: dict[str, str], who: str, reason: str) -> None:
    with st.container(border=True):
        with st.container(horizontal=True, vertical_alignment="center"):
            navigation.link_page(page, escape_markdown(name), link)
            st.caption(escape_markdown(who))
        st.markdown(escape_markdown(t.message(reason)))


def _show_buttons(subject: str, owners: Collection[str]) -> None:
    may_approve, may_decline = _find_right(owners), right_to("Approvals.decline")
    with st.container(horizontal=True):
        st.button(
            t("approval.approve"), key="approve", type="primary", icon=":material/check:", on_click=_approve_launch,
            args=(subject,), disabled=not may_approve.is_given, help=may_approve.help_text,
        )  # fmt: skip
        st.button(
            t("approval.decline"), key="decline", icon=":material/close:", on_click=DECLINING.open, args=(subject,),
            disabled=not may_decline.is_given, help=may_decline.help_text,
        )  # fmt: skip


def _find_right(owners: Collection[str]) -> Right:
    """Nobody but an admin approves a launch of one's own; the core checks the same."""
    right = right_to("Approvals.approve")
    if right.is_given and actor().name in owners and not right_to("Budgets.save").is_given:
        return Right(is_given=False, help_text=t("approval.own"))
    return right


@report_outcome(OUTCOME)
def _approve_launch(subject: str) -> str:
    approvals = core().approvals
    decide: Decision = approvals.approve_series if approvals.is_series(subject) else approvals.approve
    decide(subject, actor())
    return t("approval.approved")


def _show_decline(decide: Decision, consequence: str) -> None:
    st.markdown(consequence)
    st.text_input(t("approval.reason"), key=REASON, max_chars=REASON_LETTERS)
    st.button(
        t("approval.decline_yes"), key="decline-yes", type="primary", icon=":material/close:",
        on_click=_decline_and_close, args=(decide, DECLINING.subject),
    )  # fmt: skip


@repeat_if_aborted
def _decline_and_close(decide: Decision, subject: str) -> None:
    _report_declined(decide, subject)
    DECLINING.close()


@report_outcome(OUTCOME)
def _report_declined(decide: Decision, subject: str) -> str:
    decide(subject, st.session_state.get(REASON, ""), actor())
    return t("approval.declined")
