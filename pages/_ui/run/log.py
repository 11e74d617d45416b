"""The log of a run's nodes."""

import streamlit as st

from aisbench_core.model import Run
from pages._ui.shell import url
from pages._ui.shell.core import core
from pages._ui.shell.errors import errors_shown
from pages._ui.shell.words import t

SECONDS = 2.5
LINES = 200


def show_log(run: Run) -> None:
    """The end of one node's log; it follows the log while the run is under way."""
    st.header(t("live.log"))
    node = 0
    if run.spec.node_count > 1:
        node = url.choice(st.selectbox, "node", t("live.node"), range(run.spec.node_count), width=220)
    st.fragment(_tail, run_every=None if run.state.is_terminal else SECONDS)(run.run_id, node)


def _tail(run_id: str, node: int) -> None:
    with errors_shown():
        text = core().files.log_tail(run_id, node, LINES)
        if not text:
            st.caption(t("live.no_log", node=node))
            return
        with st.container(height=360, autoscroll=True):
            st.code(text, language=None, wrap_lines=True)
        st.caption(t("live.log_tail", lines=LINES, node=node))
