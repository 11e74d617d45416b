"""The groups of compared runs: single runs as dots, means with their intervals, and the interval of each ratio."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import streamlit as st

from aisbench_core.base.formats import MISSING
from aisbench_core.warehouse.values.boards import mixed_or_unknown
from aisbench_core.warehouse.values.compared import Comparison, Peers
from aisbench_core.warehouse.values.runs import RunRow
from pages._ui.compare.names import names_of
from pages._ui.leaderboard.columns import common_unit
from pages._ui.runs.target import peers_text
from pages._ui.shell import charts
from pages._ui.shell.charts import AXIS, BAR, LEGEND, Drawing, chart_of, get_text_colour, run_colour
from pages._ui.shell.formats import round_digits
from pages._ui.shell.tables import show_table
from pages._ui.shell.words import t


def show_peers(comparison: Comparison) -> None:
    """The chart and the table of the groups; a sentence where each run is the only one of its group."""
    st.header(t("peers.title"))
    if not any(peer.summary and peer.summary.count > 1 for peer in comparison.peers):
        st.markdown(t("peers.alone"))
        return
    names = names_of(comparison)
    for unit, runs in charts.by_unit(comparison.runs).items():
        title = t(f"peers.per_{comparison.normalise_by or 'run'}", unit=unit)
        run_ids = {run.run_id for run in runs}
        peers = [peer for peer in comparison.peers if peer.run_id in run_ids]
        charts.draw_chart(_draw_chart(peers, runs, title, names), text=t("peers.chart"))
    st.caption(t("peers.legend"))
    hidden = sum(peer.summary.count - len(peer.dots) for peer in comparison.peers if peer.summary)
    if hidden:
        st.caption(t("peers.sampled", hidden=hidden))
    unit = common_unit(comparison.runs)
    pairs = zip(comparison.peers, comparison.runs, strict=True)
    rows = [_to_row(peers, names[peers.run_id], run) for peers, run in pairs]
    is_mixed = any(run.throughput_unit != unit for run in comparison.runs)
    titles = {
        "like": t("peers.like"),
        "runs": t("board.runs"),
        **({"unit": t("board.unit")} if is_mixed else {}),
        "mean": t("scaling.mean", unit=unit),
        "ratio": t("peers.ratio"),
        "ratio_low": t("peers.ratio_low"),
        "ratio_high": t("peers.ratio_high"),
        "target": t("board.target"),
        "note": t("peers.note"),
        "low": t("scaling.low", unit=unit),
        "high": t("scaling.high", unit=unit),
    }
    show_table(rows, titles, t("peers.title"))


def _to_row(peers: Peers, name: str, run: RunRow) -> dict[str, Any]:
    group, difference = peers.summary, peers.difference
    factors = difference.ratio if difference else (None, None, None)
    ratio, low, high = (round_digits(factor, 5) for factor in factors)
    notes = (t("peers.baselines") if peers.is_baselines else "", t.message(mixed_or_unknown(run.not_known)))
    return {
        "like": name,
        "runs": group.count if group else 0,
        "unit": run.throughput_unit,
        "mean": round_digits(group.mean if group else None),
        "ratio": ratio,
        "ratio_low": low,
        "ratio_high": high,
        "target": peers_text(run, peers),
        "note": ", ".join(filter(None, notes)) or MISSING,
        "low": round_digits(group.ci_low if group else None),
        "high": round_digits(group.ci_high if group else None),
    }


def _draw_chart(peers: Sequence[Peers], runs: Sequence[RunRow], title: str, names: Mapping[str, str]) -> Drawing:
    order = [names[peer.run_id] for peer in peers]
    versions = {run.run_id: run.framework_version for run in runs}
    dots = [
        {
            "run": names[peer.run_id],
            "version": versions[peer.run_id],
            "value": dot.throughput,
            "id": dot.run_id,
            "own": dot.run_id == peer.run_id,
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
            "mean": peer.summary.mean,
        }
        for peer in peers
        if peer.summary and peer.summary.ci_low is not None
    ]
    y = alt.Y("run:N", title=None, sort=order, axis=alt.Axis(labelLimit=340))
    x = alt.X("value:Q", title=title, scale=alt.Scale(zero=False, padding=16), axis=alt.Axis(labelBound=True))
    tips = [alt.Tooltip("id:N", title=t("charts.run")), alt.Tooltip("value:Q", title=title, format=",.5~g")]
    colour = run_colour(runs)
    ring = alt.StrokeWidthValue(0, condition={"test": "datum.own", "value": 2})
    layers = [
        chart_of(spans).mark_bar(size=18, opacity=0.3).encode(x=alt.X("low:Q"), x2=alt.X2("high:Q"), y=y, color=colour),
        chart_of(spans).mark_tick(thickness=3, size=22, color=get_text_colour()).encode(x=alt.X("mean:Q"), y=y),
        chart_of(dots)
        .mark_circle(size=60, opacity=0.75, stroke=get_text_colour())
        .encode(x=x, y=y, color=colour, strokeWidth=ring, tooltip=tips),
    ]
    return alt.layer(*(layers if spans else layers[2:]), height=len(order) * BAR + AXIS + LEGEND)
