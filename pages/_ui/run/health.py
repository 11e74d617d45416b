"""Whether a run is healthy: hangs and restarts, nodes that do little, and what the platform measured on the nodes."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import fmean, median
from typing import Any

import altair as alt
import streamlit as st

from aisbench_core.base.formats import format_duration
from aisbench_core.domain.liveness.alerts import alert_of
from aisbench_core.domain.liveness.slow_cards import CardRate, slow_message
from aisbench_core.domain.liveness.stalls import SignOfLife, sign_of_life
from aisbench_core.domain.results.utilisation import busiest_metric, low_utilisation
from aisbench_core.model import MetricSample
from aisbench_core.running.progress.snapshots import RunSnapshot
from pages._ui.cards.job_details import alert_kind, show_alert, watch_of
from pages._ui.run.run_charts import HEIGHT, RunChart, Tables, compile_chart, create_named_chart
from pages._ui.run.snapshot import read_snapshot
from pages._ui.shell import charts, widgets
from pages._ui.shell.errors import errors_shown, escape_markdown
from pages._ui.shell.formats import format_time
from pages._ui.shell.words import t

MAX_WARNINGS = 3  # about single nodes

MAX_LINES = 8  # with more nodes, lines hide each other: the chart has their range, median and the idlest one


def show_alerts(now: RunSnapshot) -> None:
    """What needs a person's attention at once, but for a hang: its cause stands above."""
    alert = alert_of(now.run, now.details, watch_of(now.run))
    if alert and not alert.is_stall:
        with st.container(key="alert"):
            show_alert(now.run, now.details)


@dataclass(frozen=True, slots=True)
class _Use:
    """How much the nodes compute, by the metric `name`: its samples, and the node with the lowest mean."""

    name: str
    samples: Sequence[MetricSample]
    nodes: int
    lowest: int


def show_health(now: RunSnapshot) -> None:
    """Slow cards, and nodes that do little."""
    if slow := _list_slow(now):
        st.warning(escape_markdown(t.message(slow_message(slow))), icon=":material/hourglass_bottom:")
    _show_low_utilisation(now)


def _list_slow(now: RunSnapshot) -> list[CardRate]:
    return [rate for rate in now.rates if rate.slow_since]


def show_life(now: RunSnapshot) -> None:
    """When the job gave its last sign of life, what its pauses were so far, and after which one there is an alarm."""
    watch, last, at = watch_of(now.run), now.overview.last, now.overview.at
    life = sign_of_life(watch, last.at if last else None) if watch else None
    if life is None:
        st.caption(t("run.life_unknown"))
        return
    text = " · ".join(_describe_life(life, at))
    # Three times the longest pause of this run is no alarm, but worth a look.
    st.markdown(f":orange[:material/hourglass_bottom: {text}]" if life.is_long(at) else f":small[{text}]")
    if not life.is_observed(at):
        st.warning(t("run.unobserved", at=format_time(life.observed_at, "%H:%M:%S")), icon=":material/visibility_off:")
    elif alert_kind(now.run, now.details) is None and not life.is_long(at) and not _list_slow(now):
        if now.rates:
            st.caption(t("run.healthy"))
        else:
            st.caption(t("run.healthy_without_steps"), help=t("run.without_steps"))


def _describe_life(life: SignOfLife, at: datetime) -> Iterator[str]:
    age = format_duration(max(0, round((at - life.at).total_seconds())))
    yield t("run.life", at=format_time(life.at, "%H:%M:%S"), age=age)
    for key, seconds in (("typical", life.typical_s), ("longest", life.longest_s), ("alarm", life.limit_s)):
        if seconds is not None:
            yield t(f"pause.{key}", time=format_duration(seconds))


def describe_use(now: RunSnapshot) -> str:
    """What the chart of the nodes shows, and which of them does least."""
    use = now.once("use", _measure_use)
    if use is None:
        return t("live.no_metrics")
    if use.nodes == 1:  # the chart's title says all
        return ""
    return (
        f"{t('run.use_of_nodes', metric=t.sample(use.name), nodes=use.nodes)} {t('run.lowest_node', node=use.lowest)}"
    )


def _measure_use(now: RunSnapshot) -> _Use | None:
    name = busiest_metric(now.samples)
    if name is None:
        return None
    used = [sample for sample in now.samples if sample.name == name and 0 <= sample.value <= 100]
    by_node: dict[int, list[float]] = defaultdict(list)
    for sample in used:
        by_node[sample.node].append(sample.value)
    return _Use(name, used, len(by_node), min(by_node, key=lambda node: fmean(by_node[node])))


def draw_use(now: RunSnapshot) -> Iterator[RunChart]:
    """How much the nodes compute; nothing without samples."""
    if use := now.once("use", _measure_use):
        chart, tables = (
            _draw_range(use.samples, use.lowest) if use.nodes > MAX_LINES else _draw_lines(use.samples, use.nodes)
        )
        title = t.sample(use.name)
        yield compile_chart(chart.properties(height=HEIGHT, title=title), tables, t("charts.metric", name=title))


def _show_low_utilisation(now: RunSnapshot) -> None:
    """Nodes whose cards were hardly used for minutes, and the likely reason."""
    found = now.once("low", lambda now: low_utilisation(now.samples))
    for low in found[:MAX_WARNINGS]:
        lasted = format_duration((low.until - low.since).total_seconds())
        facts = {"node": low.node, "metric": t.sample(low.metric), "mean": f"{low.mean:.0f}", "lasted": lasted}
        warning = t("live.low", **facts, since=format_time(low.since, "%H:%M"), reason=t.message(low.reason))
        st.warning(escape_markdown(warning), icon=":material/speed:")
    if len(found) > MAX_WARNINGS:
        st.caption(t("live.low_more", count=len(found) - MAX_WARNINGS))


def _draw_lines(used: Sequence[MetricSample], nodes: int) -> tuple[Any, Tables]:
    rows = [
        {"at": sample.at.isoformat(), "node": t("charts.node", node=sample.node), "value": sample.value}
        for sample in used
    ]
    colour = alt.Color("node:N", title=None, legend=None if nodes == 1 else alt.Legend(orient="right", labelLimit=60))
    tips = [alt.Tooltip("at:T", format="%H:%M"), alt.Tooltip("node:N", title=""), alt.Tooltip("value:Q", format=".0f")]
    line = (
        create_named_chart("nodes")
        .mark_line(point=len(rows) < 40)
        .encode(x=_build_x_axis(), y=_build_y_axis(), color=colour, tooltip=tips)
    )
    return line, {"nodes": rows}


def _draw_range(used: Sequence[MetricSample], lowest: int) -> tuple[Any, Tables]:
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
    area = (
        create_named_chart("nodes")
        .mark_area(opacity=0.2)
        .encode(x=_build_x_axis(), y=alt.Y("low:Q", title=None), y2=alt.Y2("high:Q"))
    )
    middle = create_named_chart("nodes").mark_line().encode(x=_build_x_axis(), y=_build_y_axis())
    dashed = create_named_chart("idlest").mark_line(strokeDash=[4, 3])
    dashed = dashed.encode(x=_build_x_axis(), y=_build_y_axis(), tooltip=[alt.Tooltip("node:N", title="")])
    return alt.layer(area, middle, dashed), {"nodes": rows, "idlest": idlest}


def _build_x_axis() -> Any:
    return alt.X("at:T", title=None, axis=alt.Axis(format="%H:%M", labelOverlap=True, tickCount=4))


def _build_y_axis() -> Any:
    return alt.Y("value:Q", title=None, scale=alt.Scale(domain=[0, 100]), axis=alt.Axis(tickCount=4))


def show_node_metrics(run_id: str) -> None:
    """One metric of the platform, a line for each node."""
    with errors_shown(), st.expander(t("live.metrics"), icon=":material/monitoring:"):
        samples = read_snapshot(run_id).samples
        names = sorted({sample.name for sample in samples})
        if not names:
            st.caption(t("live.no_metrics"))
            return
        choice = widgets.session_choice("metric-of-run", names, names[0], t.sample)
        name = str(st.selectbox(t("live.metric"), width=320, **choice))
        chosen = [sample for sample in samples if sample.name == name]
        charts.draw_chart(charts.metric_over_time(chosen, name), text=t("charts.metric", name=t.sample(name)))
