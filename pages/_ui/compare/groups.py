"""Compared configurations as charts: every valid run a dot, with the median and the interval of the mean."""

from collections.abc import Mapping, Sequence

import altair as alt
import streamlit as st

from aisbench_core.warehouse.values.compared import Comparability, Comparison, Peers
from aisbench_core.warehouse.values.runs import RunRow
from pages._ui.compare.names import name_groups
from pages._ui.compare.room import keep_room_of_chart
from pages._ui.shell import charts
from pages._ui.shell.charts import AXIS, BAR, Drawing, chart_of, get_text_colour, run_colour
from pages._ui.shell.words import t


def group_by_axis(comparison: Comparison) -> list[list[RunRow]]:
    """The runs that one chart may show: of one unit, and comparable with the first; any other run has its own chart."""
    groups: dict[tuple[str, str], list[RunRow]] = {}
    for run, one in zip(comparison.runs, comparison.verdicts, strict=True):
        alone = run.run_id if one.verdict is Comparability.NOT_COMPARABLE else ""
        groups.setdefault((run.throughput_unit, alone), []).append(run)
    return [*groups.values()]


def fold_peers(comparison: Comparison) -> None:
    """The same charts of many runs, drawn when they are unfolded."""
    label, icon = t("compare.charts"), ":material/scatter_plot:"
    folded = st.expander(label, icon=icon, expanded=False, key="peers", on_change="rerun")
    if folded.open:
        with folded:
            show_peers(comparison)


def show_peers(comparison: Comparison) -> None:
    """The charts of the configurations; nothing where none has a valid run."""
    measured = {peers.run_id: peers for peers in comparison.peers if peers.summary}
    if not measured:
        return
    st.header(t("peers.title"))
    names = name_groups(comparison)
    for group in group_by_axis(comparison):
        runs = [run for run in group if run.run_id in measured]
        if runs:
            title = t(f"peers.per_{comparison.normalise_by or 'run'}", unit=runs[0].throughput_unit)
            drawing = _draw_chart([measured[run.run_id] for run in runs], runs, title, names)
            key = f"peers-{runs[0].run_id}"
            keep_room_of_chart(key, drawing.height)
            with st.container(key=key):
                charts.draw_chart(drawing, text=t("peers.chart"))
    hidden = sum(peers.summary.count - len(peers.dots) for peers in measured.values() if peers.summary)
    st.caption(t("peers.legend") + (f" {t('peers.sampled', hidden=hidden)}" if hidden else ""))


def _draw_chart(peers: Sequence[Peers], runs: Sequence[RunRow], title: str, names: Mapping[str, str]) -> Drawing:
    compared = {peer.run_id for peer in peers}
    peers = [*{names[peer.run_id]: peer for peer in reversed(peers)}.values()][::-1]  # a configuration is drawn once
    order = [names[peer.run_id] for peer in peers]
    versions = {run.run_id: run.framework_version for run in runs}
    dots = [
        {
            "run": names[peer.run_id],
            "version": versions[peer.run_id],
            "value": dot.throughput,
            "id": dot.run_id,
            "own": dot.run_id in compared,
        }
        for peer in peers
        for dot in peer.dots
    ]
    spans = [
        {
            "run": names[peer.run_id],
            "version": versions[peer.run_id],
            "low": peer.summary.ci_low,
            "high": peer.summary.ci_high,
            "median": peer.median,
        }
        for peer in peers
        if peer.summary and peer.summary.ci_low is not None
    ]
    y = alt.Y("run:N", title=None, sort=order, axis=alt.Axis(labelLimit=340))
    x = alt.X(
        "value:Q", title=title, scale=alt.Scale(zero=False, padding=16), axis=alt.Axis(labelBound=True, format=",.6~r")
    )
    tips = [
        alt.Tooltip("id:N", title=t("charts.run")),
        alt.Tooltip("version:N", title=t("charts.version")),
        alt.Tooltip("value:Q", title=title, format=",.5~g"),
    ]
    colour = run_colour(runs, has_legend=False)
    ring = alt.StrokeWidthValue(0, condition={"test": "datum.own", "value": 2})
    layers = [
        chart_of(spans).mark_bar(size=18, opacity=0.3).encode(x=alt.X("low:Q"), x2=alt.X2("high:Q"), y=y, color=colour),
        chart_of(spans).mark_tick(thickness=3, size=22, color=get_text_colour()).encode(x=alt.X("median:Q"), y=y),
        chart_of(dots)
        .mark_circle(size=60, opacity=0.75, stroke=get_text_colour())
        .encode(x=x, y=y, color=colour, strokeWidth=ring, tooltip=tips),
    ]
    return alt.layer(*(layers if spans else layers[2:]), height=len(order) * BAR + AXIS)
