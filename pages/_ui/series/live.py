"""One series, which looks again by itself until nothing more happens."""

import streamlit as st

from aisbench_core.formats import number
from aisbench_core.series.matrix import Matrix
from pages._ui.series.comparison import show_against
from pages._ui.series.matrix import show_attempts, show_matrix, show_statistics
from pages._ui.series.repeatability import show_series_verdicts
from pages._ui.series.series_list import series_badge, series_facts, series_title, show_progress
from pages._ui.shell import navigation
from pages._ui.shell.core import WHO, core
from pages._ui.shell.errors import errors_shown, plain
from pages._ui.shell.formats import when
from pages._ui.shell.words import words

SECONDS = 2.5
MOST_COMPARED = 8
MOST_NODE_HOURS = 10_000_000.0

QUESTION = "series-question"
"""Where the open question keeps what it is about: `stop` or `rerun`."""


def follow_series(series_id: str) -> None:
    """One series, kept up to date until it ends."""
    t = words()
    title = st.empty()
    title.title(t("series.title"))  # until it is known that there is such a series
    matrix = core().series.look(series_id)
    title.title(plain(series_title(matrix)))
    st.caption(series_facts(matrix, t))
    _show_actions(matrix)
    if matrix.can_stop and matrix.hours.budget is not None:
        _show_budget(matrix)
    ended = matrix.is_settled
    if not matrix.here:
        st.info(t("series.elsewhere"), icon=":material/group:")
    st.fragment(_series, run_every=None if ended else SECONDS)(matrix.series.series_id, ended)
    show_against(matrix)
    _ask(matrix)


def _show_actions(matrix: Matrix) -> None:
    t = words()
    with st.container(horizontal=True, vertical_alignment="center"):
        navigation.link(navigation.SERIES, t("series.all"), {})
        if matrix.can_stop and st.button(t("series.stop"), key="series-stop", icon=":material/front_hand:"):
            st.session_state[QUESTION] = "stop"
        if matrix.can_rerun and st.button(
            t("series.rerun", count=matrix.lost), key="series-rerun", icon=":material/replay:"
        ):
            st.session_state[QUESTION] = "rerun"
        best = [tried.run.run_id for row in matrix.rows if (tried := row.typical) and tried.run]
        if len(best) > 1:
            navigation.link(navigation.COMPARE, t("series.compare"), {"ids": best[:MOST_COMPARED]})
        if best and len(matrix.series.plan.node_counts) > 1:
            navigation.link(navigation.SCALING, t("series.scaling"), {"run": best[0]})


def _series(series_id: str, had_ended: bool) -> None:
    t = words()
    with errors_shown():
        matrix = core().series.look(series_id)
        _draw_again_when_it_changes(matrix, had_ended)
        series_badge(matrix)
        show_progress(matrix)
        _show_troubles(matrix)
        st.header(t("series.matrix"))
        show_matrix(matrix)
        st.header(t("series.statistics"))
        show_statistics(matrix)
        st.header(t("repeatability.title"))
        show_series_verdicts(matrix)
        with st.expander(t("series.attempts"), expanded=matrix.lost > 0):
            show_attempts(matrix)
        with st.expander(t("live.timeline")):
            _show_events(matrix)
        if not had_ended:
            st.caption(t("live.looked", at=when(core().clock(), "%H:%M:%S")))


def _draw_again_when_it_changes(matrix: Matrix, had_ended: bool) -> None:
    """The buttons stand outside of what looks again: they are drawn anew when others are needed."""
    seen = (matrix.is_settled, matrix.lost, matrix.valid > 0)
    before = st.session_state.get("series-seen", seen)
    st.session_state["series-seen"] = seen
    if matrix.is_settled != had_ended or seen != before:
        st.rerun()


def _show_troubles(matrix: Matrix) -> None:
    t = words()
    if matrix.series.trouble:
        st.warning(t("series.trouble", why=plain(t.said(matrix.series.trouble))), icon=":material/pause_circle:")
    if matrix.hold:
        text = t(
            "series.held",
            needed=number(matrix.hold.needed, digits=3),
            spent=number(matrix.hold.spent, digits=3),
            budget=number(matrix.hold.budget),
        )
        st.warning(text, icon=":material/pause_circle:")
    if matrix.codes > 1:
        st.warning(t("series.codes", count=matrix.codes), icon=":material/warning:")


def _show_budget(matrix: Matrix) -> None:
    t = words()
    with st.form("series-budget", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        budget = st.number_input(
            t("series.budget"),
            min_value=0.0,
            max_value=MOST_NODE_HOURS,
            value=matrix.hours.budget,
            format="%g",
            key=f"budget-of-{matrix.series.series_id}",
            width=220,
        )
        sent = st.form_submit_button(t("series.more"), key="series-more", icon=":material/more_time:")
    if sent and budget is not None:
        core().series.resume(matrix.series.series_id, budget, WHO)
        st.rerun()


def _show_events(matrix: Matrix) -> None:
    t = words()
    rows = [
        {
            t("live.at"): when(event.at),
            t("live.what"): t.event(event),
            t("live.source"): t.by(event.actor, event.source),
        }
        for event in matrix.events
    ]
    wide = {t("live.what"): st.column_config.TextColumn(width="large")}
    st.dataframe(rows, hide_index=True, column_config=wide, alt=t("live.timeline"))


def _ask(matrix: Matrix) -> None:
    asked = st.session_state.get(QUESTION)
    if asked:
        t = words()
        title = t("series.stop_title") if asked == "stop" else t("series.rerun_title")
        st.dialog(title, on_dismiss=_forget)(_question)(matrix, asked)


def _question(matrix: Matrix, asked: str) -> None:
    t = words()
    with errors_shown():
        st.markdown(f"**{plain(series_title(matrix))}**")
        st.markdown(t("series.stop_question") if asked == "stop" else t("series.rerun_question", count=matrix.lost))
        if st.button(
            t("series.stop_yes") if asked == "stop" else t("series.rerun_yes"), key="series-yes", type="primary"
        ):
            act = core().series.stop if asked == "stop" else core().series.rerun
            act(matrix.series.series_id, WHO)
            _forget()
            st.rerun()
        if st.button(t("launch.cancel"), key="series-no"):
            _forget()
            st.rerun()


def _forget() -> None:
    st.session_state.pop(QUESTION, None)
