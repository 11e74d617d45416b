"""Whether a run is healthy: hangs and restarts, nodes that do little, and what the platform measured on the nodes."""

from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean, median
from typing import Any

import altair as alt
import streamlit as st

from aisbench_core.formats import duration
from aisbench_core.model import MetricSample
from aisbench_core.results.utilisation import busiest_metric, low_utilisation
from pages._ui.run.snapshot import RunSnapshot, snapshot
from pages._ui.runs.job_details import show_alert
from pages._ui.shell import charts, widgets
from pages._ui.shell.errors import errors_shown, plain
from pages._ui.shell.formats import when
from pages._ui.shell.words import t

MAX_WARNINGS = 3  # about single nodes

MAX_LINES = 8  # with more nodes, lines hide each other: the chart has their range, median and the idlest one

HEIGHT = 200


def show_alerts(now: RunSnapshot) -> None:
    """What needs a person's attention at once."""
    show_alert(now.run, now.details)


def show_health(now: RunSnapshot) -> None:
    """The use of all nodes on one chart, and which of them do little."""
    st.markdown(f"**{t('run.health')}**")
    name = busiest_metric(now.samples)
    if name is None:
        st.caption(t("live.no_metrics"))
        return
    _show_low_utilisation(now)
    used = [sample for sample in now.samples if sample.name == name and 0 <= sample.value <= 100]
    nodes = {sample.node for sample in used}
    lowest = min(nodes, key=lambda node: fmean(sample.value for sample in used if sample.node == node))
    chart = _range(used, lowest) if len(nodes) > MAX_LINES else _lines(used)
    charts.draw(chart.properties(height=HEIGHT), text=t("charts.metric", name=t.sample(name)))
    text = t("run.use_of_nodes", metric=t.sample(name), nodes=len(nodes))
    if len(nodes) > 1:
        text += " " + t("run.lowest_node", node=lowest)
    st.caption(text)


def _show_low_utilisation(now: RunSnapshot) -> None:
    """Nodes whose cards were hardly used for minutes, and the likely reason."""
    found = low_utilisation(now.samples)
    for low in found[:MAX_WARNINGS]:
        lasted = duration((low.until - low.since).total_seconds())
        facts = {"node": low.node, "metric": t.sample(low.metric), "mean": f"{low.mean:.0f}", "lasted": lasted}
        warning = t("live.low", **facts, since=when(low.since, "%H:%M"), reason=t.message(low.reason))
        st.warning(plain(warning), icon=":material/speed:")
    if len(found) > MAX_WARNINGS:
        st.caption(t("live.low_more", count=len(found) - MAX_WARNINGS))


def _lines(used: Sequence[MetricSample]) -> Any:
    rows = [
        {"at": sample.at.isoformat(), "node": t("charts.node", node=sample.node), "value": sample.value}
        for sample in used
    ]
    colour = alt.Color("node:N", title=None, legend=alt.Legend(orient="right"))
    tips = [alt.Tooltip("at:T", format="%H:%M"), alt.Tooltip("node:N", title=""), alt.Tooltip("value:Q", format=".0f")]
    return charts.chart_of(rows).mark_line(point=len(rows) < 40).encode(x=_x(), y=_y(), color=colour, tooltip=tips)


def _range(used: Sequence[MetricSample], lowest: int) -> Any:
    by_minute: dict[Any, list[float]] = defaultdict(list)
    for sample in used:
        by_minute[sample.at.replace(second=0, microsecond=0)].append(sample.value)
    rows = [
        {"at": at.isoformat(), "low": min(values), "high": max(values), "value": median(values)}
        for at, values in sorted(by_minute.items())
    ]
    idlest = [
        {"at": sample.at.isoformat(), "value": sample.value, "node": t("charts.node", node=sample.node)}
        for sample in used
        if sample.node == lowest
    ]
    area = charts.chart_of(rows).mark_area(opacity=0.2).encode(x=_x(), y=alt.Y("low:Q", title=None), y2="high:Q")
    middle = charts.chart_of(rows).mark_line().encode(x=_x(), y=_y())
    dashed = charts.chart_of(idlest).mark_line(strokeDash=[4, 3])
    return alt.layer(area, middle, dashed.encode(x=_x(), y=_y(), tooltip=[alt.Tooltip("node:N", title="")]))


def _x() -> Any:
    return alt.X("at:T", title=None, axis=alt.Axis(format="%H:%M", labelOverlap=True, tickCount=4))


def _y() -> Any:
    return alt.Y("value:Q", title=None, scale=alt.Scale(domain=[0, 100]), axis=alt.Axis(tickCount=4))


def show_node_metrics(run_id: str) -> None:
    """One metric of the platform, a line for each node."""
    with errors_shown():
        st.header(t("live.metrics"))
        samples = snapshot(run_id).samples
        names = sorted({sample.name for sample in samples})
        if not names:
            st.caption(t("live.no_metrics"))
            return
        choice = widgets.session_choice("metric-of-run", names, names[0], t.sample)
        name = str(st.selectbox(t("live.metric"), width=320, **choice))
        chosen = [sample for sample in samples if sample.name == name]
        charts.draw(charts.metric_over_time(chosen, name), text=t("charts.metric", name=t.sample(name)))
