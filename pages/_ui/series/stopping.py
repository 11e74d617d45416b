"""A series that ends when it has measured enough: what was found so far, and how sure the first slower version is."""

import altair as alt
import streamlit as st

from aisbench_core.running.series.matrix import Matrix
from aisbench_core.running.series.stopping import Judgement
from pages._ui.shell import charts
from pages._ui.shell.errors import escape_markdown
from pages._ui.shell.words import t


def show_judgement(matrix: Matrix, judgement: Judgement) -> None:
    """The finding, and the chances of every row once it is known that one is slower."""
    finding = escape_markdown(t.message(judgement.finding))
    if judgement.is_met:
        st.success(finding, icon=":material/done_all:")
    else:
        st.info(t("series.until_now", until=escape_markdown(matrix.series.plan.until), finding=finding))
    if judgement.probabilities:
        _draw_chances(matrix, judgement)


def _draw_chances(matrix: Matrix, judgement: Judgement) -> None:
    rows = [
        {"row": row.planned.version or row.planned.image, "chance": chance, "runs": len(row.values)}
        for row, chance in zip(matrix.rows, judgement.probabilities, strict=True)
    ]
    title = t("series.chance")
    chart = charts.chart_of(rows).mark_bar()
    chart = chart.encode(
        x=alt.X("row:N", title=None, sort=None, axis=alt.Axis(labelAngle=-40, labelLimit=140)),
        y=alt.Y("chance:Q", title=title, scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format=".0%", tickCount=5)),
        tooltip=[
            alt.Tooltip("row:N", title=t("series.row")),
            alt.Tooltip("chance:Q", title=title, format=".1%"),
            alt.Tooltip("runs:Q", title=t("series.runs")),
        ],
    )
    charts.draw_chart(chart.properties(height=260), text=t("series.chance_chart"))
