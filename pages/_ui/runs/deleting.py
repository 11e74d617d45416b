"""The deletion of ended runs: the question with its reason, and what the page of a deleted run says."""

from collections.abc import Sequence

import streamlit as st

from aisbench_core.model.annotation import MAX_REASON
from aisbench_core.store.ledger.deletions import Deletion
from pages._ui.shell.core import actor, core, is_allowed
from pages._ui.shell.dialogs import Dialog
from pages._ui.shell.errors import escape_markdown
from pages._ui.shell.formats import format_time
from pages._ui.shell.words import t

ICON = ":material/delete:"
DELETING = Dialog("deleting")  # about the ids of the runs to delete


def show_delete_button(run_ids: Sequence[str], *, key: str) -> None:
    """A button that opens the question, for who may delete ended runs; the page calls `show_delete_question`, too."""
    if run_ids and is_allowed("Deletions.delete") and st.button(t("delete.open"), key=f"delete-{key}", icon=ICON):
        DELETING.open(tuple(run_ids))


def show_delete_question() -> None:
    """The question that the button raised, if it did; once a page, outside fragments."""
    DELETING.show(t("delete.title"), _ask_reason)


def show_deletion(deletion: Deletion) -> None:
    """That the run was deleted, by whom, when and why."""
    facts = {"who": escape_markdown(deletion.who), "reason": escape_markdown(deletion.reason)}
    said = t("delete.said", at=format_time(deletion.at), **facts)
    st.error(said if deletion.ended_at else f"{said}  \n{t('delete.under_way')}", icon=ICON)


def _ask_reason() -> None:
    runs = [core().ledger.get(run_id) for run_id in DELETING.subject]
    names = core().run_names.of(runs)
    for run in runs:
        st.markdown(f"**{escape_markdown(f'{names[run.run_id]} · {run.run_id}')}**")
    st.markdown(t("delete.about"))
    reason = st.text_input(t("set_aside.reason"), key="delete-reason", max_chars=MAX_REASON)
    if st.button(t("delete.yes"), key="delete-yes", type="primary", icon=ICON):
        for run in runs:
            core().deletions.delete(run.run_id, reason, actor())
        DELETING.leave()
    if st.button(t("delete.no"), key="delete-no"):
        DELETING.leave()
