"""One series, which updates itself until it is settled."""

from collections.abc import Collection
from dataclasses import dataclass

import streamlit as st

from aisbench_core.base.formats import format_number
from aisbench_core.model import ParameterSearch
from aisbench_core.running.series.matrix import Matrix
from aisbench_core.warehouse.values.compared import MAX_COMPARED
from pages._ui.grid.column_choice import ICON as COLUMNS_ICON
from pages._ui.grid.column_choice import choose_hidden
from pages._ui.series import matrix as tables
from pages._ui.series.comparison import show_against
from pages._ui.series.form import NODE_HOURS
from pages._ui.series.parallel import show_parallel
from pages._ui.series.series_list import series_badge, series_facts, series_title, show_progress
from pages._ui.series.stopping import show_judgement
from pages._ui.series.trials import list_trial_titles, show_search_plan, show_trials
from pages._ui.shell import navigation, numbers
from pages._ui.shell.core import actor, core, is_allowed
from pages._ui.shell.dialogs import Dialog
from pages._ui.shell.errors import errors_shown, escape_markdown
from pages._ui.shell.evidence import show_bundle_button
from pages._ui.shell.filters import choose_metric_of
from pages._ui.shell.formats import format_time
from pages._ui.shell.navigation import ATTEMPT_COLUMNS, COLUMNS
from pages._ui.shell.status import create_heading, title_tab
from pages._ui.shell.tables import show_table
from pages._ui.shell.words import t
from pages._ui.spending.approval import show_series_approval

SECONDS = 2.5

VISIBLE_EVENTS = 10  # rows of the timeline that are visible at a time
MAX_SCATTERS = 3  # rows that the warning about scatter names
CONFIRMATION = Dialog("series-question")  # about `stop` or `rerun`


@dataclass(frozen=True, slots=True)
class _Hidden:
    """The columns that nobody chose: of the statistics or trials, and of the attempts."""

    rows: frozenset[str]
    attempts: frozenset[str]


def follow_series(series_id: str) -> None:
    """One series, kept up to date until it ends."""
    title = create_heading()
    title.title(t("series.title"))  # until it is known that there is such a series
    matrix = core().series.matrix(series_id)
    title.title(escape_markdown(series_title(matrix)))
    st.caption(series_facts(matrix))
    hidden = _show_actions(matrix)
    show_series_approval(matrix.series)
    if matrix.can_stop and matrix.hours.budget is not None:
        _show_budget(matrix)
    ended = matrix.is_settled
    if not matrix.here:
        st.info(t("series.elsewhere"), icon=":material/group:")
    # A search has an objective of its own.
    names = [] if matrix.series.plan.search else core().series.list_metrics(matrix)
    metric = choose_metric_of(names, width=350)
    st.fragment(_draw_series, run_every=None if ended else SECONDS)(series_id, metric, ended, hidden)
    show_against(matrix, metric)
    CONFIRMATION.show(
        t("series.stop_title" if CONFIRMATION.subject == "stop" else "series.rerun_title"), _show_confirmation, matrix
    )


def _show_actions(matrix: Matrix) -> _Hidden:
    """What can be done with it; returns the hidden columns of its tables."""
    with st.container(horizontal=True, vertical_alignment="center"):
        navigation.link_page(navigation.SERIES, t("series.all"), {})
        owner = matrix.series.created_by
        if (
            matrix.can_stop
            and is_allowed("SeriesService.stop", owner)
            and st.button(t("series.stop"), key="series-stop", icon=":material/front_hand:")
        ):
            CONFIRMATION.open("stop")
        label = t("series.rerun", count=matrix.lost)
        if (
            matrix.can_rerun
            and is_allowed("SeriesService.rerun", owner)
            and st.button(label, key="series-rerun", icon=":material/replay:")
        ):
            CONFIRMATION.open("rerun")
        run_ids = [attempt.run.run_id for row in matrix.rows if (attempt := row.typical) and attempt.run]
        if len(run_ids) > 1:
            navigation.link_page(navigation.COMPARE, t("series.compare"), {"ids": run_ids[:MAX_COMPARED]})
        if run_ids and len(matrix.series.plan.node_counts) > 1:
            navigation.link_page(navigation.SCALING, t("series.scaling"), {"run": run_ids[:MAX_COMPARED]})
        if run_ids:
            show_bundle_button(lambda: [matrix.series.series_id], "series")
        return _choose_hidden(matrix)


def _choose_hidden(matrix: Matrix) -> _Hidden:
    """Outside of what updates itself, so that the menu's links know of it."""
    search = matrix.series.plan.search
    label, titles = t("series.statistics"), tables.list_statistics_titles()
    if search:
        label, titles = t("series.trials"), list_trial_titles(matrix, search)
    with st.popover(t("run_rows.columns"), icon=COLUMNS_ICON):
        rows = choose_hidden(label, titles, COLUMNS)
        return _Hidden(rows, choose_hidden(t("series.attempts"), tables.list_attempt_titles(), ATTEMPT_COLUMNS))


def _draw_series(series_id: str, metric: str, had_ended: bool, hidden: _Hidden) -> None:
    with errors_shown():
        matrix = core().series.matrix(series_id, metric)
        _redraw_if_changed(matrix, had_ended)
        title_tab(f"{_format_sign(matrix)} {series_title(matrix)}")
        series_badge(matrix)
        show_progress(matrix)
        _show_warnings(matrix)
        if matrix.series.plan.search:
            _show_search(matrix, matrix.series.plan.search, hidden.rows)
        else:
            _show_grid(matrix, hidden.rows)
        with st.expander(t("series.attempts"), expanded=matrix.lost > 0):
            tables.show_attempts(matrix, hidden.attempts)
        with st.expander(t("live.timeline")):
            _show_events(matrix)
        if not had_ended:
            st.caption(t("live.updated", at=format_time(core().clock(), "%H:%M:%S")))


def _show_search(matrix: Matrix, search: ParameterSearch, hidden: Collection[str]) -> None:
    show_search_plan(matrix, search)
    show_parallel(matrix)
    st.header(t("series.trials"))
    show_trials(matrix, search, hidden)


def _show_grid(matrix: Matrix, hidden: Collection[str]) -> None:
    if matrix.judgement:
        show_judgement(matrix, matrix.judgement)
    tables.show_best(matrix)
    show_parallel(matrix)
    st.header(t("series.matrix"))
    tables.show_matrix(matrix)
    tables.show_spread(matrix)
    st.header(t("series.statistics"))
    tables.show_statistics(matrix, hidden)
    st.header(t("repeatability.title"))
    tables.show_series_verdicts(matrix)


def _format_sign(matrix: Matrix) -> str:
    """How far it is, for the browser's tab."""
    if not matrix.is_settled:
        return f"▶ {matrix.done}/{len(matrix.cells)}"
    return "✓" if not matrix.lost else f"✗ {matrix.lost}"


def _redraw_if_changed(matrix: Matrix, had_ended: bool) -> None:
    """Draw the whole page where it needs other buttons: they stand outside this fragment, which cannot change them."""
    state = (matrix.is_settled, matrix.lost, matrix.valid > 0, bool(matrix.series.held))
    before = st.session_state.get("series-state", state)
    st.session_state["series-state"] = state
    if matrix.is_settled != had_ended or state != before:
        st.rerun()


def _show_warnings(matrix: Matrix) -> None:
    if matrix.series.launch_error:
        why = escape_markdown(t.message(matrix.series.launch_error))
        st.warning(t("series.trouble", why=why), icon=":material/pause_circle:")
    if matrix.hold:
        hours = {
            "needed": format_number(matrix.hold.needed, digits=3),
            "spent": format_number(matrix.hold.spent, digits=3),
        }
        text = t("series.held", budget=format_number(matrix.hold.budget), **hours)
        st.warning(text, icon=":material/pause_circle:")
    _warn_of_scatter(matrix)
    if matrix.codes > 1:
        st.warning(t("series.codes", count=matrix.codes), icon=":material/warning:")


def _warn_of_scatter(matrix: Matrix) -> None:
    """One box for all rows: where many scatter, the results below should still be seen."""
    scatters = [(row, row.evaluation.scatter) for row in matrix.rows if row.evaluation and row.evaluation.scatter]
    lines = [
        t(
            "series.scatters",
            row=escape_markdown(tables.row_title(row.planned)),
            expected=escape_markdown(t.message(scatter.expected)),
            found=escape_markdown(t.message(scatter.found)),
        )
        for row, scatter in scatters[:MAX_SCATTERS]
        if scatter
    ]
    if len(scatters) > MAX_SCATTERS:
        lines.append(t("series.scatters_more", count=len(scatters) - MAX_SCATTERS))
    if lines:
        st.warning("  \n".join(lines), icon=":material/scatter_plot:")


def _show_budget(matrix: Matrix) -> None:
    series_id = matrix.series.series_id
    if not is_allowed("SeriesService.resume", matrix.series.created_by):
        return
    with st.form("series-budget", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        text, key = numbers.text_of(matrix.hours.budget), f"budget-of-{series_id}"
        budget = numbers.show_number_field(t("series.budget"), NODE_HOURS, value=text, key=key, width=220)
        submitted = st.form_submit_button(t("series.more"), key="series-more", icon=":material/more_time:")
    numbers.show_refusal(NODE_HOURS.problem(budget) if budget else "")
    if submitted and budget:
        core().series.resume(series_id, NODE_HOURS.read(budget), actor())
        st.rerun()


def _show_events(matrix: Matrix) -> None:
    rows = [
        {
            "at": format_time(event.at),
            "what": t.message(event.message),
            "source": t.actor(event.actor, event.source),
        }
        for event in matrix.events
    ]
    titles = {"at": t("live.at"), "what": t("live.what"), "source": t("live.source")}
    show_table(rows, titles, t("live.timeline"), widths={"what": "large"}, visible=VISIBLE_EVENTS)


def _show_confirmation(matrix: Matrix) -> None:
    stop = CONFIRMATION.subject == "stop"
    st.markdown(f"**{escape_markdown(series_title(matrix))}**")
    st.markdown(t("series.stop_question") if stop else t("series.rerun_question", count=matrix.lost))
    if st.button(t("series.stop_yes") if stop else t("series.rerun_yes"), key="series-yes", type="primary"):
        act = core().series.stop if stop else core().series.rerun
        act(matrix.series.series_id, actor())
        CONFIRMATION.leave()
    if st.button(t("launch.cancel"), key="series-no"):
        CONFIRMATION.leave()
