"""Marks: what a group's newest runs are compared with until somebody says otherwise."""

import streamlit as st

from aisbench_core.formats import short
from aisbench_core.warehouse.answers.histories import Baseline, History, VersionField
from pages._ui.shell.core import WHO, core
from pages._ui.shell.errors import errors_shown, plain
from pages._ui.shell.formats import when
from pages._ui.shell.words import Words, words

CHOSEN = "baseline-choice"


def show_baseline(history: History) -> None:
    """The group's mark, and how to set and unset it."""
    t = words()
    st.header(t("history.baseline_of_group"))
    marked = history.row.baseline
    st.markdown(_told(marked, t) if marked else t("history.not_marked"))
    firsts: dict[str, str] = {}
    for run in history.runs:
        if run.values and run.version(history.field):
            firsts.setdefault(run.version(history.field), run.run_id)
    if not firsts:
        return
    left, middle, right = st.columns([3, 2, 2], vertical_alignment="bottom")
    version = left.selectbox(t.field(history.field), list(firsts), format_func=short, key=CHOSEN)
    with errors_shown():
        if middle.button(t("history.mark"), key="mark-baseline", icon=":material/flag:", help=t("history.mark_help")):
            _mark(firsts[version], history.field)
        if marked and right.button(t("history.unmark"), key="unmark-baseline", icon=":material/flag_2:"):
            core().warehouse.unmark_baseline(marked.group.id)
            st.rerun()


def _mark(run_id: str, field: VersionField) -> None:
    core().warehouse.mark_baseline([run_id], field, WHO, core().clock())
    st.rerun()


def _told(marked: Baseline, t: Words) -> str:
    names = ", ".join(plain(short(name)) for name in marked.names)
    what = t.field(marked.field) if marked.field else t("history.single_runs")
    return t("history.marked", what=what, names=names, who=plain(marked.marked_by), at=when(marked.marked_at))
