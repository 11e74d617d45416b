"""The curves that a run's training code wrote into event files: a chart for each tag, over the steps."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import altair as alt
import streamlit as st

from aisbench_core.base.formats import clip_text, format_number
from aisbench_core.domain.summaries.curves import RunCurves, TrainingCurve
from aisbench_core.domain.summaries.tensorboards import INSTALL, is_installed
from pages._ui.shell import charts, url
from pages._ui.shell.core import core, get_tensorboards
from pages._ui.shell.errors import errors_shown, escape_markdown
from pages._ui.shell.formats import whole_name
from pages._ui.shell.words import t

PAGE = 12  # charts

MAX_LINES = 16  # in a chart, each from another directory

DOTS = 60  # up to so many points, each is marked

HEIGHT = 220


def show_scalars(run_id: str) -> None:
    """The curves so far; nothing without event files."""
    with errors_shown():
        read = core().files.curves(run_id)
        if not read.files:
            return
        st.header(t("scalars.title"))
        tags = [list(curves) for _, curves in groupby(read.curves, key=lambda curve: curve.tag)]
        pages = url.Pages("curves", len(tags), PAGE)
        shown = sorted(tags, key=lambda curves: (curves[0].group, curves[0].tag))[pages.offset : pages.offset + PAGE]
        for group, members in groupby(shown, key=lambda curves: curves[0].group):
            if len(read.groups) > 1 and group:
                st.subheader(escape_markdown(clip_text(group, 80)), help=whole_name(group, 80))
            _show_group(list(members))
        pages.show()
        _show_notes(read)
        if read.for_tensorboard:
            show_tensorboard([run_id])


def show_tensorboard(run_ids: Sequence[str]) -> None:
    """The link to the TensorBoard of these runs, or the button that starts it."""
    if not is_installed():
        st.caption(t("scalars.install", command=INSTALL))
        return
    running = get_tensorboards().find(tuple(run_ids))
    if running:
        st.link_button(t("scalars.open"), running.path, icon=":material/open_in_new:")
    elif st.button(t("scalars.start"), icon=":material/monitoring:"):
        with st.spinner(t("scalars.starting")):
            get_tensorboards().start({run_id: core().files.summaries(run_id) for run_id in run_ids})
        st.rerun(scope="fragment")


def _show_group(tags: Sequence[Sequence[TrainingCurve]]) -> None:
    for start in range(0, len(tags), 2):
        for column, curves in zip(st.columns(2, gap="large"), tags[start : start + 2], strict=False):
            with column:
                _show_tag(curves)


def _show_tag(curves: Sequence[TrainingCurve]) -> None:
    tag, whole = escape_markdown(clip_text(curves[0].tag, 80)), whole_name(curves[0].tag, 80)
    not_finite = sum(curve.not_finite for curve in curves)
    if len(curves) == 1 and (last := curves[0].last):
        st.markdown(t("scalars.last", tag=tag, value=format_number(last.value), step=f"{last.step:,}"), help=whole)
    else:
        st.markdown(f"**{tag}**", help=whole)
    drawn = [curve for curve in curves if curve.points][:MAX_LINES]
    if drawn:
        charts.draw_chart(_draw_chart(drawn), text=t("charts.scalar", tag=tag))
    if len(curves) > MAX_LINES:
        st.caption(t("scalars.more_lines", shown=MAX_LINES, count=len(curves)))
    if not_finite:
        st.caption(t("scalars.not_finite", count=not_finite))


def _draw_chart(curves: Sequence[TrainingCurve]) -> charts.Drawing:
    values = [
        {"source": curve.directory, "step": point.step, "value": point.value}
        for curve in curves
        for point in curve.points
    ]
    tips = [
        alt.Tooltip("step:Q", title=t("scalars.step"), format=",d"),
        alt.Tooltip("value:Q", title=t("scalars.value"), format=",.4~g"),
    ]
    x = alt.X("step:Q", title=t("scalars.step"), axis=alt.Axis(format="~s", tickMinStep=1, labelOverlap=True))
    y = alt.Y("value:Q", title=None, scale=alt.Scale(zero=False))
    encoding: dict[str, Any] = {"x": x, "y": y, "tooltip": tips}
    if len(curves) > 1:
        tips.append(alt.Tooltip("source:N", title=t("scalars.directory")))
        encoding["color"] = alt.Color("source:N", title=None, legend=alt.Legend(orient="bottom", columns=2))
    dots = all(len(curve.points) <= DOTS for curve in curves)
    return charts.chart_of(values).mark_line(point=dots).encode(**encoding).properties(height=HEIGHT)


def _show_notes(read: RunCurves) -> None:
    if not read.curves:
        st.caption(t("scalars.none"))
    if read.damaged:
        st.warning(
            t("scalars.damaged", files=escape_markdown(clip_text(", ".join(read.damaged), 400))),
            icon=":material/warning:",
        )
    if read.excluded:
        st.caption(t("scalars.excluded", count=len(read.curves)))
