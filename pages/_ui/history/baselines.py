"""The baseline of a group: what its newest runs are compared with until somebody marks another one."""

import streamlit as st

from aisbench_core.base.formats import shorten_hash
from aisbench_core.warehouse.values.histories import History
from pages._ui.shell.core import actor, core, is_allowed
from pages._ui.shell.errors import errors_shown, escape_markdown
from pages._ui.shell.formats import format_time
from pages._ui.shell.words import t


def show_baseline(history: History) -> None:
    """The group's mark, and how to set and unset it."""
    st.header(t("history.baseline_of_group"))
    mark = history.row.baseline
    if mark:
        names = ", ".join(escape_markdown(shorten_hash(name)) for name in mark.names)
        kind = t.field(mark.field) if mark.field else t("history.single_runs")
        at, who = format_time(mark.marked_at), escape_markdown(mark.marked_by)
        st.markdown(t("history.marked", what=kind, names=names, who=who, at=at))
    else:
        st.markdown(t("history.not_marked"))
    first_runs: dict[str, str] = {}
    for run in history.runs:
        if run.values and run.version(history.field):
            first_runs.setdefault(run.version(history.field), run.run_id)
    if not first_runs or not is_allowed("Warehouse.mark_baseline"):
        return
    left, middle, right = st.columns([3, 2, 2], vertical_alignment="bottom")
    version = left.selectbox(t.field(history.field), list(first_runs), format_func=shorten_hash, key="baseline-choice")
    with errors_shown():
        if middle.button(t("history.mark"), key="mark-baseline", icon=":material/flag:", help=t("history.mark_help")):
            core().warehouse.mark_baseline([first_runs[version]], history.field, actor(), core().clock())
            st.rerun()
        if mark and right.button(t("history.unmark"), key="unmark-baseline", icon=":material/flag_2:"):
            core().warehouse.unmark_baseline(mark.group.id, actor())
            st.rerun()
