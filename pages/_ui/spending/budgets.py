"""Budgets on the Spending page: how much of each is used, as bars, and for admins the form that sets one."""

import streamlit as st

from aisbench_core.base.formats import format_money
from aisbench_core.domain.authoring.number_ranges import range_of
from aisbench_core.model import Budget, BudgetScope, BudgetUse, StoredBudget
from pages._ui.shell import numbers
from pages._ui.shell.core import actor, core, is_allowed, ledger_answer
from pages._ui.shell.errors import escape_markdown
from pages._ui.shell.outcomes import report_outcome, show_outcome
from pages._ui.shell.words import t

OUTCOME = "budget-outcome"
SHOWN = 30
AMOUNT = range_of(Budget.model_fields["amount"])
FIELDS = ("scope", "name", "amount", "currency", "allow_unknown")


def show_budgets() -> None:
    """A bar for each budget and each one who uses it; without budgets only admins see the way to one."""
    show_outcome(OUTCOME)
    stored, may_save = ledger_answer(core().budgets.all), is_allowed("Budgets.save")
    if not stored and not may_save:
        return
    st.header(t("budgets.title"))
    if not stored:
        st.caption(t("budgets.none"))
    uses = core().budgets.uses()
    with st.container(key="budget-uses"):
        for use in uses[:SHOWN]:
            show_use(use)
    if len(uses) > SHOWN:
        st.caption(t("budgets.more", shown=SHOWN, count=len(uses)))
    used = {use.budget for use in uses}
    for budget in stored:
        if budget.budget not in used:
            st.caption(t("budgets.unused", budget=escape_markdown(_describe_budget(budget))))
    if not may_save:
        return
    with st.container(horizontal=True):
        with st.popover(t("budgets.set"), icon=":material/edit:"):
            _show_form()
        if stored:
            with st.popover(t("budgets.remove"), icon=":material/delete:"):
                _show_removal(stored)


def show_use(use: BudgetUse) -> None:
    """One bar: what is spent and reserved, of how much, and what is left; marked from 80 % on."""
    currency, used = use.budget.currency, use.spent + use.reserved
    amounts = {name: format_money(value, currency) for name, value in (
        ("spent", use.spent), ("reserved", use.reserved), ("amount", use.budget.amount), ("left", use.left),
    )}  # fmt: skip
    mark = ":material/warning: " if use.is_nearly_used else ""
    text = t(
        "budgets.use",
        title=escape_markdown(_format_title(use)),
        **{name: escape_markdown(text) for name, text in amounts.items()},
    )
    st.progress(min(1.0, used / use.budget.amount) if use.budget.amount else 1.0, text=mark + text)


def _format_title(use: BudgetUse) -> str:
    """Whose budget, and for which month."""
    month = [f"{use.month:%Y-%m}"] if use.month else []
    return " · ".join([f"{t(f'budgets.kind_{use.budget.scope}')} {use.subject}".strip(), *month])


def _show_form() -> None:
    with st.form("budget", border=False):
        st.selectbox(
            t("budgets.scope"),
            list(BudgetScope),
            format_func=lambda scope: t(f"budgets.of_{scope}"),
            key="budget-scope",
        )
        st.text_input(t("budgets.name"), key="budget-name", help=t("budgets.name_help"), max_chars=100)
        numbers.show_number_field(t("budgets.amount"), AMOUNT, value="0", key="budget-amount")
        st.text_input(t("budgets.currency"), key="budget-currency", value="CNY", max_chars=12)
        st.checkbox(t("budgets.allow_unknown"), key="budget-allow_unknown", help=t("budgets.allow_unknown_help"))
        st.form_submit_button(t("budgets.save"), type="primary", on_click=_save_budget)


def _show_removal(stored: list[StoredBudget]) -> None:
    st.selectbox(t("budgets.which"), stored, format_func=_describe_budget, key="budget-removed")
    st.button(t("budgets.remove_yes"), key="budget-remove", on_click=_remove_budget)


def _describe_budget(stored: StoredBudget) -> str:
    """The name first, if it has one, and for whom and which time the amount is."""
    budget = stored.budget
    parts = (budget.name, t(f"budgets.of_{budget.scope}"), format_money(budget.amount, budget.currency))
    return " · ".join(filter(None, parts))


@report_outcome(OUTCOME)
def _save_budget() -> str:
    core().budgets.save({name: st.session_state[f"budget-{name}"] for name in FIELDS}, actor())
    return t("budgets.saved")


@report_outcome(OUTCOME)
def _remove_budget() -> str:
    budget = st.session_state["budget-removed"].budget
    core().budgets.remove(budget.scope, budget.name, budget.currency, actor())
    return t("budgets.removed")
