"""The priority of a run that waits in a dedicated pool."""

import streamlit as st

from aisbench_core.model import Run
from pages._ui.shell.core import actor, core, is_allowed
from pages._ui.shell.errors import errors_shown, escape_markdown
from pages._ui.shell.words import t

PRIORITIES = (1, 2, 3)


def show_priority(run: Run) -> None:
    """A choice behind a button. What the job has now is known to the region only: its spec says how it was launched."""
    if not is_allowed("Jobs.set_priority", run.created_by):
        return
    with st.popover(t("priority.title"), icon=":material/low_priority:"):
        st.caption(t("priority.about", launched=run.spec.priority))
        chosen = st.radio(t("field.priority"), PRIORITIES, index=run.spec.priority - 1, horizontal=True, key="priority")
        if st.button(t("priority.set"), key="priority-set", type="primary"):
            with errors_shown():
                core().jobs.set_priority(run.run_id, chosen, actor())
                st.success(escape_markdown(t("priority.done", priority=chosen)))
