"""The list of series, newest first, and the badge, title, facts and progress of each."""

from typing import Literal

import streamlit as st

from aisbench_core.base.formats import format_number
from aisbench_core.model import SeriesState
from aisbench_core.running.series.matrix import Matrix
from pages._ui.pictures import Picture, show_picture
from pages._ui.series.schedules import show_schedules
from pages._ui.shell import navigation, url
from pages._ui.shell.core import core, is_allowed
from pages._ui.shell.errors import escape_markdown
from pages._ui.shell.formats import format_time
from pages._ui.shell.words import t

PAGE = 10

Colour = Literal["green", "red", "gray", "orange", "blue"]

# A sign and a colour for each state, beside its word.
SIGNS: dict[SeriesState, tuple[str, Colour]] = {
    SeriesState.PLANNED: (":material/schedule:", "blue"),
    SeriesState.RUNNING: (":material/pending:", "blue"),
    SeriesState.HELD: (":material/pause_circle:", "orange"),
    SeriesState.STOPPED: (":material/stop_circle:", "gray"),
    SeriesState.COMPLETED: (":material/check_circle:", "green"),
    SeriesState.COMPLETED_WITH_FAILURES: (":material/error:", "red"),
}


def show_list() -> None:
    """The schedules, and one page of series."""
    total = core().series.count()
    if not total:
        show_picture(Picture.SERIES)
    if is_allowed("SeriesService.launch"):
        navigation.link_main_page(navigation.SERIES, t("series.new"), {"new": "1"}, icon=":material/add:")
    show_schedules()
    if not total:
        return
    pages = url.Pages("page", total, PAGE)
    for matrix in core().series.page(PAGE, pages.offset):
        with st.container(border=True, key=f"series-{matrix.series.series_id}"):
            with st.container(horizontal=True, vertical_alignment="center"):
                series_badge(matrix)
                navigation.link_page(
                    navigation.SERIES, escape_markdown(series_title(matrix)), {"series": matrix.series.series_id}
                )
            st.caption(series_facts(matrix))
            show_progress(matrix)
            if any(row.evaluation for row in matrix.rows):
                st.caption(t("repeatability.rows", counting=matrix.counting, rows=len(matrix.rows)))
    pages.show()


def series_badge(matrix: Matrix) -> None:
    """The series' state as a coloured word with a sign."""
    sign, colour = SIGNS[matrix.state]
    st.badge(t(f"series.state_{matrix.state.name.lower()}"), icon=sign, color=colour)


def series_title(matrix: Matrix) -> str:
    """Its name and its id."""
    return f"{matrix.series.title} · {matrix.series.series_id}"


def series_facts(matrix: Matrix) -> str:
    """One line: the workload, its size, where it runs, who launched it and when."""
    plan = matrix.series.plan
    counts = ", ".join(str(count) for count in sorted(plan.node_counts))
    size = t("series.size", nodes=counts, repeats=f"≤ {plan.repeats} ({plan.until})" if plan.until else plan.repeats)
    parts = (
        plan.spec.workload,
        t("series.search_size", nodes=counts, trials=plan.search.trials) if plan.search else size,
        ", ".join((*plan.versions, *plan.images)),
        matrix.series.profile,
    )
    launched = t(
        "runs.launched", who=escape_markdown(matrix.series.created_by), at=format_time(matrix.series.created_at)
    )
    return f"{escape_markdown(' · '.join(part for part in parts if part))} · {launched}"


def show_progress(matrix: Matrix) -> None:
    """How many cells have ended, and the node hours with their budget."""
    cells, hours = len(matrix.cells), matrix.hours
    text = t("series.progress", done=matrix.done, cells=cells, valid=matrix.valid, lost=matrix.lost)
    st.progress(matrix.done / cells, text=text)
    expected = hours.used + hours.promised + hours.to_come
    if hours.budget is None:
        st.caption(
            t("series.hours_free", used=format_number(hours.used, digits=3), expected=format_number(expected, digits=3))
        )
        return
    text = t(
        "series.hours",
        used=format_number(hours.used, digits=3),
        promised=format_number(hours.promised, digits=3),
        to_come=format_number(hours.to_come, digits=3),
        budget=format_number(hours.budget),
    )
    st.progress(min(1.0, (hours.used + hours.promised) / hours.budget), text=text)
